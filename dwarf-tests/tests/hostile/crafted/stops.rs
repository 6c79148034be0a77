//! Tests stops with many variables and calls, each of which is within its own limits.

use dwarf_tests::probe;
use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;

use super::entries::*;
use super::frames::debug_frame;
use crate::elf::{Attribute as A, Entry, code_object, debug_info};
use crate::guard::Guard;

/// Returns files with many variables and calls, each of which is within its own limits, and true if there are variables at 0x1010.
pub fn stop_files(scale: usize) -> Vec<(&'static str, Vec<u8>, bool)> {
    // These expressions never end. The second one first asks for the lane.
    let (endless, endless_by_lane) = ([0x2f, 0xfd, 0xff], [0xe9, 0x03, 0x2f, 0xfd, 0xff]);
    let function = |attributes| code(SUBPROGRAM, 1, attributes);
    let variable = |location| {
        let attributes = vec![
            (NAME, A::name("v")),
            (TYPE, A::Entry(1)),
            (LOCATION, location),
        ];
        entry(2, VARIABLE, attributes)
    };
    let stop = |function: Entry, variables: Vec<Entry>| {
        let mut entries = vec![code(COMPILE_UNIT, 0, vec![]), int(1), function];
        entries.extend(variables);
        entries
    };
    let frame_bases = |base: &[u8]| {
        let function = function(vec![(FRAME_BASE, A::expression(base))]);
        let fbreg = A::expression(&[0x91, 0]);
        stop(function, vec![variable(fbreg); 50 * scale])
    };
    let locations = |location: &[u8]| {
        stop(
            function(vec![]),
            vec![variable(A::expression(location)); 50 * scale],
        )
    };
    // Variable N is entry 3 + N. Its location calls the next variable.
    let count = 3_000 * scale;
    let calls = (0..count).map(|n| variable(A::Call((3 + n + 1).min(2 + count))));
    let nested = |tag, origin: Option<usize>, count: usize| {
        let origin = origin.map(|origin| (ORIGIN, A::Entry(origin)));
        let one = |depth| code(tag, 2 + depth, origin.clone().into_iter().collect());
        stop(
            function(vec![(NAME, A::name("f"))]),
            (0..count).map(one).collect(),
        )
    };
    let origins = (0..200 * scale).map(|n| code(INLINED, 2 + n, vec![(ORIGIN, A::Entry(2 + n))]));
    let arrays = {
        let mut entries = vec![code(COMPILE_UNIT, 0, vec![]), int(1)];
        entries.push(entry(1, ARRAY, vec![(TYPE, A::Entry(1))]));
        entries.push(entry(2, SUBRANGE, vec![(UPPER_BOUND, A::number(1 << 40))]));
        entries.push(function(vec![]));
        // Address 0 of private memory differs for each lane.
        let location = A::expression(&[0x30, 0x35, 0xe9, 0x02]);
        let attributes = vec![
            (NAME, A::name("v")),
            (TYPE, A::Entry(2)),
            (LOCATION, location),
        ];
        entries.extend(vec![entry(2, VARIABLE, attributes); 20 * scale]);
        entries
    };
    let cases = [
        ("frame bases without end", frame_bases(&endless), true),
        (
            "frame bases without end in each lane",
            frame_bases(&endless_by_lane),
            true,
        ),
        ("locations without end", locations(&endless), true),
        (
            "locations without end in each lane",
            locations(&endless_by_lane),
            true,
        ),
        (
            "variables that call the next",
            stop(function(vec![]), calls.collect()),
            true,
        ),
        (
            "inlined calls of nothing",
            nested(INLINED, None, 6_000 * scale),
            false,
        ),
        (
            "inlined calls of the function",
            nested(INLINED, Some(2), 200 * scale),
            false,
        ),
        (
            "inlined calls of each other",
            stop(function(vec![]), origins.collect()),
            false,
        ),
        ("blocks", nested(BLOCK, None, 6_000 * scale), false),
        ("large arrays in every lane", arrays, true),
    ];
    // The stack has as many frames as are unwound, all in the same function.
    let rules = [0x16, 33, 3, 0x23, 16, 0x96, 0x08, 16];
    let frames = debug_frame(&[0x0c, 33, 0], &rules);
    let file = |(name, entries, has_variables): (_, Vec<Entry>, _)| {
        let (abbreviations, info) = debug_info(&entries);
        let sections = [
            (".text", &[0; 64][..]),
            (".debug_abbrev", &abbreviations),
            (".debug_info", &info),
            (".debug_frame", &frames),
        ];
        (name, code_object(&sections), has_variables)
    };
    cases.into_iter().map(file).collect()
}

pub fn whole_stops(scale: usize) {
    let mut guard = Guard::new();
    for (name, file, has_variables) in stop_files(scale) {
        guard.run(name, || {
            let object = CodeObject::parse(&file).unwrap();
            let program = Program::load(&object).unwrap();
            let found = probe::stop(&program, 0x1010);
            assert_eq!(found > 0, has_variables, "{name}: {found} variables");
        });
        command(name, &file, &mut guard);
    }
    guard.finish("whole stops made to do harm");
}

/// Returns a wave that stopped at 0x1010, inside a function of these files.
pub fn stopped_wave() -> String {
    let memory = "00".repeat(4096);
    format!(
        r#"{{"format": "hetdwarf-wave/1", "target": "gfx90a", "wave_size": 64, "pc": "0x1010", "registers": {{"exec": "0x3"}},
            "memory": [{{"space": "none", "address": "0x1000", "bytes": "{memory}"}}]}}"#
    )
}

/// Runs `hetdwarf vars` and `unwind` on a file.
pub fn command(name: &str, file: &[u8], guard: &mut Guard) {
    let folder = std::env::temp_dir().join(format!(
        "hetdwarf-hostile-{}-{}",
        std::process::id(),
        name.replace([' ', '^'], "-")
    ));
    std::fs::create_dir_all(&folder).unwrap();
    let (object, wave) = (folder.join("object.hsaco"), folder.join("wave.json"));
    std::fs::write(&object, file).unwrap();
    std::fs::write(&wave, stopped_wave()).unwrap();
    for subcommand in ["vars", "unwind"] {
        for format in ["text", "json"] {
            let arguments = [
                subcommand.as_ref(),
                object.as_os_str(),
                "--wave".as_ref(),
                wave.as_os_str(),
                "--format".as_ref(),
                format.as_ref(),
            ];
            let what = format!("{name}: {subcommand} --format {format}");
            guard.run(&what, || {
                let ran = dwarf_tests::hetdwarf(arguments);
                let length = ran.out.len();
                assert!(length < 1 << 28, "{what}: {length} bytes");
                assert!(ran.status <= 2);
            });
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn whole_stops_made_to_do_harm() {
    whole_stops(1);
}
