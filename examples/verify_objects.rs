//! Checks the debugging information of code objects and fails if it is wrong, as a compiler's or project's own test
//! would.
//!
//! Run it with `cargo run --example verify_objects`, or with files: `… -- build/kernel.hsaco`. The rules are chosen in
//! code. `hetdwarf verify` makes the same check from the command line, for whole folders.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use std::process::ExitCode;

use hetdwarf::inspect::Program;
use hetdwarf::object::{CodeObject, code_objects};
use hetdwarf::verify::{Choice, Finding, Selection, Severity, verify};

/// Code objects from the tests: a compressed bundle for two targets, and a single object.
const EXAMPLES: [&str; 2] = [
    "dwarf-tests/fixtures/corpus/bundle/ccob3.hipfb",
    "dwarf-tests/fixtures/corpus/llvm22/small-gfx1100-O2-gz-zstd.hsaco",
];

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = match named.as_slice() {
        [] => EXAMPLES
            .map(|name| root.join(name).display().to_string())
            .to_vec(),
        _ => named,
    };

    // This build fails for entries that no debugger can read. Other findings are warnings.
    let mut selection = Selection::default();
    selection.choose([
        ("*", Choice::Warn),
        ("cfi-entry", Choice::Deny),
        ("cfi-cie-pointer", Choice::Deny),
    ])?;

    let mut errors = 0;
    for file in &files {
        let data = std::fs::read(file)?;
        // One file can hold code for several targets.
        for embedded in code_objects(&data)? {
            let object = CodeObject::parse(&embedded.data)?;
            let program = Program::load(&object)?;
            let mut verdict = verify(&program);
            selection.apply(&mut verdict);
            println!(
                "{file} for {}: {} findings",
                embedded.target,
                verdict.findings.len()
            );
            for finding in &verdict.findings {
                print(finding);
                errors += usize::from(finding.severity == Severity::Error);
            }
        }
    }
    Ok(if errors == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn print(finding: &Finding) {
    let offset = finding.offset.unwrap_or(0);
    println!(
        "  {} [{}] {}+{offset:#x}: {}",
        finding.severity, finding.rule.id, finding.section, finding.message
    );
    if let (Some(function), Some(source)) = (&finding.function, &finding.source) {
        println!("    in {function}, {}:{}", source.file, source.line);
    }
    if let Some(help) = &finding.help {
        println!("    {help}");
    }
}
