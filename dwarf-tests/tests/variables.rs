//! Compares the variables of stopped waves with their true values.
//!
//! The true values do not come from DWARF: the same source was run on the host (`fixtures/waves/README.md`).

use std::path::Path;

use dwarf_tests::{hetdwarf, json, number, wave_cases};
use hetdwarf::arch::{Lane, Register};
use hetdwarf::debug_info::types::{TypeKind, TypeTable};
use hetdwarf::inspect::{Program, Stop, StopOptions, ValueState, VariableValue};
use hetdwarf::location::{Access, Arena, LaneSelect, Location, Place, Storage, read};
use hetdwarf::object::CodeObject;
use hetdwarf::report::{hex_bytes, parse_hex_bytes};
use hetdwarf::wave::Snapshot;
use serde_json::Value;

#[derive(Debug, Default)]
struct Tally {
    snapshots: usize,
    /// The number of right values, by variable and lane.
    right: usize,
    /// The number of these with only some known bits.
    partial: usize,
    /// The number of values that are not available or ambiguous in optimized code.
    not_available: usize,
    ambiguous: usize,
    wrong: Vec<String>,
}

fn stops(truth: &Value) -> impl Iterator<Item = &Value> {
    truth["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|snapshot| snapshot["stop"] == "mark")
}

/// Compares every variable of every marked snapshot of a case with the truth.
fn check(case: &Path, object_key: &str, tally: &mut Tally) {
    let truth = json(&case.join("truth.json"));
    let unoptimised = truth["optimisation"] == "-O0";
    // In this case, the differing values were read from neighbouring lanes (`fixtures/waves/README.md`).
    let is_moved = truth["case"] != "vec3_gfx1100_32_O1";
    let data = std::fs::read(case.join(truth[object_key].as_str().unwrap())).unwrap();
    let object = CodeObject::parse(&data).unwrap();
    let program = Program::load(&object).unwrap();
    for snapshot in stops(&truth) {
        tally.snapshots += 1;
        let wave_path = case.join(snapshot["wave"].as_str().unwrap());
        let wave = Snapshot::from_json(&std::fs::read(&wave_path).unwrap()).unwrap();
        let arena = Arena::new();
        let stop = Stop::new(
            &program,
            &wave,
            wave.pc(),
            StopOptions::loaded_at(wave.load_address),
            &arena,
        );
        let mut types = TypeTable::default();
        let variables = stop.call_frame(0).unwrap().variables(&mut types).unwrap();
        for expected in snapshot["variables"].as_array().unwrap() {
            let name = expected["name"].as_str().unwrap();
            // The source refers to the innermost variable with a name.
            let found = variables
                .iter()
                .find(|value| value.variable.name.as_deref() == Some(name));
            for lane in expected["lanes"].as_array().unwrap() {
                let number = Lane(u8::try_from(lane["lane"].as_u64().unwrap()).unwrap());
                let place = format!(
                    "{} {object_key} {name} lane {}",
                    wave_path.display(),
                    number.0
                );
                match compare(expected, lane, found, number, &types, &wave, is_moved) {
                    Ok(Shown::Right) => tally.right += 1,
                    Ok(shown) if unoptimised => tally.wrong.push(format!("{place}: {shown:?}")),
                    Ok(Shown::Partly) => tally.partial += 1,
                    Ok(Shown::Ambiguous) => tally.ambiguous += 1,
                    Ok(Shown::Not) => tally.not_available += 1,
                    Err(reason) => tally.wrong.push(format!("{place}: {reason}")),
                }
            }
        }
    }
}

/// The way in which a value without error is shown.
#[derive(Debug)]
enum Shown {
    Right,
    /// Only some bits are shown, and all of these are right.
    Partly,
    Ambiguous,
    Not,
}

/// Compares the shown part of a value with the true value.
fn compare(
    expected: &Value,
    lane: &Value,
    found: Option<&VariableValue<'_>>,
    number_of_lane: Lane,
    types: &TypeTable,
    wave: &Snapshot,
    is_moved: bool,
) -> Result<Shown, String> {
    let Some(found) = found else {
        return Err("there is no such variable".into());
    };
    match found.state(number_of_lane) {
        ValueState::Ok | ValueState::Partial => {}
        // `lost.rs` compares values without a location.
        ValueState::OptimizedOut
        | ValueState::Unavailable(_)
        | ValueState::Entry
        | ValueState::LastKnown => return Ok(Shown::Not),
        ValueState::Ambiguous(_) => return Ok(Shown::Ambiguous),
        state => return Err(format!("{state:?}")),
    }
    let bits = found.bits(number_of_lane).unwrap().unwrap();
    let want = lane["bytes"].as_str().unwrap();
    let mut start = 0;
    let bytes = match expected["kind"].as_str().unwrap() {
        "points-to" => pointed_at(
            found,
            &bits.bytes,
            want.len() / 2,
            types,
            number_of_lane,
            wave,
        )?,
        "part" => {
            start = usize::try_from(expected.get("offset").map_or(0, number)).unwrap();
            bits.bytes
                .get(start..start + want.len() / 2)
                .ok_or("too short")?
                .to_vec()
        }
        _ => bits.bytes,
    };
    // If the scheduler moved an assignment past the stop, the location has the earlier value. In the case with vectors, these bytes were
    // read from neighbouring lanes.
    let moved = expected["dwarf"] == "differs"
        && is_moved
        && lane["dwarf_bytes"].as_str() == Some(&hex_bytes(&bytes));
    if moved {
        return Ok(Shown::Right);
    }
    let want_bytes = parse_hex_bytes(want).unwrap();
    let unknown = |at: &usize| {
        let bit = (start + at) as u64 * 8;
        let ranges = bits
            .undefined
            .ranges()
            .iter()
            .chain(bits.unavailable.ranges());
        let mut over = ranges.filter(|range| range.start < bit + 8 && range.end > bit);
        over.next().is_some()
    };
    let is_pointee = expected["kind"] == "points-to";
    let known: Vec<usize> = (0..want_bytes.len())
        .filter(|at| is_pointee || !unknown(at))
        .collect();
    if known.iter().all(|at| bytes.get(*at) == want_bytes.get(*at))
        && bytes.len() == want_bytes.len()
    {
        return Ok(match known.len() {
            0 => Shown::Not,
            length if length == want_bytes.len() => Shown::Right,
            _ => Shown::Partly,
        });
    }
    Err(format!("expected {want}, found {}", hex_bytes(&bytes)))
}

/// Returns the pointee of a pointer, in the address space of its type.
fn pointed_at(
    variable: &VariableValue<'_>,
    pointer: &[u8],
    length: usize,
    types: &TypeTable,
    lane: Lane,
    wave: &Snapshot,
) -> Result<Vec<u8>, String> {
    let mut ty = variable.ty;
    let space = loop {
        match &types.get(ty).kind {
            TypeKind::Typedef(target) | TypeKind::Qualified(_, target) => ty = *target,
            TypeKind::Pointer { address_space, .. } => break *address_space,
            other => return Err(format!("{other:?} is no pointer")),
        }
    };
    let address = pointer
        .iter()
        .rev()
        .fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    let storage = Storage::Memory {
        space,
        lane: LaneSelect::One(lane),
    };
    let location = Location::One(Place::new(storage, u128::from(address) * 8));
    let access = Access {
        wave,
        lane: Some(lane),
        max_bits: 1 << 20,
        meter: None,
    };
    let bits = read(&location, length as u64 * 8, &access).map_err(|error| error.to_string())?;
    if bits.is_complete() {
        Ok(bits.bytes)
    } else {
        Err(format!("{space:?}#{address:#x} is not all there"))
    }
}

fn hold(object_key: &str) {
    let mut tally = Tally::default();
    for case in wave_cases() {
        check(&case, object_key, &mut tally);
    }
    let Tally {
        snapshots,
        right,
        partial,
        ambiguous,
        not_available,
        wrong,
    } = &tally;
    println!(
        "{object_key}: {snapshots} snapshots, {right} values right, {partial} as far as they are known, \
         {ambiguous} ambiguous, {not_available} reported as not available, {} wrong",
        wrong.len()
    );
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(*right > 7000, "only {right} values were compared");
}

#[test]
fn locations_in_the_style_of_rocm_are_right_in_every_lane() {
    hold("object_rocm");
}

#[test]
fn legacy_locations_of_llvm_are_right_in_every_lane() {
    hold("object");
}

#[test]
fn by_the_letter_legacy_locations_are_not_read_as_they_are_meant() {
    let case = wave_cases()
        .into_iter()
        .find(|case| case.ends_with("calls"))
        .unwrap();
    let truth = json(&case.join("truth.json"));
    let wave = stops(&truth).next().unwrap()["wave"].as_str().unwrap();
    let vars = |strict: &[&str]| {
        let object = case.join("calls.hsaco").into_os_string();
        let wave = case.join(wave).into_os_string();
        let mut arguments = vec![
            "vars".into(),
            object,
            "--wave".into(),
            wave,
            "--format".into(),
            "json".into(),
        ];
        arguments.extend(strict.iter().map(Into::into));
        let ran = hetdwarf(arguments);
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        dwarf_tests::variables(&document)
            .iter()
            .map(|v| v["reading"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(vars(&[]).iter().all(|reading| reading == "legacy-llvm"));
    assert!(vars(&["--strict"]).iter().all(|reading| reading == "dwarf"));
}

/// A case can be moved to another folder, with only its own files.
#[test]
fn a_case_can_be_copied() {
    let case = wave_cases()
        .into_iter()
        .find(|case| case.ends_with("structs"))
        .unwrap();
    let truth = json(&case.join("truth.json"));
    let snapshot = stops(&truth).next().unwrap();
    let folder = std::env::temp_dir().join(format!("hetdwarf-case-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut copied = Vec::new();
    for name in [&truth["object"], &snapshot["wave"]] {
        let name = name.as_str().unwrap();
        std::fs::copy(case.join(name), folder.join(name)).unwrap();
        copied.push(folder.join(name).into_os_string());
    }
    let ran = hetdwarf([
        "vars".into(),
        copied[0].clone(),
        "--wave".into(),
        copied[1].clone(),
    ]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("structs.cl"), "{}", ran.out);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Evaluating all lanes at once gives the same as evaluating every lane by itself.
#[test]
fn reading_all_lanes_at_once_is_reading_each() {
    let mut compared = 0;
    for case in wave_cases() {
        let truth = json(&case.join("truth.json"));
        let data = std::fs::read(case.join(truth["object_rocm"].as_str().unwrap())).unwrap();
        let object = CodeObject::parse(&data).unwrap();
        let program = Program::load(&object).unwrap();
        for snapshot in stops(&truth).take(3) {
            let bytes = std::fs::read(case.join(snapshot["wave"].as_str().unwrap())).unwrap();
            let wave = Snapshot::from_json(&bytes).unwrap();
            let arena = Arena::new();
            let stop = Stop::new(
                &program,
                &wave,
                wave.pc(),
                StopOptions::loaded_at(wave.load_address),
                &arena,
            );
            for variable in stop
                .call_frame(0)
                .unwrap()
                .variables(&mut TypeTable::default())
                .unwrap()
            {
                for lane in hetdwarf::wave::Wave::wave_size(&wave).all_lanes() {
                    let Some(location) = variable.location(lane) else {
                        continue;
                    };
                    let all = variable.bits(lane).unwrap().unwrap();
                    let access = Access {
                        wave: &wave,
                        lane: Some(lane),
                        max_bits: 1 << 20,
                        meter: None,
                    };
                    assert_eq!(
                        read(&location, all.bit_size, &access).unwrap(),
                        all,
                        "{:?}",
                        variable.variable.name
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 1000, "only {compared}");
    // A register that no snapshot lists is unavailable, not zero.
    assert!(Register::vgpr(0, hetdwarf::arch::WaveSize::Wave32).is_some());
}
