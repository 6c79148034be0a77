//! Tests objects of many units: the parts that a query reads, and the results with several threads. `dwarf_tests::large` makes the objects.
//! llvm-dwarfdump considers them valid.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::Command;

use dwarf_tests::large::{self, Object, Shape, code};
use dwarf_tests::{hetdwarf, llvm_tool};
use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;
use hetdwarf::verify::{Selection, Severity, Verdict, verify_with};

/// Returns the dimensions of an object with two hundred units.
fn many_units(aranges: bool) -> Shape {
    Shape {
        functions: 800,
        variables: 6,
        entries: 2,
        functions_of_unit: 4,
        aranges,
        ..Shape::default()
    }
}

fn written(shape: &Shape) -> (Vec<u8>, Object) {
    let mut bytes = Vec::new();
    let object = large::write(shape, &mut bytes).unwrap();
    assert_eq!(object.size, bytes.len() as u64);
    (bytes, object)
}

/// Writes a file for a command. No two tests use the same name.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("hetdwarf-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

fn verdict(bytes: &[u8], threads: usize) -> Verdict {
    let object = CodeObject::parse(bytes).unwrap();
    let program = Program::load(&object).unwrap();
    let threads = NonZeroUsize::new(threads).unwrap();
    verify_with(&program, &Selection::default(), threads)
}

/// Overwrites entries of every unit that does not have `keep` with invalid abbreviation codes: all entries, or all but the first of each
/// unit.
fn damage(bytes: &mut [u8], object: &Object, keep: u64, first_too: bool) -> usize {
    let mut damaged = 0;
    for unit in &object.units {
        if unit
            .functions
            .iter()
            .any(|function| function.range.contains(&keep))
        {
            continue;
        }
        // A header of version 5 has 12 bytes.
        let from = if first_too {
            unit.entries.start + 12
        } else {
            unit.children
        };
        let place = |offset: u64| usize::try_from(object.info_offset + offset).unwrap();
        bytes[place(from)..place(unit.entries.end)].fill(0x7f);
        damaged += 1;
    }
    damaged
}

/// With `.debug_aranges`, the entries of only one unit are read. Without it, the first entries of the other units are also read, because
/// they have the addresses of the code.
#[test]
fn a_lookup_reads_the_entries_of_one_unit() {
    for aranges in [true, false] {
        let (mut bytes, object) = written(&many_units(aranges));
        assert_eq!(object.units.len(), 200);
        let middle = object.middle();
        let wave = file(
            &format!("{aranges}.json"),
            large::stop(&object, middle).to_string().as_bytes(),
        );
        let vars = |bytes: &[u8]| {
            let path = file(&format!("{aranges}.hsaco"), bytes);
            let arguments = [
                "vars".as_ref(),
                path.as_os_str(),
                "--wave".as_ref(),
                wave.as_os_str(),
            ];
            let ran = hetdwarf(arguments);
            std::fs::remove_file(path).unwrap();
            ran
        };
        let intact = vars(&bytes);
        assert_eq!((intact.status, &*intact.err), (0, ""));
        assert!(intact.out.contains(&middle.name), "{}", intact.out);
        assert_eq!(damage(&mut bytes, &object, middle.middle, aranges), 199);
        let damaged = vars(&bytes);
        assert_eq!(
            (damaged.status, damaged.out),
            (0, intact.out),
            "{}",
            damaged.err
        );
        std::fs::remove_file(wave).unwrap();

        // Readers of the other units get an error.
        let code = CodeObject::parse(&bytes).unwrap();
        let program = Program::load(&code).unwrap();
        let other = &object.units[3].functions[1];
        assert!(
            program
                .info()
                .find_function(middle.middle)
                .unwrap()
                .is_some()
        );
        assert_eq!(program.info().units_indexed(), 1);
        assert!(program.info().find_function(other.middle).is_err());
    }
}

/// `symbolize` releases pages of a large object after every 64 addresses.
#[test]
fn answers_for_many_addresses_are_those_for_few() {
    let (bytes, object) = written(&Shape::default().sized(9));
    let path = file("many.hsaco", &bytes);
    let functions = object.units.iter().flat_map(|unit| &unit.functions);
    let functions: Vec<_> = functions.step_by(10).collect();
    let addresses: Vec<String> = functions
        .iter()
        .map(|function| format!("{:#x}", function.middle))
        .collect();
    assert!(addresses.len() > 400, "{}", addresses.len());
    let ask = |addresses: &[String]| {
        let ran = hetdwarf(
            ["symbolize", path.to_str().unwrap(), "--format", "llvm"]
                .into_iter()
                .chain(addresses.iter().map(String::as_str)),
        );
        assert_eq!((ran.status, &*ran.err), (0, ""));
        ran.out
    };
    let few: String = addresses.chunks(60).map(ask).collect();
    assert_eq!(ask(&addresses), few);
    assert!(
        functions
            .iter()
            .all(|function| few.contains(&function.name))
    );
    std::fs::remove_file(path).unwrap();
}

#[test]
fn objects_are_sound() {
    let shapes = [
        Shape {
            functions: 60,
            functions_of_unit: 30,
            ..Shape::default()
        },
        Shape {
            functions: 24,
            variables: 15,
            entries: 9,
            functions_of_unit: 6,
            aranges: true,
            seed: 7,
        },
        Shape {
            functions: 3,
            variables: 2,
            entries: 0,
            functions_of_unit: 1,
            ..Shape::default()
        },
    ];
    for (number, shape) in shapes.iter().enumerate() {
        let (bytes, object) = written(shape);
        assert_eq!(
            bytes,
            written(shape).0,
            "the same shape gives the same bytes"
        );
        let functions: usize = object.units.iter().map(|unit| unit.functions.len()).sum();
        assert_eq!(functions, shape.functions);
        let found = verdict(&bytes, 1);
        let bad = found
            .findings
            .iter()
            .filter(|finding| finding.severity != Severity::Note);
        assert_eq!(
            bad.collect::<Vec<_>>(),
            Vec::<&hetdwarf::verify::Finding>::new(),
            "{shape:?}"
        );
        let Some(tool) = llvm_tool("llvm-dwarfdump") else {
            continue;
        };
        let path = file(&format!("sound-{number}.hsaco"), &bytes);
        let ran = Command::new(tool)
            .arg("--verify")
            .arg(&path)
            .output()
            .unwrap();
        std::fs::remove_file(path).unwrap();
        let out = String::from_utf8(ran.stdout).unwrap();
        assert!(
            ran.status.success() && out.ends_with("No errors.\n"),
            "{shape:?}: {out}"
        );
    }
}

#[test]
fn instructions_are_what_an_assembler_writes() {
    let Some(tool) = llvm_tool("llvm-mc") else {
        return;
    };
    let single = [
        code::ENTRY,
        code::RETURN,
        code::KERNEL_END,
        code::BRANCH,
        code::CONVERGE,
        code::NOP,
    ];
    let tables = [
        code::PROLOGUE,
        code::EPILOGUE,
        code::KERNEL_ENTRY,
        code::BODY,
        code::DIVERGE,
        code::CALL,
    ];
    let all: Vec<code::Instruction> = single.into_iter().chain(tables.concat()).collect();
    let text: String = all.iter().map(|(text, _)| format!("{text}\n")).collect();
    let source = file("code.s", text.as_bytes());
    let options = [
        "-arch=amdgcn",
        "-mcpu=gfx1100",
        "-mattr=+wavefrontsize32",
        "-show-encoding",
    ];
    let ran = Command::new(tool)
        .args(options)
        .arg(&source)
        .output()
        .unwrap();
    std::fs::remove_file(source).unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    let encodings: Vec<&str> = out
        .lines()
        .filter_map(|line| Some(line.split_once("encoding: [")?.1))
        .collect();
    assert_eq!(encodings.len(), all.len(), "{out}");
    for ((text, words), encoding) in all.iter().zip(encodings) {
        let bytes: Vec<String> = words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .map(|byte| format!("0x{byte:02x}"))
            .collect();
        assert_eq!(encoding.trim_end_matches(']'), bytes.join(","), "{text}");
    }
}

/// Some units are damaged to produce findings, and units refer to each other's lists.
#[test]
fn several_threads_find_what_one_finds() {
    let (mut bytes, object) = written(&many_units(false));
    let sound = verdict(&bytes, 1);
    for step in [7_001, 5_003] {
        let mut places = (object.info_offset..object.size).step_by(step);
        for place in places.by_ref() {
            bytes[usize::try_from(place).unwrap()] ^= 0x15;
        }
        let one = verdict(&bytes, 1);
        assert!(one.findings.len() > sound.findings.len() + 20);
        for threads in [2, 3, 16] {
            let several = verdict(&bytes, threads);
            assert_eq!(several.findings, one.findings, "{threads} threads");
            assert_eq!(several.left_out, one.left_out);
        }
    }
}
