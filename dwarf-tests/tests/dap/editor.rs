//! Opens, inspects and closes a core, as editors do.

use dwarf_tests::cores::Folder;
use dwarf_tests::hetdwarf;
use serde_json::{Value, json};

use crate::client::{Client, demo, demo_core, text};

/// The values are worked out by hand from the demo's emulator: `a` is the lane, and `x` is 99 in lane 3 and -3 in lane 1. EXEC has the odd
/// lanes from 1 to 25.
#[test]
fn a_core_is_opened_as_editors_do() {
    let core = demo_core();
    let source = text(&demo());
    let mut client = Client::open(json!({ "coreFile": core, "sourceDir": [source] }));
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
    assert_eq!(page["stackFrames"][0], frames[1]);
    assert_eq!(page["totalFrames"], 4);
    // References stay the same in later requests.
    let scopes = json!({ "frameId": frames[0]["id"] });
    let of_frame = client.body("scopes", scopes.clone());
    assert_eq!(client.body("scopes", scopes), of_frame);
    // A count of 0 requests all frames.
    let all = client.body("stackTrace", json!({ "threadId": 3, "levels": 0 }));
    assert_eq!(all["stackFrames"].as_array().unwrap(), &frames);
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
    // One lane gets the focus.
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
    // The most frequent value comes first, although lane 1 has the other value.
    let found = client.body(
        "evaluate",
        json!({ "expression": "a > 1", "frameId": frames[0]["id"] }),
    );
    assert_eq!(found["result"], "2 values: 1 ×12, 0 ×1");
    let wrong = client.ask(
        "evaluate",
        json!({ "expression": "nosuch", "frameId": frames[0]["id"] }),
    );
    assert_eq!(wrong["success"], false);
    // Editors show the error next to the expression, so no message is needed.
    assert_eq!(wrong["body"]["error"]["showUser"], false);
    // The lanes 27 to 31 never entered `mid`.
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
    // A request that needs a running process is refused.
    let refused = client.ask("continue", json!({ "threadId": 3 }));
    assert_eq!(refused["success"], false);
    client.body("disconnect", json!({}));
}

/// Each wave has the same stop reason as in `hetdwarf core`, with the likeliest faulting access.
#[test]
fn exceptions_are_those_of_the_core() {
    let folder = Folder::of("gfx1100");
    let core = text(&folder.path("merged.core"));
    let document = hetdwarf(["core", &core, "--format", "json"]).out;
    let document: Value = serde_json::from_str(&document).unwrap();
    let mut client = Client::open(json!({ "coreFile": core }));
    let threads = client.body("threads", json!({}));
    // Faulted waves come first, then other stopped waves, then running waves.
    let rank = |thread: &Value| {
        let index = thread["id"].as_u64().unwrap() as usize;
        let wave = &document["waves"][index - 1];
        match (wave["state"].as_str().unwrap(), &wave["stop"][0]) {
            ("stopped", Value::String(_)) => 0,
            ("stopped", _) => 1,
            _ => 2,
        }
    };
    let ranks: Vec<usize> = threads["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(rank)
        .collect();
    assert!(ranks.is_sorted() && ranks.contains(&1), "{ranks:?}");
    let (mut faulted, mut running) = (0, 0);
    for wave in document["waves"].as_array().unwrap() {
        let info = client.body("exceptionInfo", json!({ "threadId": wave["index"] }));
        let reason = wave["stop"][0].as_str().unwrap_or("none");
        let is_of_verdict = document["verdict"]["wave"] == wave["index"];
        if is_of_verdict {
            assert_eq!(info["description"], document["verdict"]["text"]);
        }
        if reason == "none" {
            running += 1;
            assert_eq!(info["details"].get("typeName"), None);
        }
        assert_eq!(
            info["exceptionId"].as_str().unwrap().replace('-', "_"),
            reason
        );
        let name = threads["threads"].as_array().unwrap().iter();
        let name = name.into_iter().find(|one| one["id"] == wave["index"]);
        let name = name.unwrap()["name"].as_str().unwrap();
        let described = info["description"].as_str().unwrap();
        assert!(is_of_verdict || described.starts_with(name), "{described}");
        let Some(access) = wave["fault"]["candidates"].get(0) else {
            continue;
        };
        faulted += 1;
        let instruction = access["instruction"].as_str().unwrap();
        let (mnemonic, _) = instruction.split_once(' ').unwrap();
        let line = format!(":{}", access["line"]);
        assert!(
            described.contains(mnemonic) && described.contains(&line),
            "{described}"
        );
        assert_eq!(info["details"]["fault"], wave["fault"]);
    }
    assert!(faulted >= 2 && running >= 4, "{faulted} {running}");
}

/// An editor that counts from 0 has every line and column one less.
#[test]
fn lines_are_counted_as_the_editor_counts() {
    let from_0 = json!({ "linesStartAt1": false, "columnsStartAt1": false, "pathFormat": "path" });
    let mut shown = Vec::new();
    for initialize in [json!({}), from_0] {
        let mut client = Client::new();
        client.body("initialize", initialize);
        client.body("attach", json!({ "coreFile": demo_core() }));
        let frames = client.frames(&json!(3));
        let listed = client.body(
            "disassemble",
            json!({ "memoryReference": "0x7f4000001600", "instructionCount": 1 }),
        );
        let column = 4 + u64::from(shown.is_empty());
        let arguments =
            json!({ "text": "1 + x", "column": column + 1, "frameId": frames[0]["id"] });
        let found = client.body("completions", arguments);
        shown.push([
            frames[0]["line"].clone(),
            frames[0]["column"].clone(),
            listed["instructions"][0]["line"].clone(),
            found["targets"][0]["start"].clone(),
        ]);
    }
    assert_eq!(
        shown,
        [[10, 3, 8, 5], [9, 2, 7, 4]].map(|one| one.map(Value::from))
    );
    let refused = Client::new().ask("initialize", json!({ "pathFormat": "uri" }));
    assert_eq!(refused["success"], false);
}
