//! Call frame information against machine code.

#[path = "machine/objects.rs"]
mod objects;

#[test]
fn print_all() {
    for case in dwarf_tests::wave_cases() {
        let name = case.file_name().unwrap().to_str().unwrap().to_string();
        println!("== {name}");
        for function in objects::check(&case.join(format!("{name}.hsaco"))) {
            println!("{} {:#x} {:?}", function.name, function.start, function.report.silence);
            for one in &function.report.contradictions {
                println!("   {:?} {:?} {:x?}\n      {one}", one.kind, one.when, one.ranges);
            }
        }
    }
}
