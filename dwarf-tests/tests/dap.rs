//! `hetdwarf dap`, asked by a client that speaks the Debug Adapter Protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::thread::JoinHandle;

use dwarf_tests::cores::Folder;
use dwarf_tests::{fixture, hetdwarf, json, wave_cases};
use serde_json::{Value, json};

/// An editor.
struct Client {
    output: Option<std::io::PipeWriter>,
    input: BufReader<std::io::PipeReader>,
    seq: i64,
    events: Vec<Value>,
    adapter: Option<JoinHandle<std::io::Result<()>>>,
}

impl Client {
    fn new() -> Client {
        let (to_read, output) = std::io::pipe().unwrap();
        let (input, mut to_write) = std::io::pipe().unwrap();
        let adapter = std::thread::spawn(move || {
            hetdwarf_cli::debug_adapter(&mut BufReader::new(to_read), &mut to_write)
        });
        Client {
            output: Some(output),
            input: BufReader::new(input),
            seq: 0,
            events: Vec::new(),
            adapter: Some(adapter),
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.output.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The next message.
    fn receive(&mut self) -> Option<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.input.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse().unwrap(),
                Some(other) => panic!("{other:?}"),
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.input.read_exact(&mut body).unwrap();
        Some(serde_json::from_slice(&body).unwrap())
    }

    /// The response to a request: there is one, and it is for this request.
    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        self.seq += 1;
        let seq = self.seq;
        let request =
            json!({ "seq": seq, "type": "request", "command": command, "arguments": arguments });
        let text = request.to_string();
        self.send(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
        loop {
            let message = self
                .receive()
                .unwrap_or_else(|| panic!("{command}: no answer"));
            if message["type"] == "event" {
                self.events.push(message);
                continue;
            }
            assert_eq!(message["type"], "response");
            assert_eq!(message["request_seq"], seq);
            assert_eq!(message["command"], command);
            return message;
        }
    }

    /// The body of a response to a request that succeeds.
    fn body(&mut self, command: &str, arguments: Value) -> Value {
        let response = self.ask(command, arguments.clone());
        assert_eq!(
            response["success"], true,
            "{command} {arguments}: {response}"
        );
        response["body"].clone()
    }

    /// Opens something, as VS Code does.
    fn open(arguments: Value) -> Client {
        let mut client = Client::new();
        client.body("initialize", json!({ "adapterID": "hetdwarf" }));
        client.body("attach", arguments);
        client.body("configurationDone", json!({}));
        // The event comes after the response.
        client.body("threads", json!({}));
        assert!(
            client
                .events
                .iter()
                .any(|event| event["event"] == "initialized")
        );
        client
    }

    fn stopped(&self) -> &Value {
        let stopped = self.events.iter().find(|event| event["event"] == "stopped");
        &stopped.unwrap()["body"]
    }

    fn frames(&mut self, wave: &Value) -> Vec<Value> {
        let body = self.body("stackTrace", json!({ "threadId": wave }));
        body["stackFrames"].as_array().unwrap().clone()
    }

    fn children(&mut self, of: &Value) -> Vec<Value> {
        let arguments = json!({ "variablesReference": of["variablesReference"] });
        let body = self.body("variables", arguments);
        body["variables"].as_array().unwrap().clone()
    }

    /// The variables of a scope of a frame.
    fn scope(&mut self, frame: &Value, name: &str) -> Vec<Value> {
        let scopes = self.body("scopes", json!({ "frameId": frame["id"] }));
        let scopes = scopes["scopes"].as_array().unwrap();
        let scope = scopes
            .iter()
            .find(|scope| scope["name"] == name)
            .unwrap()
            .clone();
        self.children(&scope)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.output.take());
        let ended = self.adapter.take().unwrap().join();
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

fn text(path: &std::path::Path) -> String {
    path.display().to_string()
}

/// What `vars` prints of a lane, as a line.
fn expected(lane: &Value) -> String {
    let value = lane["value"].as_str();
    let Some(value) = value else {
        return String::new();
    };
    let recovered = match lane["state"].as_str().unwrap() {
        "entry" => " (at entry)".to_owned(),
        "last-known" => match lane["as_of"]["line"].as_u64() {
            Some(line) => format!(" (as of line {line})"),
            None => return value.to_owned(),
        },
        _ => String::new(),
    };
    format!("{value}{recovered}")
}

/// The lanes of every variable of every frame of every wave of the fixtures have the values that `vars` has, which other tests hold against
/// the truth.
#[test]
fn lanes_have_the_values_of_vars() {
    let (mut waves, mut lanes) = (0, 0);
    for case in wave_cases() {
        let truth = json(&case.join("truth.json"));
        let object = text(&case.join(truth["object"].as_str().unwrap()));
        for stop in truth["snapshots"].as_array().unwrap().iter().step_by(3) {
            let wave = text(&case.join(stop["wave"].as_str().unwrap()));
            let arguments = [
                "vars", &object, "--wave", &wave, "--frame", "all", "--format", "json",
            ];
            let vars: Value = serde_json::from_str(&hetdwarf(arguments).out).unwrap();
            let mut client = Client::open(json!({ "waveFile": wave, "object": [object] }));
            let frames = client.frames(&json!(1));
            waves += 1;
            for of_vars in vars["frames"].as_array().unwrap() {
                let index = of_vars["frame"]["index"].as_u64().unwrap() as usize;
                let frame = &frames[index];
                assert_eq!(
                    of_vars["frame"]["line"].as_u64().unwrap_or(0),
                    frame["line"]
                );
                let shown = client.scope(frame, "Locals");
                let variables = of_vars["variables"].as_array().unwrap().iter();
                let local: Vec<&Value> = variables.filter(|one| one["kind"] != "global").collect();
                assert_eq!(shown.len(), local.len(), "{wave} {index}");
                for (shown, variable) in shown.iter().zip(local) {
                    assert_eq!(shown["type"], variable["type"]);
                    let children = client.children(shown);
                    let of_lanes = variable["lanes"].as_array().unwrap();
                    assert_eq!(children.len(), of_lanes.len());
                    for (child, lane) in children.iter().zip(of_lanes) {
                        let value = child["value"].as_str().unwrap();
                        let expected = expected(lane);
                        assert!(
                            value.starts_with(&expected),
                            "{wave}: {value}, not {expected}"
                        );
                        lanes += 1;
                    }
                }
            }
        }
    }
    println!("{waves} waves, {lanes} lanes");
    assert!(waves > 40 && lanes > 10_000);
}

/// By hand, from the demo's emulator: `a` is the lane, `x` is 99 in lane 3 and -3 in lane 1; EXEC has lanes 1 to 25 that are odd.
#[test]
fn a_core_is_opened_as_editors_do() {
    let core = dwarf_tests::package().join("../examples/demo/demo.core");
    let source = text(&dwarf_tests::package().join("../examples/demo"));
    let mut client = Client::open(json!({ "coreFile": text(&core), "sourceDir": [source] }));
    let stopped = client.stopped().clone();
    assert_eq!(stopped["threadId"], 3);
    assert_eq!(stopped["reason"], "exception");
    let threads = client.body("threads", json!({}));
    let threads = threads["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 8);
    assert_eq!(
        threads[0]["name"],
        "wave 1:381:(2,0,0)/0 k  memory violation"
    );
    let frames = client.frames(&json!(3));
    let names: Vec<&str> = frames
        .iter()
        .map(|frame| frame["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["leaf", "mid", "k", "k"]);
    assert_eq!(frames[0]["line"], 10);
    let page = client.body(
        "stackTrace",
        json!({ "threadId": 3, "startFrame": 1, "levels": 2 }),
    );
    assert_eq!(page["stackFrames"].as_array().unwrap().len(), 2);
    assert_eq!(page["totalFrames"], 4);
    let locals = client.scope(&frames[0], "Locals");
    let find = |name: &str| {
        locals
            .iter()
            .find(|one| one["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(find("x")["value"], "2 values: -3 ×7, 99 ×6");
    let lanes = client.children(&find("x"));
    assert_eq!(lanes[3]["value"], "99");
    let page =
        json!({ "variablesReference": find("a")["variablesReference"], "start": 3, "count": 2 });
    let page = client.body("variables", page);
    assert_eq!(page["variables"][0]["value"], "3");
    assert_eq!(page["variables"].as_array().unwrap().len(), 2);
    // A lane in focus.
    client.body("hetdwarf/setLane", json!({ "threadId": 3, "lane": 3 }));
    let locals = client.scope(&frames[0], "Locals");
    let a = locals.iter().find(|one| one["name"] == "a").unwrap();
    assert_eq!(
        (&a["value"], &a["variablesReference"]),
        (&json!("3"), &json!(0))
    );
    let sum = json!({ "expression": "a + x", "frameId": frames[0]["id"], "context": "watch" });
    let found = client.body("evaluate", sum.clone());
    assert_eq!(
        found,
        json!({ "result": "102", "type": "int", "variablesReference": 0 })
    );
    let mut watch = sum.clone();
    watch["context"] = "lanes".into();
    let found = client.body("evaluate", watch);
    assert_eq!(found["indexedVariables"], 32);
    client.body("hetdwarf/setLane", json!({ "threadId": 3 }));
    let of_all = client.body("evaluate", sum);
    assert!(
        of_all["result"]
            .as_str()
            .unwrap()
            .starts_with("13 values: "),
        "{of_all}"
    );
    let lanes = client.children(&of_all);
    assert_eq!(lanes[3]["value"], "102");
    let wrong = client.ask(
        "evaluate",
        json!({ "expression": "nosuch", "frameId": frames[0]["id"] }),
    );
    assert_eq!(wrong["success"], false);
    // Editors show it where the expression is, and need no window for it.
    assert_eq!(wrong["body"]["error"]["showUser"], false);
    // Where lanes are: 27 to 31 never entered `mid`.
    let lanes = client.body("hetdwarf/lanes", json!({ "frameId": frames[0]["id"] }));
    assert_eq!(lanes["lanes"][1]["state"], "active");
    let other = &lanes["lanes"][30];
    assert_eq!(other["state"], "elsewhere");
    assert_eq!((&other["line"], &other["frame"]), (&json!(41), &json!(3)));
    assert!(
        other["source"]["path"]
            .as_str()
            .unwrap()
            .ends_with("demo/calls-O2.cl"),
        "{other}"
    );
    // Commands of the console.
    client.events.clear();
    let command = |text: &str| json!({ "expression": text, "context": "repl" });
    assert_eq!(
        client.body("evaluate", command("lane 5"))["result"],
        "lane 5 of wave 3"
    );
    assert_eq!(
        client.body("evaluate", command("wave 2"))["result"],
        "wave 1:381:(1,0,0)/0 k  running"
    );
    client.body("threads", json!({}));
    let events: Vec<&Value> = client.events.iter().map(|event| &event["event"]).collect();
    assert_eq!(events, ["invalidated", "stopped"]);
    assert_eq!(client.events[1]["body"]["threadId"], 2);
    let info = client.body("exceptionInfo", json!({ "threadId": 3 }));
    assert_eq!(info["exceptionId"], "memory-violation");
    let modules = client.body("modules", json!({}));
    assert_eq!(modules["totalModules"], 1);
    // A process that does not run.
    let refused = client.ask("continue", json!({ "threadId": 3 }));
    assert_eq!(refused["success"], false);
    client.body("disconnect", json!({}));
}

/// The text of llvm-objdump-22 at 0x1630 of the demo's object, and memory as the core has it.
#[test]
fn instructions_and_memory_are_read() {
    let core = dwarf_tests::package().join("../examples/demo/demo.core");
    let mut client = Client::open(json!({ "coreFile": text(&core) }));
    let frames = client.frames(&json!(3));
    let pc = frames[0]["instructionPointerReference"].clone();
    let listed = client.body(
        "disassemble",
        json!({ "memoryReference": pc, "instructionOffset": -2, "instructionCount": 5 }),
    );
    let listed = listed["instructions"].as_array().unwrap();
    assert_eq!(listed.len(), 5);
    assert_eq!(listed[2]["address"], pc);
    let addresses: Vec<u64> = listed
        .iter()
        .map(|one| dwarf_tests::number(&one["address"]) as u64)
        .collect();
    assert!(addresses.is_sorted());
    for one in listed {
        let bytes = one["instructionBytes"].as_str().unwrap().split(' ').count();
        assert!(matches!(bytes, 4 | 8 | 12), "{one}");
    }
    // The first dwords of the code, as the object has them, through the memory of the process.
    let memory = client.body("readMemory", json!({ "memoryReference": pc, "count": 4 }));
    let missing = client.body(
        "readMemory",
        json!({ "memoryReference": "0x10", "count": 4 }),
    );
    assert_eq!(missing["unreadableBytes"], 4);
    assert!(memory["address"] == pc);
    for wrong in ["", "10", "nosuch:0x10", "local:1:2:0x10", "0xzz"] {
        let answer = client.ask(
            "readMemory",
            json!({ "memoryReference": wrong, "count": 4 }),
        );
        assert_eq!(answer["success"], false, "{wrong}");
    }
}

/// Structures and arrays open part by part: those of `vars --children`.
#[test]
fn parts_of_values_are_those_of_vars() {
    let case = fixture("waves").parent().unwrap().join("waves/lds");
    let truth = json(&case.join("truth.json"));
    let object = text(&case.join(truth["object"].as_str().unwrap()));
    let mut compared = 0;
    for stop in truth["snapshots"].as_array().unwrap() {
        let wave = text(&case.join(stop["wave"].as_str().unwrap()));
        let arguments = [
            "vars",
            &object,
            "--wave",
            &wave,
            "--children",
            "2",
            "--format",
            "json",
        ];
        let vars: Value = serde_json::from_str(&hetdwarf(arguments).out).unwrap();
        let mut client = Client::open(json!({ "waveFile": wave, "object": object }));
        let frames = client.frames(&json!(1));
        let locals = client.scope(&frames[0], "Locals");
        let variables = vars["frames"][0]["variables"].as_array().unwrap().iter();
        let variables = variables.filter(|one| one["kind"] != "global");
        for (shown, variable) in locals.iter().zip(variables) {
            let lanes = client.children(shown);
            for (lane, of_vars) in lanes
                .iter()
                .zip(variable["lanes"].as_array().unwrap())
                .step_by(7)
            {
                let none = Vec::new();
                let expected = of_vars["children"].as_array().unwrap_or(&none);
                if lane["variablesReference"] == 0 {
                    assert!(expected.is_empty(), "{shown}");
                    continue;
                }
                let parts = client.children(lane);
                for (part, expected) in parts.iter().zip(expected) {
                    assert_eq!(part["name"], expected["name"]);
                    assert_eq!(part["type"], expected["type"]);
                    if expected["value"].is_string() {
                        assert_eq!(part["value"], expected["value"]);
                    }
                    compared += 1;
                }
                assert!(parts.len() >= expected.len());
            }
        }
    }
    println!("{compared} parts");
    assert!(compared > 100);
}

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

/// Each request is answered once, before something is open and after it, whatever its arguments are.
#[test]
fn every_request_has_one_answer() {
    let core = text(&dwarf_tests::package().join("../examples/demo/demo.core"));
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

/// Bytes that are no message are said to be none, and the session goes on.
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
    // It ends in the middle of a message.
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
    let mut client = Client::open(json!({ "log": text(&log) }));
    assert_eq!(client.stopped()["description"], "memory violation");
    let frames = client.frames(&json!(1));
    assert_eq!(frames[0]["instructionPointerReference"], "0x7f4000001600");
    let nothing = client.ask("scopes", json!({ "frameId": frames[0]["id"] }));
    assert_eq!(nothing["success"], true);
}
