//! Checks the remedies of `verify`: after they are added to the function and assembled by LLVM, no finding remains.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use dwarf_tests::{fixture, llvm_tool};
use fallible_iterator::FallibleIterator as _;
use hetdwarf::arch::Register;
use hetdwarf::cfi_check::Subject;
use hetdwarf::frame::write::{Common, FrameTable, FunctionFrame, Start, Target};
use hetdwarf::frame::{Instruction, Instructions};
use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;
use hetdwarf::verify::{Finding, MACHINE_CODE, Selection, Verdict, verify_with};

fn check(file: &[u8]) -> Verdict {
    let object = CodeObject::parse(file).unwrap();
    let program = Program::load(&object).unwrap();
    let mut selection = Selection::default();
    selection.only([MACHINE_CODE]).unwrap();
    verify_with(&program, &selection, std::num::NonZeroUsize::MIN)
}

/// A function of an object: its code, and the directives at each offset.
struct Function {
    code: Vec<u8>,
    directives: BTreeMap<u64, Vec<String>>,
    processor: String,
}

impl Function {
    fn read(file: &[u8], pc: u64) -> Function {
        let object = CodeObject::parse(file).unwrap();
        let program = Program::load(&object).unwrap();
        let fde = program.cfi().find(pc).unwrap().expect("a function");
        let wave_size = program.processor().default_wave_size().unwrap();
        let target = Target::of(program.processor(), wave_size).unwrap();
        let size = fde.address_range;
        let mut frame =
            FunctionFrame::new(target, &Common::new(), Start::symbol("f"), size).unwrap();
        let mut offset = 0;
        // GCC's instructions in the CIE become directives at the start of the function.
        for bytes in [fde.cie.initial_instructions, fde.instructions] {
            let mut items = Instructions::new(bytes, 0, 8, ".debug_frame");
            while let Some(item) = items.next().unwrap() {
                // The assembler counts in units of four bytes, and GCC in bytes.
                let delta = match item.instruction {
                    Instruction::AdvanceLoc { delta }
                    | Instruction::AdvanceLoc1 { delta }
                    | Instruction::AdvanceLoc2 { delta }
                    | Instruction::AdvanceLoc4 { delta } => delta,
                    Instruction::Nop => continue,
                    other => {
                        frame.at(offset).unwrap().raw(other).unwrap();
                        continue;
                    }
                };
                offset += delta * fde.cie.code_alignment_factor;
            }
        }
        let mut table = FrameTable::new();
        table.add(frame);
        let blocks = table.directives().unwrap().remove(0).blocks;
        let texts = |block: hetdwarf::frame::write::DirectiveBlock| {
            let directives = block.directives.into_iter();
            (block.offset, directives.map(|one| one.text).collect())
        };
        let start = fde.initial_location;
        let code = object
            .read_image(start, usize::try_from(size).unwrap())
            .unwrap();
        Function {
            code: code.to_vec(),
            directives: blocks.into_iter().map(texts).collect(),
            processor: program.processor().name().to_owned(),
        }
    }

    /// Returns the assembler text. Directives for the address after an instruction precede the next instruction.
    fn text(&self) -> String {
        let mut text = format!(
            ".amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n.text\n.cfi_sections .debug_frame\n.globl f\n.p2align 8\n.type f,@function\nf:\n.cfi_startproc\n",
            self.processor
        );
        for (n, dword) in self.code.chunks(4).enumerate() {
            for directive in self.directives.get(&(4 * n as u64)).into_iter().flatten() {
                writeln!(text, "{directive}").unwrap();
            }
            let dword = u32::from_le_bytes(dword.try_into().unwrap());
            writeln!(text, ".long {dword:#x}").unwrap();
        }
        text.push_str(".cfi_endproc\n.Lend:\n.size f, .Lend-f\n");
        text
    }

    fn assemble(&self, assembler: &Path, folder: &Path) -> Vec<u8> {
        assemble(assembler, folder, &self.processor, &self.text())
    }
}

fn assemble(assembler: &Path, folder: &Path, processor: &str, text: &str) -> Vec<u8> {
    let (source, object) = (folder.join("f.s"), folder.join("f.o"));
    std::fs::write(&source, text).unwrap();
    let ran = Command::new(assembler)
        .args([
            "-triple=amdgcn-amd-amdhsa",
            "-filetype=obj",
            "-mcpu",
            processor,
        ])
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    std::fs::read(&object).unwrap()
}

/// Objects that together break all rules about machine code that the corpus breaks.
const BROKEN: [&str; 8] = [
    "rocm-style/funcptr-gfx90a-O0.hsaco",
    "llvm24/calls-gfx90a-O0.hsaco",
    "llvm24/calls-gfx90a-O2.hsaco",
    "llvm24/calls-gfx1100-O2.hsaco",
    "llvm24/divergent-gfx906-O0.hsaco",
    "llvm24/pressure-gfx90a-O0.hsaco",
    "llvm24/pressure-gfx1201-O1.hsaco",
    "gcc12/offload-gfx906-O1.hsaco",
];

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("hetdwarf-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the remaining findings of a function after applying the remedies in rounds. Rows depend on earlier rows, and a repaired row can
/// reveal an error in the next.
///
/// * `rule`: the rule of the first finding.
fn repair(assembler: &Path, folder: &Path, file: &[u8], pc: u64, rule: &str) -> Vec<Finding> {
    const ROUNDS: usize = 64;
    let mut function = Function::read(file, pc);
    let mut left = Vec::new();
    for round in 0..ROUNDS {
        left = check(&function.assemble(assembler, folder)).findings;
        let is_found = left.iter().any(|finding| finding.rule.id == rule);
        assert!(round > 0 || is_found, "{rule} is not found any more");
        let mut said = 0;
        for remedy in left
            .iter()
            .filter_map(|finding| finding.evidence.as_ref())
            .flat_map(|evidence| &evidence.directives)
        {
            let block = function.directives.entry(remedy.pc).or_default();
            if !block.contains(&remedy.text) {
                block.push(remedy.text.clone());
                said += 1;
            }
        }
        if said == 0 {
            break;
        }
    }
    left
}

/// For each rule of machine code that the corpus breaks, the remedies repair at least one function.
#[test]
fn what_is_proposed_is_right() {
    let Some(assembler) = llvm_tool("llvm-mc") else {
        return;
    };
    let folder = Folder::new("remedies");
    let mut tried: BTreeMap<&str, Vec<Vec<Finding>>> = BTreeMap::new();
    for name in BROKEN {
        let file = std::fs::read(fixture(&format!("corpus/{name}"))).unwrap();
        let mut done: BTreeSet<(&str, u64)> = BTreeSet::new();
        for finding in &check(&file).findings {
            let rule = finding.rule.id;
            let tried = tried.entry(rule).or_default();
            let is_new = done.insert((rule, finding.offset.unwrap()));
            if is_new && tried.len() < 4 && !tried.iter().any(Vec::is_empty) {
                let pc = finding.pc.unwrap();
                tried.push(repair(&assembler, &folder.0, &file, pc, rule));
            }
        }
    }
    // The corpus breaks no other rules.
    assert_eq!(tried.len(), 10, "{:?}", tried.keys());
    for (rule, tried) in &tried {
        assert!(tried.iter().any(Vec::is_empty), "{rule}: {tried:#?}");
    }
}

/// Returns a function with one instruction for each text. The first starts at 0.
fn functions<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut all = ".text\n.cfi_sections .debug_frame\n".to_owned();
    for text in texts {
        writeln!(all, ".cfi_startproc\n{text}\n.long 0\n.cfi_endproc").unwrap();
    }
    all
}

/// The printed row equals the object's row: if LLVM assembles it, the result is the object's rule at that address.
#[test]
fn what_the_row_says_is_what_it_says() {
    let Some(assembler) = llvm_tool("llvm-mc") else {
        return;
    };
    let folder = Folder::new("rows");
    let (mut rules, mut cfas, mut without) = (0, 0, 0);
    for name in BROKEN {
        let file = std::fs::read(fixture(&format!("corpus/{name}"))).unwrap();
        let object = CodeObject::parse(&file).unwrap();
        let program = Program::load(&object).unwrap();
        let verdict = check(&file);
        let evidence = verdict
            .findings
            .iter()
            .filter_map(|finding| Some((finding, finding.evidence.as_ref()?)));
        let mut said = Vec::new();
        for (finding, evidence) in evidence {
            let is_about_rule = finding.contradiction.as_ref().unwrap().subject != Subject::Row;
            assert_eq!(!evidence.row.is_empty(), is_about_rule, "{finding:#?}");
            said.extend(&evidence.row);
        }
        let text = functions(said.iter().map(|one| one.text.as_str()));
        let file = assemble(&assembler, &folder.0, program.processor().name(), &text);
        let assembled = CodeObject::parse(&file).unwrap();
        let assembled = Program::load(&assembled).unwrap();
        for (n, one) in said.into_iter().enumerate() {
            let (_, there) = program.cfi().row_at(one.pc, None).unwrap().expect("a row");
            let (_, said) = (assembled.cfi().row_at(4 * n as u64, None).unwrap()).expect("a row");
            let (cfa, said_cfa) = (there.cfa, said.cfa);
            let (there, said) = (there.rules(), said.rules());
            if let Some(name) = one.meaning.strip_prefix("no rule of ") {
                let number = Register::from_name(name, None).unwrap().number();
                assert_eq!((one.text.as_str(), said.len()), ("", 0));
                assert!((there.iter()).all(|(register, _)| *register != u64::from(number)));
                without += 1;
            } else if let [rule] = said {
                assert!(
                    there.contains(rule),
                    "{name}: {one:?}: {rule:?} of {there:?}"
                );
                rules += 1;
            } else {
                assert_eq!((said_cfa, said.len()), (cfa, 0), "{name}: {one:?}");
                cfas += 1;
            }
        }
    }
    assert!(
        rules > 100 && cfas > 2 && without > 10,
        "{rules} {cfas} {without}"
    );
}

/// The text of a finding can be pasted into a source. The meanings of the directives are comments.
#[test]
fn the_text_assembles() {
    let Some(assembler) = llvm_tool("llvm-mc") else {
        return;
    };
    let folder = Folder::new("texts");
    let path = fixture("corpus/llvm24/calls-gfx90a-O2.hsaco");
    let text = dwarf_tests::hetdwarf(["verify", path.to_str().unwrap()]).out;
    let (mut now, mut write, mut is_now) = (Vec::new(), Vec::new(), false);
    for line in text.lines() {
        if line.starts_with("  = ") {
            is_now = line.starts_with("  = now at 0x");
            assert!(is_now || !line.contains(" now "), "{line}");
        } else if line.starts_with("      ") {
            if is_now { &mut now } else { &mut write }.push(line);
        }
    }
    assert!(now.len() > 10 && write.len() > 10, "{text}");
    assert!(
        now.iter()
            .any(|line| line.starts_with("      .cfi_escape 0x10, "))
    );
    for line in now.iter().chain(&write) {
        assert!(line.contains("// "), "{line}");
    }
    let all = functions(now.into_iter().chain(write));
    let file = assemble(&assembler, &folder.0, "gfx90a", &all);
    assert!(CodeObject::parse(&file).is_ok());
}

/// Returns a function that keeps EXEC in VCC while all lanes are switched on, as LLVM sometimes does: EXEC_64 is 17 and VCC_64 is 768,
/// EXEC_32 is 1 and VCC_32 is 512. The return address is in s[30:31], and the CFA in s32.
fn with_exec_in_vcc(is_wide: bool, rule: &str, before: &str) -> String {
    let [mask, exec, vcc] = match is_wide {
        true => ["b64", "exec", "vcc"],
        false => ["b32", "exec_lo", "vcc_lo"],
    };
    let same = if is_wide { 17 } else { 1 };
    format!(
        ".text\n.cfi_sections .debug_frame\n.globl f\n.p2align 8\n.type f,@function\nf:\n.cfi_startproc\n\
         .cfi_llvm_def_aspace_cfa 64, 0, 6\n\
         .cfi_escape 0x10, 0x10, 0x08, 0x90, 0x3e, 0x93, 0x04, 0x90, 0x3f, 0x93, 0x04\n\
         s_mov_{mask} {vcc}, {exec}\n{rule}\ns_mov_{mask} {exec}, -1\n{before}\ns_nop 0\n\
         s_mov_{mask} {exec}, {vcc}\n.cfi_same_value {same}\ns_setpc_b64 s[30:31]\n\
         .cfi_endproc\n.Lend:\n.size f, .Lend-f\n"
    )
}

#[test]
fn exec_that_is_kept_in_vcc_is_understood() {
    let Some(assembler) = llvm_tool("llvm-mc") else {
        return;
    };
    let folder = Folder::new("vcc");
    for (is_wide, processor, rule, overwritten) in [
        (true, "gfx90a", ".cfi_register 17, 768", "s_mov_b64 vcc, 0"),
        (
            false,
            "gfx1030",
            ".cfi_register 1, 512",
            "s_mov_b32 vcc_lo, 0",
        ),
    ] {
        let found = |rule, before| {
            let text = with_exec_in_vcc(is_wide, rule, before);
            check(&assemble(&assembler, &folder.0, processor, &text)).findings
        };
        assert_eq!(found(rule, ""), [], "{processor}");
        let without = found("", "");
        let evidence = without[0].evidence.as_ref().unwrap();
        assert_eq!(without[0].rule.id, "cfi-exec-without-rule");
        assert_eq!(evidence.directives[0].text, rule);
        // According to the row VCC holds EXEC, but it holds another value.
        let wrong = found(rule, overwritten);
        let ids: Vec<_> = wrong.iter().map(|finding| finding.rule.id).collect();
        assert!(ids.contains(&"cfi-wrong-place"), "{wrong:#?}");
    }
}

/// Remedies for LLVM 24's assembler name registers and lanes. LLVM 22's assembler rejects them.
#[test]
fn directives_are_readable_where_the_assembler_knows_them() {
    let path = fixture("corpus/llvm24/calls-gfx90a-O2.hsaco");
    let run = |more: &[&str]| {
        let arguments = ["verify", path.to_str().unwrap()].into_iter();
        dwarf_tests::hetdwarf(arguments.chain(more.iter().copied())).out
    };
    let (old, new) = (run(&[]), run(&["--assembler", "llvm24"]));
    assert!(old.contains("      .cfi_escape 0x10, ") && !old.contains(".cfi_llvm_v"));
    // Undefined lanes in the row have no directive.
    let mut escaped = new
        .lines()
        .filter(|line| line.contains(" .cfi_escape 0x10, "));
    assert!(
        escaped.all(|line| line.contains("DW_OP_LLVM_undefined")),
        "{new}"
    );
    for name in ["vector_registers", "vector_offset"] {
        assert!(new.contains(&format!("      .cfi_llvm_{name} ")), "{new}");
    }
    // All other lines are equal.
    let others = |text: &str| {
        let lines = text.lines().filter(|line| !line.contains(" .cfi_"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(others(&old), others(&new));
}
