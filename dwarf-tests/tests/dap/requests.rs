//! Every request gets an answer.

use dwarf_tests::cores::Folder;
use serde_json::json;

use crate::client::{Client, demo, demo_core, text};

/// The requests of the protocol.
const REQUESTS: [&str; 46] = [
    "attach",
    "breakpointLocations",
    "cancel",
    "completions",
    "configurationDone",
    "continue",
    "dataBreakpointInfo",
    "disassemble",
    "evaluate",
    "exceptionInfo",
    "goto",
    "gotoTargets",
    "initialize",
    "launch",
    "loadedSources",
    "locations",
    "modules",
    "next",
    "pause",
    "readMemory",
    "restart",
    "restartFrame",
    "reverseContinue",
    "runInTerminal",
    "scopes",
    "setBreakpoints",
    "setDataBreakpoints",
    "setExceptionBreakpoints",
    "setExpression",
    "setFunctionBreakpoints",
    "setInstructionBreakpoints",
    "setVariable",
    "source",
    "stackTrace",
    "startDebugging",
    "stepBack",
    "stepIn",
    "stepInTargets",
    "stepOut",
    "terminateThreads",
    "threads",
    "variables",
    "writeMemory",
    "hetdwarf/setLane",
    "hetdwarf/focus",
    "hetdwarf/lanes",
];

/// Each request is answered exactly once, before and after a core is opened, regardless of its arguments.
#[test]
fn every_request_has_one_answer() {
    let core = demo_core();
    let arguments = [
        json!(null),
        json!({}),
        json!([]),
        json!("text"),
        json!({ "threadId": 3, "frameId": 1, "variablesReference": 2, "expression": "1", "text": "a", "column": 1, "memoryReference": "0x10", "count": 1, "instructionCount": 1, "breakpoints": [{ "line": 1 }] }),
        json!({ "threadId": -1, "frameId": -1, "variablesReference": -1, "expression": "(((", "text": "é", "column": -5, "memoryReference": "x", "count": -1, "instructionCount": i64::MAX, "levels": -1, "start": -1 }),
        json!({ "threadId": "3", "frameId": {}, "variablesReference": [1], "expression": 5, "text": 1, "column": "a", "memoryReference": 1, "count": 1.5, "breakpoints": 7, "coreFile": 5 }),
        json!({ "threadId": i64::MAX, "frameId": i64::MAX, "variablesReference": i64::MAX, "coreFile": "/nonexistent" }),
    ];
    let mut client = Client::new();
    for arguments in &arguments {
        for command in REQUESTS {
            client.ask(command, arguments.clone());
        }
    }
    client.body("attach", json!({ "coreFile": core }));
    for arguments in &arguments {
        for command in REQUESTS {
            client.ask(command, arguments.clone());
        }
    }
    let frames = client.frames(&json!(3));
    assert_eq!(frames.len(), 4);
    client.body("disconnect", json!({}));
}

/// Breakpoints are refused with a reason, but an editor without any may say so.
#[test]
fn breakpoints_are_refused() {
    let mut client = Client::new();
    client.body("attach", json!({ "coreFile": demo_core() }));
    let source = json!({ "path": "/k.cl" });
    let none = client.body(
        "setBreakpoints",
        json!({ "source": source, "breakpoints": [] }),
    );
    assert_eq!(none, json!({ "breakpoints": [] }));
    let one = json!({ "source": source, "breakpoints": [{ "line": 3 }] });
    let answer = client.ask("setBreakpoints", one);
    assert_eq!(answer["success"], false, "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("cannot run"), "{message}");
    client.body("disconnect", json!({}));
}

/// Malformed messages are reported, and the session continues.
#[test]
fn malformed_messages_end_nothing() {
    let mut client = Client::new();
    for bytes in [
        &b"Content-Length: 3\r\n\r\nabc"[..],
        b"Content-Length: 2\r\n\r\n{}",
        b"Content-Length: x\r\n\r\n",
        b"Nothing: 1\r\n\r\n",
        b"Content-Length: 36\r\nMore: 1\r\n\r\n{\"type\":\"event\",\"seq\":1,\"event\":\"a\"}",
        b"Content-Length: 26\r\n\r\n{\"type\":\"request\",\"seq\":1}",
    ] {
        client.send(bytes);
        let event = client.receive().unwrap();
        assert_eq!(event["event"], "output", "{event}");
    }
    client.body("initialize", json!({}));
    // Blank lines between messages are ignored.
    client.send(b"\r\n\r\n");
    client.body("initialize", json!({}));
    // The next message is not taken as part of a message that is too long.
    let long = (16 << 20) + 1;
    client.send(format!("Content-Length: {long}\r\n\r\n").as_bytes());
    client.send(&vec![b' '; long]);
    let event = client.receive().unwrap();
    let text = event["body"]["output"].as_str().unwrap();
    assert!(text.contains("too long"), "{text}");
    client.body("initialize", json!({}));
    // The input ends in the middle of a message.
    client.send(b"Content-Length: 1000\r\n\r\n{\"type\":");
}

/// A log of the debug agent is opened like a core.
#[test]
fn a_log_is_opened() {
    let folder = Folder::new();
    let log = folder.path("log");
    let wave = "wave_1: pc=0x7f4000001600 (kernel_code_entry=0x7f4000001900 <k>) (stopped, reason: MEMORY_VIOLATION)\n\n\
                system registers:\n  exec: ffffffff\n";
    std::fs::write(&log, wave).unwrap();
    // The folder contains a core next to the code object.
    let folder = text(&demo());
    let mut client = Client::open(json!({ "log": text(&log), "objectPath": [folder] }));
    assert_eq!(client.stopped()["description"], "memory violation");
    let frames = client.frames(&json!(1));
    assert_eq!(frames[0]["instructionPointerReference"], "0x7f4000001600");
    let nothing = client.ask("scopes", json!({ "frameId": frames[0]["id"] }));
    assert_eq!(nothing["success"], true);
}

/// The wave of the verdict comes first, before other faulted waves. Then comes one wave of each group of running waves.
#[test]
fn the_wave_at_fault_is_the_first() {
    let folder = Folder::new();
    let log = folder.path("log");
    let waves = [
        (0x1000, "running"),
        (0x1000, "stopped, reason: ASSERT_TRAP"),
        (0x1000, "stopped, reason: MEMORY_VIOLATION"),
        (0x1000, "running"),
        (0x1004, "running"),
    ];
    let texts = (1..).zip(waves).map(|(number, (pc, state))| {
        format!("wave_{number}: pc={pc:#x} ({state})\n\nsystem registers:\n  exec: ffffffff\n\n")
    });
    std::fs::write(&log, texts.collect::<String>()).unwrap();
    let mut client = Client::open(json!({ "log": text(&log) }));
    assert_eq!(client.stopped()["threadId"], 3);
    let threads = client.body("threads", json!({}));
    let threads = threads["threads"].as_array().unwrap().iter();
    let order: Vec<u64> = threads.map(|one| one["id"].as_u64().unwrap()).collect();
    assert_eq!(order, [3, 2, 1, 5, 4]);
}
