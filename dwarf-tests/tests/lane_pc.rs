//! Tests lane program locations: their writer, and a debugger's reading of them.
//!
//! The simulator of this package is the reference: see `dwarf_tests::simulator`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use dwarf_tests::simulator::object_file::{self, Addresses, Function};
use dwarf_tests::simulator::source::Statement;
use dwarf_tests::simulator::{
    Failure, Figures, Form, MISTAKES, Mistake, Random, Way, back_end, check, generate, mutate,
    shrink,
};
use dwarf_tests::{llvm_tool, samples, seeds};
use hetdwarf::arch::WaveSize;
use hetdwarf::eval::Reading;
use hetdwarf::expr::{Encoding, Printer};
use hetdwarf::lane_pc::Program;

/// Checks the program of a seed. A failing program is reduced and shown. Returns None if the program runs too long.
fn check_seed(seed: u64, way: Way<'_>) -> Option<Figures> {
    let source = generate(seed);
    match check(&source, way) {
        Ok(figures) => Some(figures),
        Err(Failure::TooLong) => None,
        Err(failure) => {
            let (small, why) = shrink(&source, &failure, way);
            panic!("seed {seed:#x}: {failure}\nThe smallest program: {why}\n{small}");
        }
    }
}

/// Checks `count` programs from a seed on, on all processors.
fn check_many(first: u64, count: usize, forms: &[Form; 4]) -> Figures {
    let next = AtomicU64::new(0);
    let enough = |figures: &Figures| figures.programs >= count;
    let total = std::sync::Mutex::new(Figures::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !enough(&total.lock().unwrap()) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let form = forms[usize::try_from(number % 4).unwrap()];
                    if let Some(figures) = check_seed(first.wrapping_add(number), Way::new(form)) {
                        *total.lock().unwrap() += figures;
                    }
                }
            });
        }
    });
    total.into_inner().unwrap()
}

#[test]
fn every_lane_is_where_it_is_when_it_runs_alone() {
    let forms = [
        Form::default(),
        Form {
            addresses: Addresses::Numbers,
            ..Form::default()
        },
        Form {
            version: 4,
            ..Form::default()
        },
        Form {
            reading: Reading::Tolerant,
            ..Form::default()
        },
    ];
    let start = Instant::now();
    let count = samples(5000, 1000);
    let figures = check_many(seeds::asked_for().unwrap_or(0), count, &forms);
    println!("{figures:?} in {:?}", start.elapsed());
    assert!(figures.programs >= count);
    // The comparison is meaningful only if many lanes waited.
    assert!(figures.waiting * 4 > figures.lanes, "{figures:?}");
}

/// Plants a mistake in the programs of seeds until it succeeded `tries` times, and counts the detected ones. Detection is not always
/// possible: no lane may be at a wrongly described position.
fn found(mistake: Mistake, tries: usize) -> usize {
    let (mut made, mut found) = (0, 0);
    for seed in 0.. {
        if made == tries {
            break;
        }
        let random = RefCell::new(Random::new(seed));
        let happened = Cell::new(false);
        let change = |program: &mut Program| {
            let here = mutate(program, mistake, &mut random.borrow_mut());
            happened.set(happened.get() || here);
        };
        let way = Way {
            change: &change,
            ..Way::new(Form::default())
        };
        let result = check(&generate(seed), way);
        if !happened.get() {
            continue;
        }
        made += 1;
        match result {
            Err(Failure::Wrong(_)) => found += 1,
            Err(failure) => panic!("seed {seed}: {failure}"),
            Ok(_) => {}
        }
    }
    found
}

#[test]
fn mistakes_are_found() {
    for mistake in MISTAKES {
        let found = found(mistake, 100);
        println!("{mistake:?}: {found} of 100");
        assert!(found >= 40, "{mistake:?}: {found} of 100");
    }
}

#[test]
fn a_program_that_fails_is_made_small() {
    // A decision and one lane are enough to reveal a missing `else`.
    let change = |program: &mut Program| {
        mutate(program, Mistake::MissingElse, &mut Random::new(1));
    };
    let way = Way {
        change: &change,
        ..Way::new(Form::default())
    };
    let failing = (0..)
        .map(generate)
        .find_map(|source| match check(&source, way) {
            Err(failure @ Failure::Wrong(_)) => Some((source, failure)),
            Err(_) | Ok(_) => None,
        });
    let (source, failure) = failing.unwrap();
    let (small, _) = shrink(&source, &failure, way);
    let lines = small.to_string().lines().count();
    assert!(lines <= 5, "{small}");
    assert!(small.entry.count_ones() <= 2, "{small}");
}

/// Returns the nesting depth of ifs and loops.
fn depth(block: &[Statement]) -> usize {
    let depths = block.iter().map(|statement| match statement {
        Statement::If {
            then, otherwise, ..
        } => 1 + depth(then).max(otherwise.as_deref().map_or(0, depth)),
        Statement::Loop { body, .. } => 1 + depth(body),
        Statement::Work(_)
        | Statement::WholeWave { .. }
        | Statement::Break(_)
        | Statement::Continue(_)
        | Statement::Return => 0,
    });
    depths.max().unwrap_or(0)
}

#[test]
fn random_programs_have_everything() {
    let printer = Printer::new(Encoding::AMDGPU);
    let mut seen = BTreeMap::new();
    for seed in 0..1000 {
        let source = generate(seed);
        *seen
            .entry(format!("depth {}", depth(&source.body)))
            .or_insert(0) += 1;
        let program = Program::new(&back_end::compile(&source, WaveSize::Wave64).function).unwrap();
        let mut see = |what: &str, is_there: bool| {
            *seen.entry(what.to_owned()).or_insert(0) += i32::from(is_there);
        };
        see("whole wave", program.active_lane.is_some());
        for procedure in &program.procedures {
            let kinds = ["then", "else", "loop", "continue", "return"];
            for kind in kinds.iter().filter(|kind| procedure.name.ends_with(**kind)) {
                see(kind, true);
            }
        }
        for variable in &program.variables {
            see("several places", variable.locations.len() > 1);
            for (_, bytes) in &variable.locations {
                let text = printer.expression(bytes);
                see("scalar registers", text.starts_with("DW_OP_regx SGPR"));
                see(
                    "lanes of a vector register",
                    text.contains("DW_OP_regx VGPR"),
                );
                see("scratch", text.contains("form_aspace_address"));
                see("without those that left", text.contains("DW_OP_not"));
                see(
                    "constant",
                    !text.contains("reg") && text.ends_with("stack_value"),
                );
            }
        }
    }
    println!("{seen:?}");
    for what in [
        "depth 6",
        "whole wave",
        "then",
        "else",
        "loop",
        "continue",
        "return",
        "several places",
        "scalar registers",
        "lanes of a vector register",
        "scratch",
        "without those that left",
        "constant",
    ] {
        assert!(
            seen.get(what).is_some_and(|count| *count >= 20),
            "{what}: {seen:?}"
        );
    }
}

/// Runs a tool that converts a file. Returns `None` if it is not installed.
fn transform(tool: &str, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let program = llvm_tool(tool)?;
    let folder = format!("hetdwarf-lane-pc-{tool}-{}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let (from, to) = (folder.join("input"), folder.join("output"));
    std::fs::write(&from, input).unwrap();
    let run = Command::new(program)
        .args(arguments)
        .arg("-o")
        .args([&to, &from])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", text(&run.stderr));
    let bytes = std::fs::read(&to).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    Some(bytes)
}

/// Checks some programs whose objects are written by another function.
fn check_some(write: impl Fn(&[Function<'_>], Form) -> Option<Vec<u8>>) {
    if write(&[], Form::default()).is_none() {
        return;
    }
    let way = Way {
        write: &|functions, form| write(functions, form).unwrap(),
        ..Way::new(Form::default())
    };
    let checked = (0..40).filter_map(|seed| check_seed(seed, way)).count();
    assert!(checked > 30);
}

#[test]
fn assembler_text_says_the_same() {
    let arguments = [
        "-triple=amdgcn-amd-amdhsa",
        "-mcpu=gfx1030",
        "-filetype=obj",
    ];
    check_some(|functions, _| {
        let text = object_file::assembly(functions);
        transform("llvm-mc", &arguments, text.as_bytes())
    });
}

#[test]
fn it_can_be_linked() {
    check_some(|functions, form| {
        let object = object_file::write(functions, form.version, form.addresses);
        transform("ld.lld", &["-shared"], &object)
    });
}

#[test]
fn llvm_dwarfdump_decodes_it() {
    let Some(tool) = llvm_tool("llvm-dwarfdump") else {
        return;
    };
    let path = std::env::temp_dir().join(format!("hetdwarf-lane-pc-{}.o", std::process::id()));
    for seed in 0..10 {
        let compiled = back_end::compile(&generate(seed), WaveSize::Wave64);
        let program = Program::new(&compiled.function).unwrap();
        let functions = [Function {
            name: "toy",
            size: compiled.end + 4,
            program: &program,
        }];
        for version in [4, 5] {
            let bytes = object_file::write(&functions, version, Addresses::Symbols);
            std::fs::write(&path, bytes).unwrap();
            let run = Command::new(&tool)
                .arg("--debug-info")
                .arg(&path)
                .output()
                .unwrap();
            let (out, err) = (text(&run.stdout), text(&run.stderr));
            assert!(run.status.success() && err.is_empty(), "{err}");
            assert!(out.contains("__divergent_lane_pc"), "{out}");
            // This tool does not know the GNU operations of DWARF 4, which have types.
            let unknown: &[&str] = if version == 4 { &["f5", "f7"] } else { &[] };
            for line in out.lines() {
                if let Some((_, bytes)) = line.split_once("<decoding error> ") {
                    assert!(unknown.contains(&&bytes[..2]), "{line}");
                }
            }
            if version == 5 {
                let run = Command::new(&tool).arg("--verify").arg(&path).output();
                let found = text(&run.unwrap().stdout);
                assert!(!found.contains("invalid DWARF expression"), "{found}");
            }
        }
    }
    std::fs::remove_file(&path).unwrap();
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
