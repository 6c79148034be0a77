//! Compares frames with the emulated waves. Only the lines are taken from DWARF.

use std::collections::BTreeSet;
use std::path::Path;

use dwarf_tests::{number, wave_cases};
use hetdwarf::arch::Lane;
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::inspect::ValueState;
use rayon::prelude::*;
use serde_json::Value;

use super::{Pair, c, list, snapshots, sum};

/// Returns the number of correct call frames, up to the point where the compiler's call frame information leads to a wrong caller.
fn sound(snapshot: &Value) -> usize {
    let wrong = &snapshot["cfi_leaves_truth"]["frame"];
    match wrong.as_u64() {
        None => list(&snapshot["frames"]).len(),
        Some(frame) => usize::try_from(frame + 1).unwrap(),
    }
}

/// The variables of a frame that have a value in a lane.
type Values = BTreeSet<(String, usize)>;

fn by_document(pair: &Pair, index: usize) -> Values {
    let document = pair.document("vars", &[&format!("--frame={index}"), "--lane=all"]);
    let mut values = Values::new();
    for variable in list(&document["frames"][0]["variables"]) {
        let lanes = list(&variable["lanes"]).iter();
        for lane in lanes.filter(|lane| lane["state"] == "ok" || lane["state"] == "partial") {
            let name = variable["name"].as_str().unwrap().to_owned();
            values.insert((
                name,
                usize::try_from(lane["lane"].as_u64().unwrap()).unwrap(),
            ));
        }
    }
    values
}

fn by_rust(pair: &Pair, index: usize) -> Values {
    pair.with_stop(|stop| {
        let frame = stop.frame(index).unwrap();
        let mut types = TypeTable::default();
        let values = frame.variables(&mut types).unwrap();
        let lanes = || frame.wave_size().all_lanes();
        let has_value = |state| matches!(state, ValueState::Ok | ValueState::Partial);
        let values = values.iter().flat_map(|value| {
            let name = super::lanes::name_of(&value.variable);
            let lanes = lanes().filter(|lane| has_value(value.state(*lane)));
            lanes.map(move |Lane(lane)| (name.clone(), lane.into()))
        });
        values.collect()
    })
}

/// No lane has a value in a frame that it never entered, in any interface.
#[test]
fn lanes_that_did_not_enter_a_frame_have_no_values_in_it() {
    let stops: Vec<_> = (wave_cases().iter())
        .flat_map(|case| snapshots(case))
        .collect();
    let counts = stops.par_iter().map(|(snapshot, pair)| {
        let (mut frames, mut absent, mut values) = (0, 0, 0);
        let name = pair.name();
        let expected = list(&snapshot["frames"]);
        let found = pair.with_stop(super::of_rust);
        let calls: Vec<_> = found
            .iter()
            .filter(|frame| frame.kind != "inlined")
            .collect();
        for (level, truth) in expected.iter().enumerate().take(sound(snapshot)) {
            let at = format!("{name} call frame {level}");
            let call = calls
                .get(level)
                .unwrap_or_else(|| panic!("{at} is missing"));
            assert_eq!(u128::from(call.pc), number(&truth["pc"]), "{at}");
            assert_eq!(call.function.as_deref(), truth["function"].as_str(), "{at}");
            let entered = number(&truth["entry_exec"]);
            let parts = found.iter().filter(|frame| frame.call_frame == call.index);
            for part in parts {
                let document = by_document(pair, part.index);
                for (interface, found) in [
                    ("JSON", &document),
                    ("Rust", &by_rust(pair, part.index)),
                    ("C", &c::values(pair, part.index)),
                ] {
                    assert_eq!(found, &document, "{at}: {interface}");
                    let wrong = found.iter().find(|(_, lane)| entered >> lane & 1 == 0);
                    assert_eq!(wrong, None, "{at}: {interface}");
                }
                values += document.len();
                frames += 1;
            }
            let size = pair.with_stop(|stop| stop.wave().wave_size().lanes());
            absent += (0..size).filter(|lane| entered >> lane & 1 == 0).count();
        }
        [frames, absent, values]
    });
    let [frames, absent, values] = sum(counts);
    println!("{frames} frames, {absent} lanes that did not enter them, {values} values");
    assert!(
        frames > 500 && absent > 1000 && values > 10_000,
        "{frames} {absent} {values}"
    );
}

/// The names of source files are damaged, or the line table is missing. Lanes are located by the machine code, without lines.
#[test]
fn lanes_do_not_need_lines() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("frames/without-names");
    std::fs::create_dir_all(&folder).unwrap();
    for (index, name) in [".debug_line_str", ".debug_line"].into_iter().enumerate() {
        let (mut frames, mut absent) = (0, 0);
        for (snapshot, pair) in snapshots(&dwarf_tests::fixture("waves/recursion")) {
            let bytes = dwarf_tests::without_section(&pair.object, name);
            let file = pair.object.file_name().unwrap().to_str().unwrap();
            let object = folder.join(format!("{index}-{file}"));
            std::fs::write(&object, bytes).unwrap();
            let wave = pair.wave.clone();
            let damaged = Pair { object, wave };
            let expected = list(&snapshot["frames"]).iter().enumerate();
            for (level, truth) in expected.take(sound(&snapshot)) {
                let at = format!("{} frame {level}", damaged.name());
                let values = by_document(&damaged, level);
                assert_eq!(values, by_document(&pair, level), "{at}");
                let entered = number(&truth["entry_exec"]);
                let wrong = values.iter().find(|(_, lane)| entered >> lane & 1 == 0);
                assert_eq!(wrong, None, "{at}");
                frames += 1;
                absent += 32 - (entered as u32).count_ones();
            }
        }
        println!("{frames} frames, {absent} lanes that did not enter them");
        assert!(frames > 50 && absent > 100, "{frames} {absent}");
    }
}
