//! Compares `hetdwarf coverage` with llvm-dwarfdump where both count the same, and with stops at each instruction.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure here is a failure of the test"
)]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use dwarf_tests::{corpus, fixture, hetdwarf, of_producers, skipped};
use hetdwarf::Limits;
use hetdwarf::coverage::{Covered, VariableCoverage, coverage, coverage_within};
use hetdwarf::debug_info::DieId;
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::inspect::{Program, RecoveredFrom, Stop, StopOptions, VariableValue};
use hetdwarf::isa::Decoder;
use hetdwarf::location::Arena;
use hetdwarf::meter::Meter;
use hetdwarf::object::CodeObject;
use hetdwarf::verify::{Selection, verify_with};
use hetdwarf::wave::{Snapshot, Wave};
use rayon::prelude::*;
use serde_json::Value as Json;

/// Collects every linked code object in a folder of the fixtures and its subfolders.
fn objects_in(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            objects_in(&path, files);
        } else if path.extension().is_some_and(|end| end == "hsaco") {
            files.push(path);
        }
    }
}

/// Objects for which llvm-dwarfdump 22 prints nothing: sections with the old compression, and DWARF 6.
const UNREAD: [&str; 2] = ["small-gfx1100-O2-zdebug.hsaco", "dwarf6-as-6.hsaco"];

/// The numbers of bytes in scope and of covered bytes are the same for every fixture with code.
#[test]
fn what_llvm_counts_is_counted_the_same() {
    let tool = "llvm-dwarfdump-22";
    if Command::new(tool).arg("--version").output().is_err() {
        return skipped("llvm-dwarfdump-22");
    }
    let mut files = corpus();
    files.extend(of_producers());
    files.retain(|path| path.extension().is_some_and(|end| end == "hsaco"));
    objects_in(&fixture(""), &mut files);
    files.sort();
    files.dedup();
    let counts = files.par_iter().filter_map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let file = std::fs::read(path).unwrap();
        let object = CodeObject::parse(&file).ok()?;
        if UNREAD.contains(&name.as_str()) {
            return None;
        }
        let program = Program::load(&object).unwrap();
        let found = coverage(&program);
        assert_eq!(found.limit, None, "{name}");
        let sum = |is_wanted: &dyn Fn(&VariableCoverage) -> bool| {
            let all = found.functions.iter().flat_map(|one| &one.variables);
            let all = all.filter(|one| is_wanted(one));
            all.fold([0, 0], |[scope, dwarf], one| {
                let Covered {
                    scope: bytes,
                    omitted_scope,
                    dwarf: covered,
                    recovered,
                    ..
                } = one.covered;
                assert!(covered + recovered <= bytes, "{name}: {one:?}");
                [scope + bytes - omitted_scope, dwarf + covered]
            })
        };
        let ran = Command::new(tool)
            .args(["--statistics".as_ref(), path.as_os_str()])
            .output()
            .unwrap();
        let theirs = serde_json::from_slice::<Json>(&ran.stdout).ok()?;
        let expected = |what: &str| {
            let scope = format!("sum_all_{what}(#bytes in parent scope)");
            let dwarf = format!("sum_all_{what}(#bytes in parent scope covered by DW_AT_location)");
            [scope, dwarf].map(|name| theirs[name].as_u64().unwrap())
        };
        assert_eq!(sum(&|_| true), expected("variables"), "{name}");
        assert_eq!(sum(&|one| one.is_parameter), expected("params"), "{name}");
        assert_eq!(
            sum(&|one| !one.is_parameter),
            expected("local_vars"),
            "{name}"
        );
        // llvm-dwarfdump leaves out variables without a location in out-of-line copies of functions that are inlined nowhere.
        let count = found.total().variables;
        let processed = &theirs["#variables processed by location statistics"];
        assert!(processed.as_u64().unwrap() <= count, "{name}");
        Some((1, count))
    });
    let (compared, variables) = counts.reduce(|| (0, 0), |(a, b), (x, y)| (a + x, b + y));
    assert!(
        compared > 200 && variables > 10_000,
        "{compared} {variables}"
    );
}

/// Returns the coverage at stops at each instruction, in bytes of code by entry. The first number counts values from the function itself,
/// the second values that may need the caller.
fn shown(
    program: &Program<'_>,
    wave: &Snapshot,
    functions: &[(u64, u64)],
) -> BTreeMap<DieId, [u64; 2]> {
    let object = program.object();
    let decoder = Decoder::new(program.processor(), Some(wave.wave_size())).unwrap();
    let mut bytes: BTreeMap<DieId, [u64; 2]> = BTreeMap::new();
    for (start, size) in functions {
        let code = object
            .read_image(*start, usize::try_from(*size).unwrap())
            .unwrap();
        for instruction in decoder.decode_all(code, *start).unwrap() {
            let arena = Arena::new();
            let pc = wave.load_address.to_process(instruction.address.into());
            let options = StopOptions::loaded_at(wave.load_address);
            let stop = Stop::new(program, wave, pc, options, &arena);
            let frame = stop.call_frame(0).unwrap();
            for value in frame.variables(&mut TypeTable::default()).unwrap() {
                let length = u64::from(instruction.length);
                let [surely, maybe] = bytes.entry(value.variable.die).or_default();
                match value.recovered().map(|recovered| recovered.from) {
                    None => {}
                    // A part of such a value may come from the caller, or the function itself may also supply it.
                    Some(RecoveredFrom::Computed | RecoveredFrom::CallSite) => *maybe += length,
                    Some(_) => *surely += length,
                }
            }
        }
    }
    bytes
}

/// The bytes counted as recovered are those in which `vars` shows a recovered value, variable by variable, at every instruction.
#[test]
fn what_is_recovered_is_what_stops_show() {
    let (mut compared, mut left_open) = (0, 0);
    for (case, wave) in [
        ("across-gfx1100-O2", "w00"),
        ("helpers-gfx1200-O2-clang22", "w00"),
        ("prev-gfx90a-O2", "w00"),
    ] {
        let folder = fixture("lost").join(case);
        let file = std::fs::read(folder.join(format!("{case}.hsaco"))).unwrap();
        let object = CodeObject::parse(&file).unwrap();
        let program = Program::load(&object).unwrap();
        let wave = std::fs::read(folder.join(format!("{wave}.json"))).unwrap();
        let wave = Snapshot::from_json(&wave).unwrap();
        let found = coverage(&program);
        assert!(found.is_complete());
        let functions = found.functions.iter();
        let functions: Vec<(u64, u64)> = functions.map(|one| (one.address, one.size)).collect();
        let shown = shown(&program, &wave, &functions);
        for variable in found.functions.iter().flat_map(|one| &one.variables) {
            if variable.covered.omitted > 0 {
                continue;
            }
            let [surely, maybe] = shown.get(&variable.die).copied().unwrap_or_default();
            let recovered = variable.covered.recovered;
            let is_same = (surely..=surely + maybe).contains(&recovered);
            assert!(is_same, "{case}: {variable:?} {surely} {maybe}");
            compared += surely;
            left_open += maybe;
        }
    }
    assert!(left_open * 2 < compared, "{left_open} of {compared}");
    assert!(compared > 6_000, "{compared}");
}

/// Returns the number that follows a text in a message.
fn number_after<'m>(message: &'m str, text: &str) -> (u64, &'m str) {
    let (_, rest) = message.split_once(text).unwrap();
    let end = rest.find(|c: char| !c.is_ascii_hexdigit());
    let (digits, rest) = rest.split_at(end.unwrap_or(rest.len()));
    (u64::from_str_radix(digits, 16).unwrap(), rest)
}

/// `verify` reports surviving values only on request, and they agree with stops. A range ends where the register is overwritten.
#[test]
fn kept_values_are_told_on_request() {
    let folder = fixture("lost/across-gfx1100-O2");
    let file = std::fs::read(folder.join("across-gfx1100-O2.hsaco")).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let wave = std::fs::read(folder.join("w00.json")).unwrap();
    let wave = Snapshot::from_json(&wave).unwrap();
    let told = |selection: &Selection| {
        let found = verify_with(&program, selection, NonZeroUsize::MIN).findings;
        let found = found.into_iter();
        found
            .filter(|one| one.rule.id == "loc-lost-value")
            .collect::<Vec<_>>()
    };
    assert!(told(&Selection::default()).is_empty());
    let mut selection = Selection::default();
    selection.only(["loc-lost-value"]).unwrap();
    let found = told(&selection);
    let mut ranges = 0;
    for finding in &found {
        let mut rest = finding.message.raw();
        while rest.contains("[0x") {
            let (start, after) = number_after(rest, "[0x");
            let (as_of, after) = number_after(after, "as of 0x");
            rest = after;
            let arena = Arena::new();
            let pc = wave.load_address.to_process(start.into());
            let options = StopOptions::loaded_at(wave.load_address);
            let stop = Stop::new(&program, &wave, pc, options, &arena);
            let frame = stop.call_frame(0).unwrap();
            let values = frame.variables(&mut TypeTable::default()).unwrap();
            let is_it = |die: DieId| Some(die.offset) == finding.offset;
            let value = values.iter().find(|value| is_it(value.variable.die));
            let recovered = value.unwrap().recovered().unwrap();
            let said = recovered.as_of.map(|at| wave.load_address.to_code(at).0);
            assert_eq!(said, Some(as_of), "{}", finding.message);
            // After the range, the value is lost, or has a location, or the scope has ended.
            let (end, _) = number_after(finding.message.raw(), &format!("{start:x}, 0x"));
            let pc = wave.load_address.to_process(end.into());
            let stop = Stop::new(&program, &wave, pc, options, &arena);
            let values = stop
                .call_frame(0)
                .map(|frame| frame.variables(&mut TypeTable::default()).unwrap());
            let after = values
                .iter()
                .flatten()
                .find(|value| is_it(value.variable.die));
            let is_same = |value: &VariableValue<'_>| value.recovered() == Some(recovered);
            assert!(!after.is_some_and(is_same), "{}", finding.message);
            ranges += 1;
        }
    }
    assert!(ranges > 3 && ranges >= found.len(), "{ranges}");
    let path = "fixtures/lost/across-gfx1100-O2/across-gfx1100-O2.hsaco";
    let ran = hetdwarf(["verify", "--warn", "loc-lost-value", path]);
    assert!(ran.out.contains("warning[loc-lost-value]"), "{}", ran.out);
}

/// A limit reduces the results, and the answer says that it is incomplete.
#[test]
fn a_limit_is_said() {
    let path = fixture("lost/across-gfx1100-O2/across-gfx1100-O2.hsaco");
    let file = std::fs::read(&path).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let whole = coverage(&program).total();
    let mut before = 0;
    for work in [100, 1_000, 4_000, 10_000, 1_000_000] {
        let mut limits = Limits::default();
        (limits.work, limits.work_per_byte) = (work, 0);
        let found = coverage_within(&program, &Meter::new(&limits, 0));
        let total = found.total();
        assert_eq!(
            found.is_complete(),
            total.recovered == whole.recovered,
            "{work}"
        );
        assert!(before <= total.recovered && total.recovered <= whole.recovered);
        before = total.recovered;
    }
    assert_eq!(before, whole.recovered);
}

#[test]
fn the_command_prints_it() {
    let path = "fixtures/lost/prev-gfx90a-O2/prev-gfx90a-O2.hsaco";
    let ran = hetdwarf(["coverage", path]);
    insta::assert_snapshot!("coverage", ran.out);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    let ran = hetdwarf(["coverage", path, "fixtures/README.md", "--format", "json"]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("fixtures/README.md"), "{}", ran.err);
    let document: Json = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["format"], "hetdwarf-coverage/1");
    let sum = |field: &str| {
        let functions = document["files"][0]["functions"].as_array().unwrap().iter();
        let variables = functions.flat_map(|one| one["variables"].as_array().unwrap());
        variables
            .map(|one| one[field].as_u64().unwrap())
            .sum::<u64>()
    };
    for field in ["bytes_in_scope", "dwarf", "recovered", "neither"] {
        assert_eq!(document["total"][field], sum(field), "{field}");
        let kinds = document["by_kind"].as_object().unwrap().values();
        let of_kinds: u64 = kinds.map(|kind| kind[field].as_u64().unwrap()).sum();
        assert_eq!(of_kinds, sum(field), "{field}");
    }
}
