//! Compares the additions of `annotate --locations` to location lists with the true values of variables.
//!
//! No parameter of the stopped programs is constant. The tests change the entries of parameters that never change to refer to the constant
//! type, which the programs contain. Their location lists are checked as they are, and also as if the compiler had lost most entries.
//!
//! Functions with unreadable lists get no additions.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure here is a failure of the test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use dwarf_tests::{fixture, hetdwarf, json, llvm_tool};
use hetdwarf::Limits;
use hetdwarf::annotate::{Annotated, Request, annotate};
use hetdwarf::arch::Lane;
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::debug_info::{LocationRange, VariableKind};
use hetdwarf::eval::LocationAttribute;
use hetdwarf::fallible_iterator::FallibleIterator;
use hetdwarf::gimli;
use hetdwarf::inspect::{Program, Stop, StopOptions, ValueStateKind, VariableValue};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::report::hex_bytes;
use hetdwarf::verify::{Severity, verify};
use hetdwarf::wave::{Snapshot, Wave as _};
use serde_json::Value as Json;

type Bytes<'a> = gimli::EndianSlice<'a, gimli::LittleEndian>;

/// An entry: its tag, name and type, with the offset of the type reference in the section.
struct Entry {
    offset: usize,
    tag: gimli::DwTag,
    name: String,
    /// The name of the function that contains the entry.
    function: String,
    ty: Option<(usize, usize)>,
}

fn entries(object: &CodeObject<'_>) -> Vec<Entry> {
    let load = |id: gimli::SectionId| {
        let bytes = object.section(id.name()).unwrap().unwrap_or_default();
        Ok::<_, gimli::Error>(Bytes::new(bytes, gimli::LittleEndian))
    };
    let dwarf = gimli::Dwarf::load(load).unwrap();
    let header = dwarf.units().next().unwrap().unwrap();
    let unit = dwarf.unit(header).unwrap();
    let mut raw = header.entries_raw(&unit.abbreviations, None).unwrap();
    let (mut found, mut function) = (Vec::new(), String::new());
    while !raw.is_empty() {
        let offset = raw.next_offset().0;
        let Some(abbreviation) = raw.read_abbreviation().unwrap() else {
            continue;
        };
        let mut entry = Entry {
            offset,
            tag: abbreviation.tag(),
            name: String::new(),
            function: function.clone(),
            ty: None,
        };
        for specification in abbreviation.attributes() {
            let at = raw.next_offset().0;
            let attribute = raw.read_attribute(*specification).unwrap();
            match attribute.value() {
                gimli::AttributeValue::UnitRef(target)
                    if attribute.name() == gimli::constants::DW_AT_type =>
                {
                    entry.ty = Some((target.0, at));
                }
                value if attribute.name() == gimli::constants::DW_AT_name => {
                    let name = dwarf.attr_string(&unit, value).unwrap();
                    entry.name = name.to_string().unwrap().to_owned();
                }
                _ => {}
            }
        }
        if entry.tag == gimli::constants::DW_TAG_subprogram {
            function.clone_from(&entry.name);
        }
        found.push(entry);
    }
    found
}

/// The name of a function, and of one of its parameters.
type Parameter = (String, String);

/// Returns the file with constant types for some parameters.
fn with_constants(file: &[u8], names: &BTreeSet<Parameter>) -> Vec<u8> {
    let object = CodeObject::parse(file).unwrap();
    let entries = entries(&object);
    let is_constant = |entry: &&Entry| entry.tag == gimli::constants::DW_TAG_const_type;
    let constants = entries.iter().filter(is_constant);
    let constants: BTreeMap<usize, usize> = constants
        .filter_map(|entry| Some((entry.ty?.0, entry.offset)))
        .collect();
    let info = object.section(".debug_info").unwrap().unwrap();
    let start = file.windows(info.len()).position(|part| part == info);
    let mut changed = file.to_vec();
    for entry in &entries {
        let is_parameter = entry.tag == gimli::constants::DW_TAG_formal_parameter;
        let key = (entry.function.clone(), entry.name.clone());
        let ty = entry.ty.filter(|_| is_parameter && names.contains(&key));
        let Some((ty, at)) = ty else {
            continue;
        };
        if let Some(constant) = constants.get(&ty) {
            let at = start.unwrap() + at;
            let bytes = u32::try_from(*constant).unwrap().to_le_bytes();
            changed[at..at + 4].copy_from_slice(&bytes);
        }
    }
    assert!(changed != file, "no parameter is constant");
    changed
}

/// Returns the parameters that had a single value in every activation, at every stop.
fn unchanged(everhad: &Json) -> BTreeSet<Parameter> {
    let (mut all, mut changed) = (BTreeSet::new(), BTreeSet::new());
    for snapshot in everhad["snapshots"].as_object().unwrap().values() {
        for variable in snapshot.as_array().unwrap() {
            let text = |field: &str| variable[field].as_str().unwrap().to_owned();
            let name = (text("function"), text("name"));
            let lanes = variable["lanes"].as_object().unwrap().values();
            let is_one = lanes
                .into_iter()
                .all(|had| had.as_array().unwrap().len() <= 2);
            if variable["parameter"] == true && is_one {
                all.insert(name);
            } else {
                changed.insert(name);
            }
        }
    }
    all.difference(&changed).cloned().collect()
}

/// Reads the variables at a stop from the debugging information of a file alone.
fn given(file: &[u8], wave: &Snapshot, mut look: impl FnMut(&[VariableValue<'_>])) {
    let object = CodeObject::parse(file).unwrap();
    let program = Program::load(&object).unwrap();
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.load_address).only_dwarf(true);
    let stop = Stop::new(&program, wave, wave.pc(), options, &arena);
    let frame = stop.call_frame(0).unwrap();
    look(&frame.variables(&mut TypeTable::default()).unwrap());
}

/// Returns the bytes of each variable of a frame in each lane, by its number and name.
fn values(file: &[u8], wave: &Snapshot) -> BTreeMap<(usize, String, u8), String> {
    let mut found = BTreeMap::new();
    given(file, wave, |values| {
        for (number, value) in values.iter().enumerate() {
            if value.variable.kind == VariableKind::Global {
                continue;
            }
            let name = value.variable.name.as_deref().unwrap_or_default();
            for lane in 0..u8::try_from(wave.wave_size().lanes()).unwrap() {
                if value.state(Lane(lane)).kind() != ValueStateKind::Ok {
                    continue;
                }
                let bits = value.bits(Lane(lane)).unwrap().unwrap();
                found.insert((number, name.to_owned(), lane), hex_bytes(&bits.bytes));
            }
        }
    });
    found
}

fn annotated(file: &[u8], locations: bool) -> Annotated {
    let mut request = Request::new(&|_| true);
    request.locations = locations;
    annotate(file, &Limits::default(), &request).unwrap()
}

/// Compares the given values at a stop with the true values. Returns the number of values that were not given before.
fn check_stop(
    [before, after]: [&[u8]; 2],
    wave: &Snapshot,
    is_true: &dyn Fn(&str, u8, &str) -> bool,
) -> usize {
    let (given, mut new) = (values(before, wave), values(after, wave));
    for (key, value) in given {
        assert_eq!(new.remove(&key), Some(value), "{key:?}");
    }
    for ((_, variable, lane), value) in &new {
        assert!(
            is_true(variable, *lane, value),
            "{variable} in lane {lane}: {value}"
        );
    }
    new.len()
}

/// Encodes a number as LEB128 of `size` bytes, or of as many as it needs.
fn uleb(mut value: u64, size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(value & 0x7f).unwrap();
        value >>= 7;
        let is_last = value == 0 && bytes.len() + 1 >= size;
        bytes.push(if is_last { low } else { low | 0x80 });
        if is_last {
            return bytes;
        }
    }
}

/// Returns a file in which each location list entry of some parameters ends after its first instruction, as if the compiler had lost the
/// rest.
fn with_short_lists(file: &[u8], names: &BTreeSet<Parameter>) -> Vec<u8> {
    let object = CodeObject::parse(file).unwrap();
    let program = Program::load(&object).unwrap();
    let info = program.info();
    let unit = info.unit_ids().next().unwrap();
    let functions = info.functions(unit).unwrap();
    let bases: Vec<u64> = functions.iter().map(|one| one.ranges[0].start).collect();
    let mut changed = file.to_vec();
    for function in &functions {
        let variables = info
            .variables_at(function, function.ranges[0].start)
            .unwrap();
        for variable in variables {
            let text = |text: &Option<std::borrow::Cow<'_, str>>| {
                text.as_deref().unwrap_or_default().to_owned()
            };
            let key = (text(&function.name), text(&variable.name));
            let Some(LocationAttribute::List { offset, .. }) = variable.location else {
                continue;
            };
            if variable.scope_die != Some(function.die) || !names.contains(&key) {
                continue;
            }
            let meter = info.for_query();
            let mut list = info.location_list(unit, offset, &meter).unwrap();
            while let Some(entry) = list.next().unwrap() {
                let LocationRange::Bounded(range) = entry.range else {
                    continue;
                };
                // DW_LLE_offset_pair, the ends, and the expression with its length.
                for base in bases.iter().filter(|base| **base <= range.start) {
                    let ends = [range.start - base, range.end - base].map(|end| uleb(end, 0));
                    let expression = entry.expression.bytes;
                    let head = [&[4][..], &ends[0]].concat();
                    let rest = [&uleb(expression.len() as u64, 0)[..], expression].concat();
                    let old = [&head[..], &ends[1], &rest].concat();
                    let end = uleb(range.start + 4 - base, ends[1].len());
                    let new = [&head[..], &end, &rest].concat();
                    let at = changed.windows(old.len()).position(|part| part == old);
                    if let Some(at) = at.filter(|_| new.len() == old.len()) {
                        changed[at..at + new.len()].copy_from_slice(&new);
                    }
                }
            }
        }
    }
    changed
}

/// Checks a case. Returns the number of lane values that were not given before.
fn check(folder: &Path, name: &str, style: &str) -> usize {
    let everhad = json(&folder.join("everhad.json"));
    let truth = json(&folder.join("truth.json"));
    let file = std::fs::read(folder.join(format!("{name}.{style}"))).unwrap();
    // No parameter is constant yet, so no value is known to be current.
    assert!(annotated(&file, true).locations.is_empty());
    let names = unchanged(&everhad);
    let constant = with_constants(&file, &names);
    assert!(annotated(&constant, false).locations.is_empty());
    let mut new = 0;
    for file in [constant.clone(), with_short_lists(&constant, &names)] {
        let found = annotated(&file, true);
        for snapshot in truth["snapshots"].as_array().unwrap() {
            let wave = folder.join(snapshot["wave"].as_str().unwrap());
            let wave = Snapshot::from_json(&std::fs::read(wave).unwrap()).unwrap();
            let is_true = |variable: &str, lane: u8, value: &str| {
                let of_name = snapshot["variables"].as_array().unwrap().iter();
                let mut of_name = of_name.filter(|one| one["name"] == variable);
                of_name.any(|one| {
                    let mut lanes = one["lanes"].as_array().unwrap().iter();
                    lanes.any(|one| one["lane"] == lane && one["bytes"] == value)
                })
            };
            new += check_stop([&file, &found.file], &wave, &is_true);
        }
        check_file(&file, &found, &format!("{name}-{style}"));
    }
    new
}

/// Checks that the output is well-formed, and covers the ranges in the report.
fn check_file(before: &[u8], found: &Annotated, name: &str) {
    let findings = |file: &[u8]| {
        let object = CodeObject::parse(file).unwrap();
        let program = Program::load(&object).unwrap();
        let found = verify(&program).findings;
        let ids = found.iter().filter(|one| one.severity > Severity::Note);
        let ids: Vec<&str> = ids.map(|one| one.rule.id).collect();
        ids.join(" ")
    };
    assert_eq!(findings(before), findings(&found.file), "{name}");
    let Some(tool) = llvm_tool("llvm-dwarfdump") else {
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = |which: &str| folder.join(format!("{name}-{which}"));
    let run = |option: &str, which: &str, file: &[u8]| {
        std::fs::write(path(which), file).unwrap();
        let ran = Command::new(&tool).arg(option).arg(path(which)).output();
        let ran = ran.unwrap();
        (ran.status.success(), ran.stdout)
    };
    assert!(run("--verify", "after", &found.file).0, "{name}");
    let covered = |which: &str, file: &[u8]| {
        let document: Json = serde_json::from_slice(&run("--statistics", which, file).1).unwrap();
        let name = "sum_all_variables(#bytes in parent scope covered by DW_AT_location)";
        document[name].as_u64().unwrap()
    };
    let ranges = found.locations.iter().flat_map(|one| &one.ranges);
    let added: u64 = ranges.map(|range| range.end - range.start).sum();
    let was = covered("before", before);
    assert_eq!(covered("after", &found.file), was + added, "{name}");
}

/// No added value is wrong, the former values are unchanged, and some values are new.
#[test]
fn values_that_are_added_are_true() {
    let mut new = BTreeMap::new();
    for case in [
        "across-gfx1100-O2",
        "helpers-gfx1200-O2-clang22",
        "prev-gfx90a-O2",
    ] {
        for style in ["hsaco", "rocm.hsaco"] {
            let count = check(&fixture("lost").join(case), case, style);
            new.insert(format!("{case}.{style}"), count);
        }
    }
    assert!(new.values().sum::<usize>() >= 64, "{new:?}");
}

/// The command reports the added locations.
#[test]
fn the_command_lists_variables() {
    let folder = fixture("lost/across-gfx1100-O2");
    let file = std::fs::read(folder.join("across-gfx1100-O2.rocm.hsaco")).unwrap();
    let names = unchanged(&json(&folder.join("everhad.json")));
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join("constant.hsaco");
    let output = input.with_file_name("longer.hsaco");
    let _ = std::fs::remove_file(&output);
    std::fs::write(&input, with_constants(&file, &names)).unwrap();
    let [input, output] = [&input, &output].map(|path| path.to_str().unwrap());
    let ran = hetdwarf(["annotate", input, "-o", output, "--locations", "--report"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(
        ran.out
            .contains("id of mid: its location list covers 276 more bytes of code"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("got longer location lists"), "{}", ran.out);
}

/// Returns the reasons why functions were left alone, by the address of the function.
fn left_alone(file: &[u8]) -> BTreeMap<u64, Option<String>> {
    let functions = annotated(file, false).functions.into_iter();
    functions
        .map(|function| (function.address, function.left_alone))
        .collect()
}

/// Returns the addresses of the functions with a lane program location.
fn functions_with_lanes(file: &[u8]) -> BTreeSet<u64> {
    let object = CodeObject::parse(file).unwrap();
    let program = Program::load(&object).unwrap();
    let unit = program.info().unit_ids().next().unwrap();
    let functions = program.info().functions(unit).unwrap().into_iter();
    let with_lanes = functions.filter(|function| function.simt.lane_pc.is_some());
    with_lanes
        .map(|function| function.ranges[0].start)
        .collect()
}

/// A function is left alone if a location list of its variables, or an expression there, is unreadable. The other functions get their lanes.
#[test]
fn a_function_with_something_unreadable_is_left_alone() {
    let file = std::fs::read(fixture("waves/calls-O2/calls-O2.rocm.hsaco")).unwrap();
    let intact = left_alone(&file);
    assert!(intact.values().all(Option::is_none), "{intact:?}");
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let info = program.info();
    let unit = info.unit_ids().next().unwrap();
    let lists = object.section(".debug_loclists").unwrap().unwrap();
    let position = |part: &[u8]| part.as_ptr().addr() - file.as_ptr().addr();
    let mut damaged = BTreeSet::new();
    for function in info.functions(unit).unwrap() {
        let address = function.ranges[0].start;
        for variable in info.variables_at(&function, address).unwrap() {
            let Some(LocationAttribute::List { offset, .. }) = variable.location else {
                continue;
            };
            let meter = info.for_query();
            let mut list = info.location_list(unit, offset, &meter).unwrap();
            let expression = list.next().unwrap().unwrap().expression.bytes;
            let list = lists.get(usize::try_from(offset).unwrap()..).unwrap();
            // DWARF 5 §7.7.3 and §7.7.1 define neither 0x7f as a kind of entry nor 0 as an operation.
            let changes = [
                (list, 0x7f, "unknown kind 0x7f"),
                (expression, 0, "unknown operation 0x00"),
            ];
            for (part, byte, reason) in changes {
                let mut file = file.clone();
                file[position(part)] = byte;
                let mut found = left_alone(&file);
                let left = found.insert(address, None).flatten();
                assert!(left.is_some_and(|left| left.contains(reason)));
                assert_eq!(found, intact);
                let with_lanes = functions_with_lanes(&annotated(&file, false).file);
                let others = intact.keys().copied().filter(|other| *other != address);
                assert!(with_lanes.into_iter().eq(others));
                damaged.insert(address);
            }
        }
    }
    assert!(damaged.len() > 2, "{damaged:?}");
}
