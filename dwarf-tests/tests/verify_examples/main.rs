//! Checks the examples of `verify --explain`. In its setting, assembled by LLVM, the wrong example breaks the rule, and no other rule
//! reports more than a note. The correct example breaks no rule.

mod unit;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use dwarf_tests::llvm_tool;
use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;
use hetdwarf::verify::{
    Choice, Finding, MACHINE_CODE, Rule, Selection, Setting, Severity, verify_with,
};
use unit::{SIZE, START, Sections, expression, unit};

const PRELUDE: &str = include_str!("prelude.s");

/// The state on entry in `Setting::Code`.
const ON_ENTRY: &str = ".cfi_llvm_def_aspace_cfa s32, 0, 6
.cfi_escape 0x10, 16, 8, 0x90, 62, 0x93, 4, 0x90, 63, 0x93, 4
.cfi_val_offset s32, 0
.cfi_undefined s4\n.cfi_undefined s5\n.cfi_undefined s6\n.cfi_undefined s7
.cfi_undefined v0\n.cfi_undefined v1
";

/// The descriptor of `f`, which makes it a kernel.
const KERNEL: &str = "
.rodata
.amdhsa_kernel f
.amdhsa_next_free_vgpr 1
.amdhsa_next_free_sgpr 1
.amdhsa_accum_offset 4
.end_amdhsa_kernel
";

fn function(name: &str, body: &str) -> String {
    format!(
        ".globl {name}\n.type {name},@function\n{name}:\n{body}\n.Lend_{name}:\n.size {name}, .Lend_{name}-{name}\n"
    )
}

fn bytes(section: &str, bytes: &[u8]) -> String {
    let mut text = format!(".section {section},\"\",@progbits\n");
    for byte in bytes {
        writeln!(text, ".byte {byte}").unwrap();
    }
    text
}

fn sections(sections: &Sections) -> String {
    let info = bytes(".debug_info", &sections.info);
    let abbreviations = bytes(".debug_abbrev", &sections.abbreviations);
    info + &abbreviations + &bytes(".debug_loclists", &sections.lists)
}

/// Returns a row's rule in `.debug_frame`: an entry of `f` with a CFA, and these instructions.
fn frame_with(more: &[u8]) -> String {
    let more: Vec<_> = more.iter().map(u8::to_string).collect();
    let code = format!(
        ".cfi_startproc\n.cfi_llvm_def_aspace_cfa s32, 0, 6\n.cfi_escape {}\ns_nop 0\ns_setpc_b64 s[30:31]\n.cfi_endproc",
        more.join(", ")
    );
    format!(".cfi_sections .debug_frame\n{}", function("f", &code))
}

/// Returns an instruction with this code and register, whose operand is an expression.
fn with_block(start: &[u8], text: &str) -> Vec<u8> {
    let block = expression(text, &BTreeMap::new());
    [start, &[block.len() as u8], &block].concat()
}

/// The tables for indices, with two entries each.
const TABLES: &str = "
.section .debug_str,\"MS\",@progbits,1\n.asciz \"x\"\n.asciz \"y\"
.section .debug_str_offsets,\"\",@progbits\n.long 12\n.short 5, 0\n.long 0, 2
.section .debug_addr,\"\",@progbits\n.long 20\n.short 5\n.byte 8, 0\n.quad f, g
.section .debug_loclists,\"\",@progbits\n.long 30\n.short 5\n.byte 8, 0\n.long 2, 8, 15\n.byte 3, 0, 0x10, 2, 0x30, 0x9f, 0\n.byte 3, 0, 0x10, 2, 0x30, 0x9f, 0
.section .debug_rnglists,\"\",@progbits\n.long 24\n.short 5\n.byte 8, 0\n.long 2, 8, 12\n.byte 3, 0, 0x40, 0\n.byte 3, 0, 0x40, 0
";

/// Returns the complete source of an example.
fn source(setting: Setting, text: &str) -> String {
    let nops = |name| function(name, &("s_nop 0\n".repeat(7) + "s_setpc_b64 s[30:31]"));
    let code = nops("f") + &nops("g");
    let entries = |text: &str| code.clone() + &sections(&unit(text));
    let functions =
        |second: &str| format!("DW_TAG_subprogram \"f\"\n{second}DW_TAG_subprogram \"g\"\n");
    let body = match setting {
        Setting::Code | Setting::Function => {
            let start = if setting == Setting::Code {
                ON_ENTRY
            } else {
                ""
            };
            let body = format!(".cfi_startproc\n{start}{text}\n.cfi_endproc");
            format!(".cfi_sections .debug_frame\n{}", function("f", &body))
        }
        Setting::Kernel => format!(
            ".cfi_sections .debug_frame\n{}{KERNEL}",
            function("f", &format!(".cfi_startproc\n{text}\n.cfi_endproc"))
        ),
        Setting::Frame => {
            let described = entries("DW_TAG_subprogram \"f\"\nDW_TAG_subprogram \"g\"\n");
            match text.starts_with("/*") {
                true => described,
                false => format!("{described}.section .debug_frame,\"\",@progbits\n{text}\n"),
            }
        }
        Setting::EhFrame => {
            format!("{code}.section .eh_frame,\"a\",@progbits\n.Leh_frame:\n{text}\n")
        }
        Setting::Entries => entries(text),
        Setting::Indices => {
            let all = sections(&unit(text));
            let all = all
                .split(".section .debug_loclists")
                .next()
                .unwrap_or_default();
            format!("{code}{all}{TABLES}")
        }
        Setting::RangeList => {
            let entry = "DW_TAG_compile_unit\n  DW_AT_low_pc 0\n  DW_AT_rnglists_base 12\n  DW_AT_ranges rnglistx 0\n";
            format!(
                "{}.section .debug_rnglists,\"\",@progbits\n.long .Lto-.Lfrom\n.Lfrom:\n.short 5\n.byte 8, 0\n.long 1\n{text}\n.Lto:\n",
                entries(entry)
            )
        }
        Setting::Ranges | Setting::Names => {
            let name = if setting == Setting::Ranges {
                ".debug_aranges"
            } else {
                ".debug_names"
            };
            let one = |name: &str, start: u64| {
                unit(&format!(
                    "DW_TAG_compile_unit\n  DW_AT_low_pc {start}\n  DW_AT_high_pc {SIZE}\n  DW_TAG_subprogram \"{name}\"\n  DW_TAG_variable \"variable\"\n    DW_AT_name \"{name}\"\n"
                ))
            };
            let (mut f, mut g) = (one("f", START), one("g", START + SIZE));
            g.info[8] = f.abbreviations.len() as u8;
            let labels = format!(
                ".set unit_of_f, 0\n.set unit_of_g, {}\n.set die_of_f, {}\n.set die_of_g, {}\n.set variable_f, {}\n",
                f.info.len(),
                f.labels["f"],
                g.labels["g"],
                f.labels["variable"],
            );
            f.info.extend(g.info);
            f.abbreviations.extend(g.abbreviations);
            let strings = ".section .debug_str,\"MS\",@progbits,1\n.asciz \"f\"\n.asciz \"g\"\n";
            format!(
                "{code}{labels}{}{strings}.section {name},\"\",@progbits\n{text}\n",
                sections(&f)
            )
        }
        Setting::Abbreviations => {
            format!(
                "{code}.section .debug_info,\"\",@progbits\n.long 19\n.short 5\n.byte 1, 8\n.long 0\n.byte 1\n.short 12\n.quad f\n.section .debug_abbrev,\"\",@progbits\n{text}\n"
            )
        }
        Setting::Lines => {
            let one = |name: &str, start: u64, table: Option<u64>| {
                let table = table.map_or(String::new(), |table| {
                    format!("  DW_AT_stmt_list {table}\n")
                });
                unit(&format!(
                    "DW_TAG_compile_unit\n  DW_AT_low_pc {start}\n  DW_AT_high_pc {SIZE}\n{table}DW_TAG_subprogram \"{name}\"\n  DW_AT_decl_file 1\n"
                ))
            };
            let table_of_g = text
                .lines()
                .find_map(|line| line.strip_prefix("table of g: "));
            let table_of_g = table_of_g.map(|at| at.parse().expect("an offset"));
            let mut all = one("f", START, Some(0));
            if table_of_g.is_some() {
                let mut g = one("g", START + SIZE, table_of_g);
                g.info[8] = all.abbreviations.len() as u8;
                all.info.extend(g.info);
                all.abbreviations.extend(g.abbreviations);
            }
            let text: Vec<_> = text
                .lines()
                .filter(|line| !line.starts_with("table of g"))
                .collect();
            format!(
                "{code}{}.section .debug_line,\"\",@progbits\n{}\n",
                sections(&all),
                text.join("\n")
            )
        }
        Setting::StringOffsets => format!(
            "{}.section .debug_str,\"MS\",@progbits,1\n.asciz \"x\"\n.asciz \"y\"\n.section .debug_str_offsets,\"\",@progbits\n.long 12\n.short 5, 0\n{text}\n",
            entries("DW_TAG_subprogram \"f\"\n")
        ),
        Setting::UnitIndex => format!(
            "{}.section .debug_cu_index,\"\",@progbits\n.short 5, 0\n.long 2, 2, 4\n.quad 1, 2, 0, 0\n.long 1, 2, 0, 0\n.long 1, 3\n{text}\n",
            entries("DW_TAG_subprogram \"f\"\n")
        ),
        Setting::Location(size) => entries(&format!(
            "DW_TAG_base_type \"t\"\n  DW_AT_byte_size {size}\nDW_TAG_subprogram \"f\"\n  DW_TAG_variable \"x\"\n    DW_AT_type \"t\"\n    DW_AT_location ({text})\n"
        )),
        Setting::Value => entries(&format!(
            "DW_TAG_subrange_type\n  DW_AT_upper_bound ({text})\n"
        )),
        Setting::FrameBase => entries(&functions(&format!("  DW_AT_frame_base ({text})\n"))),
        Setting::LanePc => entries(&functions(&format!(
            "  DW_AT_LLVM_lanes 64\n  DW_AT_LLVM_lane_pc ({text})\n"
        ))),
        Setting::Lanes => {
            let said = functions(&format!("  DW_AT_LLVM_lanes 64\n{text}\n"));
            function("f", OF_LANES) + &nops("g") + &sections(&unit(&said))
        }
        Setting::ActiveLane => entries(&functions(&format!(
            "  DW_AT_LLVM_lanes 64\n  DW_AT_LLVM_lane_pc (DW_OP_regx PC_REG, DW_OP_LLVM_extend 0x40 0x40)\n  DW_AT_LLVM_active_lane ({text})\n"
        ))),
        Setting::Cfa => frame_with(&with_block(&[0x0f], text)),
        Setting::SavedScalar => frame_with(&with_block(&[0x10, 66], text)),
        Setting::SavedVector => frame_with(&with_block(&[0x10, 0xa8, 0x14], text)),
        Setting::ScalarValue => frame_with(&with_block(&[0x16, 66], text)),
        other => panic!("{other:?} is not known here"),
    };
    let first = text.lines().next().unwrap_or_default();
    let processor = first.strip_prefix("// ").unwrap_or("gfx90a");
    format!("// {processor}\n{PRELUDE}.text\n.p2align 8\n.space {START}\n{body}")
}

fn processor(source: &str) -> &str {
    match source.lines().next().unwrap().trim_start_matches("// ") {
        "no processor" => "",
        processor => processor,
    }
}

fn assemble(assembler: &Path, folder: &Path, source: &str) -> Result<Vec<u8>, String> {
    let (input, object) = (folder.join("f.s"), folder.join("f.o"));
    std::fs::write(&input, source).unwrap();
    let ran = Command::new(assembler)
        .args([
            "-triple=amdgcn-amd-amdhsa",
            "-filetype=obj",
            "-mcpu",
            processor(source),
        ])
        .arg(&input)
        .arg("-o")
        .arg(&object)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    let object = ran
        .status
        .success()
        .then(|| std::fs::read(&object).unwrap());
    object.ok_or(said.into_owned())
}

fn findings(file: &[u8], setting: Setting) -> Vec<Finding> {
    let object = CodeObject::parse(file).unwrap();
    let program = Program::load(&object).unwrap();
    let mut selection = Selection::default();
    if !matches!(setting, Setting::Code | Setting::Function | Setting::Lanes) {
        // The code around the example is invented.
        selection.choose([(MACHINE_CODE, Choice::Allow)]).unwrap();
    }
    // Some rules run only on request.
    selection.only(Rule::all().map(|rule| rule.id)).unwrap();
    verify_with(&program, &selection, NonZeroUsize::MIN).findings
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Rules without an example: only files of megabytes break them, or no assembler can write the broken form.
const WITHOUT: &[&str] = &["cfi-too-large", "names-too-large", "relocation-unknown"];

/// Rules whose example is wrong only under a condition, which lowers the level by one.
const CONDITIONAL: &[&str] = &["cfi-cfa-realigned"];

/// The function whose lanes `Setting::Lanes` describes, and the next function.
const OF_LANES: &str = "v_cmp_lt_u32 vcc, v0, v1
s_and_saveexec_b64 s[4:5], vcc
v_mov_b32 v2, v0
s_or_b64 exec, exec, s[4:5]
s_or_saveexec_b64 s[6:7], -1
v_mov_b32 v3, v2
s_mov_b64 exec, s[6:7]
s_setpc_b64 s[30:31]";

/// Additional findings, because the mistake loses something or is reported twice.
const FOLLOWS: &[(&str, &[&str])] = &[
    ("cfi-entry-length", &["cfi-function-without-fde"]),
    ("cfi-cie-pointer", &["cfi-function-without-fde"]),
    ("cfi-version", &["cfi-function-without-fde"]),
    ("cfi-terminator", &["cfi-function-without-fde"]),
    ("cfi-range-not-function", &["cfi-function-without-fde"]),
    // The fields after the addresses are read from the wrong bytes.
    (
        "cfi-address-size",
        &[
            "cfi-function-without-fde",
            "cfi-range-empty",
            "cfi-instruction",
        ],
    ),
    ("cfi-return-address-value", &["expr-narrow-register"]),
    ("expr-branch-target", &["expr-unreachable"]),
    ("expr-call-target", &["loc-reference"]),
    ("aranges-alignment", &["aranges-terminator"]),
    ("aranges-unit", &["aranges-terminator"]),
    ("aranges-foreign-code", &["aranges-left-out"]),
    ("aranges-overlap", &["aranges-foreign-code"]),
    ("names-abbreviation", &["names-entry"]),
    ("names-string", &["names-missing"]),
    ("names-die", &["names-missing"]),
    ("names-name", &["names-missing"]),
];

#[test]
fn every_rule_has_an_example_that_is_true() {
    let Some(assembler) = llvm_tool("llvm-mc") else {
        return;
    };
    let folder =
        Folder(std::env::temp_dir().join(format!("hetdwarf-examples-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let mut wrong = Vec::new();
    for rule in Rule::all() {
        let Some(example) = rule.example() else {
            if !WITHOUT.contains(&rule.id) {
                wrong.push(format!("{}: no example", rule.id));
            }
            continue;
        };
        let found = |text| {
            let source = source(example.setting, text);
            let file = match assemble(&assembler, &folder.0, &source) {
                Ok(file) => file,
                Err(said) => return (BTreeSet::from(["assembler"]), vec![said]),
            };
            let found = findings(&file, example.setting);
            let counts = found
                .iter()
                .filter(|one| one.severity > Severity::Note || one.rule == rule);
            let ids: BTreeSet<_> = counts.map(|one| one.rule.id).collect();
            let is_as_bad = |one: &Finding| one.rule != rule || one.severity == rule.severity;
            if !CONDITIONAL.contains(&rule.id) && !found.iter().all(is_as_bad) {
                let severities: Vec<_> = found.iter().map(|one| one.severity).collect();
                return (
                    BTreeSet::from(["severity"]),
                    vec![format!("{severities:?}")],
                );
            }
            let message = |one: &Finding| format!("{}: {}", one.rule.id, one.message);
            (ids, found.iter().map(message).collect::<Vec<_>>())
        };
        let (ids, messages) = found(example.wrong);
        let follows = FOLLOWS.iter().find(|(id, _)| *id == rule.id);
        let follows = follows.map_or(&[][..], |(_, follows)| follows);
        let others = ids.iter().filter(|id| **id != rule.id);
        if !ids.contains(rule.id) || others.clone().any(|id| !follows.contains(id)) {
            wrong.push(format!("{} wrong: {messages:?}", rule.id));
        }
        let (ids, messages) = found(example.right);
        if !ids.is_empty() {
            wrong.push(format!("{} right: {messages:?}", rule.id));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
