//! The cost of a request does not grow with the number of waves: only the list of waves visits all of them. The cost is measured in
//! allocations, some of which occur in every stack walk.

use std::io::{Cursor, sink};
use std::path::Path;

use dwarf_tests::cores::{Folder, many};
use serde_json::{Value, json};

use crate::client::{Client, text};

/// Returns requests as an editor sends them.
fn script(core: &Path, requests: &[(&str, Value)]) -> Vec<u8> {
    let first = [
        ("initialize", json!({})),
        ("attach", json!({ "coreFile": text(core) })),
        ("configurationDone", json!({})),
    ];
    let mut bytes = Vec::new();
    for (seq, (command, arguments)) in (1..).zip(first.iter().chain(requests)) {
        let request =
            json!({ "seq": seq, "type": "request", "command": command, "arguments": arguments });
        let body = request.to_string();
        bytes.extend(format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes());
    }
    bytes
}

/// Returns the number of allocations of a session.
fn cost(core: &Path, requests: &[(&str, Value)]) -> u64 {
    let mut input = Cursor::new(script(core, requests));
    let counted = allocation_counter::measure(|| {
        hetdwarf_cli::debug_adapter(&mut input, &mut sink()).unwrap();
    });
    counted.count_total
}

/// Runs a session whose cost does not count, because some work is done only once in a process or a thread.
fn warm_up(core: &Path, requests: &[(&str, Value)]) {
    cost(core, requests);
}

fn core_with(waves: u32, folder: &Folder) -> std::path::PathBuf {
    let path = folder.path(&waves.to_string());
    std::fs::write(&path, many::built(waves).merged()).unwrap();
    path
}

/// Returns references to the frame of a wave, its scopes and a local variable, as in a session without earlier requests.
fn references(core: &Path, wave: u64) -> [Value; 6] {
    let mut client = Client::open(json!({ "coreFile": text(core) }));
    let frames = client.frames(&json!(wave));
    let frame = &frames[0]["id"];
    let scopes = client.body("scopes", json!({ "frameId": frame }));
    let scope = |n: usize| scopes["scopes"][n]["variablesReference"].clone();
    let locals = client.body("variables", json!({ "variablesReference": scope(0) }));
    let variable = locals["variables"][0]["variablesReference"].clone();
    [
        frame.clone(),
        scope(0),
        scope(2),
        scope(3),
        variable,
        frames[0]["instructionPointerReference"].clone(),
    ]
}

#[test]
fn a_request_costs_the_same_with_many_waves() {
    let folder = Folder::new();
    let (few, many) = (core_with(100, &folder), core_with(2000, &folder));
    // The waves of the case stop at 18 places in turn, so this wave is the same in both cores.
    let wave = 37;
    let of_few = references(&few, wave);
    assert_eq!(of_few, references(&many, wave));
    let [frame, locals, scalars, vectors, variable, pc] = of_few;
    let before = [
        ("stackTrace", json!({ "threadId": wave })),
        ("scopes", json!({ "frameId": frame })),
        ("variables", json!({ "variablesReference": locals })),
    ];
    let of_frame = |text: &str, context: &str| json!({ "expression": text, "frameId": frame, "context": context });
    for (command, arguments) in [
        ("stackTrace", json!({ "threadId": 55 })),
        ("scopes", json!({ "frameId": frame })),
        ("variables", json!({ "variablesReference": locals })),
        ("variables", json!({ "variablesReference": variable })),
        ("variables", json!({ "variablesReference": scalars })),
        ("variables", json!({ "variablesReference": vectors })),
        ("evaluate", of_frame("a + 1", "watch")),
        ("evaluate", of_frame("a", "lanes")),
        ("evaluate", of_frame("lanes", "repl")),
        ("evaluate", of_frame("lane 3", "repl")),
        ("evaluate", of_frame("wave 9", "repl")),
        (
            "completions",
            json!({ "text": "a", "column": 2, "frameId": frame }),
        ),
        ("exceptionInfo", json!({ "threadId": wave })),
        (
            "disassemble",
            json!({ "memoryReference": pc, "instructionOffset": -10, "instructionCount": 50 }),
        ),
        ("readMemory", json!({ "memoryReference": pc, "count": 256 })),
        ("modules", json!({})),
        ("loadedSources", json!({})),
        ("hetdwarf/lanes", json!({ "frameId": frame })),
        ("hetdwarf/setLane", json!({ "threadId": wave, "lane": 1 })),
        ("hetdwarf/focus", json!({ "threadId": wave })),
    ] {
        let mut requests = before.to_vec();
        requests.push((command, arguments.clone()));
        warm_up(&few, &requests);
        requests.pop();
        let without = [cost(&few, &requests), cost(&many, &requests)];
        requests.push((command, arguments.clone()));
        let with = [cost(&few, &requests), cost(&many, &requests)];
        let [of_few, of_many] = [with[0] - without[0], with[1] - without[1]];
        println!("{command} {arguments}: {of_few} {of_many}");
        assert!(
            of_many <= of_few + of_few / 10 + 16,
            "{command} {arguments}: {of_few} allocations of 100 waves, {of_many} of 2000"
        );
    }
    // The lanes of a variable share the variables of the frame, which are read once.
    let mut requests = before.to_vec();
    requests.push(("variables", json!({ "variablesReference": variable })));
    warm_up(&few, &requests);
    let without = cost(&few, &before);
    let lanes = cost(&few, &requests) - without;
    assert!(lanes < 400, "{lanes}");
    // The lists name every wave, but unwind none.
    for command in ["threads", "hetdwarf/groups"] {
        warm_up(&few, &[(command, json!({}))]);
        let listed = cost(&many, &[(command, json!({}))]) - cost(&many, &[]);
        println!("{command}: {listed}");
        assert!(listed < 2000 * 16, "{command}: {listed} allocations");
    }
}

/// Opening a core unwinds each wave once, so twice as many waves cost at most twice as much.
#[test]
fn opening_walks_each_wave_once() {
    let folder = Folder::new();
    warm_up(&core_with(10, &folder), &[]);
    let [one, two] = [500, 1000].map(|waves| cost(&core_with(waves, &folder), &[]));
    println!("{one} {two}");
    assert!(two <= one * 2, "{one} {two}");
    assert!(two - one < 500 * 200, "{} for a wave", (two - one) / 500);
}

/// A scope reads the variables of its frame once, with or without a focused lane. Later requests about them read none.
#[test]
fn the_variables_of_a_frame_are_read_once() {
    let folder = Folder::new();
    let core = core_with(100, &folder);
    let [frame, locals, _, _, variable, _] = references(&core, 37);
    let requests = [
        ("stackTrace", json!({ "threadId": 37 })),
        ("scopes", json!({ "frameId": frame })),
        ("hetdwarf/setLane", json!({ "threadId": 37, "lane": 1 })),
        ("variables", json!({ "variablesReference": locals })),
        ("variables", json!({ "variablesReference": locals })),
        (
            "completions",
            json!({ "text": "a", "column": 2, "frameId": frame }),
        ),
    ];
    warm_up(&core, &requests);
    let costs: Vec<u64> = (0..=requests.len())
        .map(|count| cost(&core, &requests[..count]))
        .collect();
    let of_each: Vec<u64> = costs.windows(2).map(|pair| pair[1] - pair[0]).collect();
    println!("{of_each:?} {variable}");
    assert!(of_each[4] < of_each[3] / 2, "{of_each:?}");
    assert!(of_each[5] < of_each[3] / 4, "{of_each:?}");
}

/// The lanes of an expression share one evaluation, so all lanes of a wave cost little more than one.
#[test]
fn the_lanes_of_a_page_are_evaluated_once() {
    let folder = Folder::new();
    let core = core_with(100, &folder);
    let mut client = Client::open(json!({ "coreFile": text(&core) }));
    let frame = client.frames(&json!(37))[0]["id"].clone();
    let evaluate = json!({ "expression": "a + 1", "frameId": frame, "context": "watch" });
    let reference = client.body("evaluate", evaluate.clone())["variablesReference"].clone();
    let page = |count: u64| {
        let arguments = json!({ "variablesReference": reference, "start": 0, "count": count });
        let requests = [
            ("stackTrace", json!({ "threadId": 37 })),
            ("evaluate", evaluate.clone()),
            ("variables", arguments),
        ];
        warm_up(&core, &requests);
        cost(&core, &requests) - cost(&core, &requests[..2])
    };
    let (one, all) = (page(1), page(32));
    println!("one lane: {one} allocations, 32 lanes: {all}");
    assert!(all - one < 31 * 20, "one lane: {one}, 32 lanes: {all}");
}

/// If there are more waves than an editor can list, the list has the stopped waves, a wave of each group of the others, and the waves that
/// the user selected.
#[test]
fn the_rest_of_many_waves_is_listed_on_request() {
    let waves = 20_010;
    let wave = |number: usize| {
        let state = match number {
            7_000 | 15_000 => "stopped, reason: MEMORY_VIOLATION",
            _ => "running",
        };
        // The running waves are in two groups.
        let pc = 0x1000 + 4 * (number / 10_000).min(1);
        format!("wave_{number}: pc={pc:#x} ({state})\n\nsystem registers:\n  exec: ffffffff\n\n")
    };
    let folder = Folder::new();
    let log = folder.path("log");
    let text_of_all: String = (1..=waves).map(wave).collect();
    std::fs::write(&log, text_of_all).unwrap();
    let mut client = Client::open(json!({ "log": text(&log) }));
    let threads = |client: &mut Client| -> Vec<u64> {
        let listed = client.body("threads", json!({}));
        let listed = listed["threads"].as_array().unwrap();
        listed
            .iter()
            .map(|one| one["id"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(threads(&mut client), [7_000, 15_000, 1, 10_000]);
    // The groups contain all waves.
    let groups = client.body("hetdwarf/groups", json!({}));
    let groups = groups["groups"].as_array().unwrap().iter();
    let listed: usize = groups
        .map(|one| one["waves"].as_array().unwrap().len())
        .sum();
    assert_eq!(listed, waves);
    client.body("hetdwarf/focus", json!({ "threadId": 12_345 }));
    assert_eq!(threads(&mut client), [7_000, 15_000, 1, 10_000, 12_345]);
    assert_eq!(client.frames(&json!(20_010)).len(), 1);
    // These waves do not exist.
    for wrong in [0, -1, 20_011] {
        let answer = client.ask("hetdwarf/focus", json!({ "threadId": wrong }));
        assert_eq!(answer["success"], false, "{wrong}");
    }
}
