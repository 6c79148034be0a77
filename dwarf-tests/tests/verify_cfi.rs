//! The rules about call frame information, over real code objects.

use std::collections::BTreeMap;

use hetdwarf::inspect::Program;
use hetdwarf::object::{CodeObject, code_objects};
use hetdwarf::verify::verify;

#[test]
fn corpus() {
    let mut counts: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for path in dwarf_tests::corpus() {
        let data = std::fs::read(&path).unwrap();
        let name = path
            .strip_prefix(dwarf_tests::fixture("corpus"))
            .unwrap()
            .display()
            .to_string();
        for embedded in code_objects(&data).unwrap() {
            let object = CodeObject::parse(&embedded.data).unwrap();
            let program = Program::load(&object).unwrap();
            for finding in verify(&program).findings {
                let n = counts
                    .entry(name.split('/').next().unwrap().to_owned())
                    .or_default()
                    .entry(finding.rule.id)
                    .or_default();
                *n += 1;
                if *n < 4 {
                    println!(
                        "{name}: {} {:?} {:?} {:?} {} {:?}",
                        finding.rule.id,
                        finding.offset,
                        finding.pc.map(|p| format!("{p:#x}")),
                        finding.function,
                        finding.message,
                        finding.excerpt
                    );
                }
            }
        }
    }
    println!("{counts:#?}");
}
