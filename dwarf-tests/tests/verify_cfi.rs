//! Runs the rules about call frame information over real code objects: the expected findings occur, and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use dwarf_tests::{corpus, fixture};
use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;
use hetdwarf::verify::{Finding, Severity, verify};

/// Returns the findings about call frame information in a file.
fn findings(path: &Path) -> Vec<Finding> {
    let data = std::fs::read(path).unwrap();
    let object = CodeObject::parse(&data).unwrap();
    let program = Program::load(&object).unwrap();
    let mut findings = verify(&program).findings;
    findings.retain(|finding| finding.section == ".debug_frame");
    findings
}

/// Returns true for rules that check entries alone, without their code.
fn is_of_tables(finding: &Finding) -> bool {
    !OF_CODE.contains(&finding.rule.id)
}

/// The rules that compare rows with machine code; `machine.rs` has the evidence for their findings.
const OF_CODE: &[&str] = &[
    "cfi-stale-lane",
    "cfi-scalar-without-rule",
    "cfi-vector-without-rule",
    "cfi-exec-without-rule",
    "cfi-cfa-realigned",
    "cfi-cfa-after-epilogue",
    "cfi-inactive-lanes-only",
    "cfi-clobbered-not-undefined",
    "cfi-stack-pointer-without-rule",
    "cfi-cfa-scale",
    "cfi-cfa-wrong",
    "cfi-wrong-place",
    "cfi-row-inside-instruction",
];

/// Returns the producer of a file: its folder in the corpus.
fn producer(path: &Path) -> String {
    let folder = path.parent().unwrap().file_name().unwrap();
    folder.to_string_lossy().into_owned()
}

/// LLVM's tables break no rule by themselves, and LLVM 22's are empty. GCC gives the value of the return address as its location, once for
/// each file here, because all units have the same expression (`spec-notes/verify.md`).
#[test]
fn tables_of_compilers() {
    let mut found: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for path in corpus() {
        for finding in findings(&path).iter().filter(|one| is_of_tables(one)) {
            *found.entry((producer(&path), finding.rule.id)).or_default() += 1;
        }
    }
    let found: Vec<_> = found
        .iter()
        .filter(|((_, rule), _)| *rule != "expr-narrow-register")
        .map(|((producer, rule), count)| (producer.as_str(), *rule, *count))
        .collect();
    assert_eq!(
        found,
        [
            ("clang18", "cfi-empty", 4),
            // GCC's kernels have the same entries as its functions, so a debugger searches for a caller.
            ("gcc12", "cfi-kernel-row", 6),
            ("gcc12", "cfi-return-address-value", 2),
            ("llvm22", "cfi-empty", 39),
            // The rules of the kernel start after an advance of 16, past global_prefetch_b8 and v_nop, which are executed.
            ("llvm24", "cfi-row-without-cfa", 2),
            // The first 0x100 bytes load the arguments that are not preloaded.
            ("triton", "cfi-row-without-cfa", 2),
        ]
    );
}

/// Every error is of a kind that emulated runs have confirmed (`machine.rs`), or is GCC's return address.
#[test]
fn errors_are_of_kinds_that_are_explained() {
    let mut kinds: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for path in corpus() {
        for finding in findings(&path) {
            if finding.severity == Severity::Error {
                kinds
                    .entry(producer(&path))
                    .or_default()
                    .insert(finding.rule.id);
            }
        }
    }
    let llvm = [
        "cfi-cfa-after-epilogue",
        "cfi-inactive-lanes-only",
        "cfi-scalar-without-rule",
        "cfi-stale-lane",
        "cfi-vector-without-rule",
    ];
    let expected = BTreeMap::from([
        (
            "gcc12".to_owned(),
            BTreeSet::from(["cfi-cfa-wrong", "cfi-return-address-value"]),
        ),
        ("llvm24".to_owned(), BTreeSet::from(llvm)),
        ("rocm-style".to_owned(), BTreeSet::from(llvm)),
    ]);
    assert_eq!(kinds, expected);
}

/// A missing `.debug_frame` is reported once.
#[test]
fn an_object_without_call_frame_information() {
    let path = fixture("corpus/llvm22/small-gfx90a-O2-dwarf4.hsaco");
    let mut data = std::fs::read(&path).unwrap();
    let name = b".debug_frame\0";
    let at = data
        .windows(name.len())
        .position(|window| window == name)
        .unwrap();
    // The renamed section counts as missing.
    data[at + 1] = b'x';
    let object = CodeObject::parse(&data).unwrap();
    let program = Program::load(&object).unwrap();
    let found: Vec<_> = verify(&program)
        .findings
        .iter()
        .filter(|finding| finding.section == ".debug_frame")
        .map(|finding| (finding.rule.id, finding.message.to_string()))
        .collect();
    let message = ".debug_frame is missing, for 3 functions".to_owned();
    assert_eq!(found, [("cfi-missing", message)]);
}

/// If waves can allocate more vector registers, a kernel's frame may begin after memory reserved for them, so its CFA need not be at 0.
/// ENABLE_DYNAMIC_VGPR of gfx12 is bit 6 of COMPUTE_PGM_RSRC2, byte 52 of the descriptor.
#[test]
fn the_frame_of_a_kernel_with_dynamic_registers_begins_somewhere() {
    let Some(assembler) = dwarf_tests::llvm_tool("llvm-mc") else {
        return;
    };
    let folder = std::env::temp_dir().join(format!("hetdwarf-dynamic-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, object) = (folder.join("k.s"), folder.join("k.o"));
    // The CFA is private_wave 64: const1u 64, lit6, form_aspace_address.
    let text = ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n.cfi_sections .debug_frame\n.cfi_startproc\n\
                .cfi_escape 0x0f, 5, 0x08, 64, 0x36, 0xe9, 0x02\n.cfi_undefined 16\ns_endpgm\n.cfi_endproc\n.Lend:\n.size k, .Lend-k\n\
                .rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 1\n\
                .amdhsa_group_segment_fixed_size 0xc0de\n.end_amdhsa_kernel\n";
    std::fs::write(&source, text).unwrap();
    let mut command = std::process::Command::new(assembler);
    command.args([
        "-triple=amdgcn-amd-amdhsa",
        "-mcpu=gfx1200",
        "-filetype=obj",
    ]);
    let status = command.arg(&source).arg("-o").arg(&object).status();
    assert!(status.unwrap().success());
    let rules = || {
        let found = findings(&object);
        found.iter().map(|one| one.rule.id).collect::<Vec<_>>()
    };
    assert_eq!(rules(), ["cfi-kernel-row"]);
    let mut file = std::fs::read(&object).unwrap();
    let is_descriptor = |bytes: &[u8]| bytes == [0xde, 0xc0, 0, 0];
    let descriptor = file.windows(4).position(is_descriptor).unwrap();
    file[descriptor + 52] |= 1 << 6;
    std::fs::write(&object, file).unwrap();
    assert_eq!(rules(), <[&str; 0]>::default());
    std::fs::remove_dir_all(&folder).unwrap();
}
