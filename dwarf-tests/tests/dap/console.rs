//! Tests the console: its commands, and completions.

use dwarf_tests::{fixture, json};
use serde_json::{Value, json};

use crate::client::{Client, demo_core, text};

fn labels(completions: &Value) -> Vec<&str> {
    let targets = completions["targets"].as_array().unwrap();
    targets
        .iter()
        .map(|one| one["label"].as_str().unwrap())
        .collect()
}

fn complete(client: &mut Client, text: &str, column: usize, frame: &Value) -> Value {
    let arguments = json!({ "text": text, "column": column, "frameId": frame });
    client.body("completions", arguments)
}

#[test]
fn texts_go_on_with_names() {
    let mut client = Client::open(json!({ "coreFile": demo_core() }));
    let frames = client.frames(&json!(3));
    let frame = &frames[0]["id"];
    let found = complete(&mut client, "", 1, frame);
    let expected = ["waves", "lanes", "wave", "lane", "help", "a", "g", "x", "y"];
    assert_eq!(labels(&found), expected);
    // The answer has the replaced range, because clients otherwise insert the whole name.
    let found = complete(&mut client, "1 + x", 6, frame);
    let expected = json!([{ "label": "x", "type": "variable", "start": 5, "length": 1 }]);
    assert_eq!(found["targets"], expected);
    // Commands are only valid at the start. Text after the column is ignored. Columns count UTF-16 units.
    assert_eq!(
        labels(&complete(&mut client, "la", 3, frame)),
        ["lanes", "lane"]
    );
    assert_eq!(labels(&complete(&mut client, "1 + la", 7, frame)), [""; 0]);
    assert_eq!(labels(&complete(&mut client, "xyz", 2, frame)), ["x"]);
    assert_eq!(
        complete(&mut client, "'😀' + x", 9, frame)["targets"][0]["start"],
        8
    );
    assert_eq!(labels(&complete(&mut client, "wave ", 6, frame)), [""; 0]);
    assert_eq!(labels(&complete(&mut client, "lane 1", 7, frame)), [""; 0]);
    // Registers: the demo's waves have 16 vector registers.
    let found = complete(&mut client, "a + $v1", 8, frame);
    let expected = ["$v1", "$v10", "$v11", "$v12", "$v13", "$v14", "$v15"];
    assert_eq!(labels(&found), expected);
    assert_eq!(found["targets"][0]["start"], 5);
    assert_eq!(found["targets"][0]["length"], 3);
    // A number has no members.
    assert_eq!(labels(&complete(&mut client, "a.", 3, frame)), [""; 0]);
}

/// The members of `Rec` and `Small`, in `structs.cl`.
#[test]
fn members_are_named() {
    let case = fixture("waves/structs");
    let truth = json(&case.join("truth.json"));
    let object = text(&case.join(truth["object"].as_str().unwrap()));
    let snapshots = truth["snapshots"].as_array().unwrap();
    let in_area = |one: &&Value| {
        let variables = one["variables"].as_array().into_iter().flatten();
        variables
            .into_iter()
            .any(|variable| variable["name"] == "want")
    };
    let stop = snapshots.iter().find(in_area).unwrap();
    let wave = text(&case.join(stop["wave"].as_str().unwrap()));
    let mut client = Client::open(json!({ "waveFile": wave, "object": object }));
    let frames = client.frames(&json!(1));
    let frame = &frames[0]["id"];
    let members = ["x", "y", "in", "col", "big"];
    assert_eq!(labels(&complete(&mut client, "1 + r->", 8, frame)), members);
    assert_eq!(
        labels(&complete(&mut client, "r->in.", 7, frame)),
        ["s", "c", "u"]
    );
    assert_eq!(labels(&complete(&mut client, "r->c", 5, frame)), ["col"]);
}

#[test]
fn commands_say_what_they_expect() {
    let mut client = Client::open(json!({ "coreFile": demo_core() }));
    let mut ask =
        |text: &str| client.ask("evaluate", json!({ "expression": text, "context": "repl" }));
    let help = ask("help")["body"]["result"].to_string();
    for command in ["waves", "lanes", "wave N", "lane N", "help"] {
        assert!(help.contains(command), "{help}");
    }
    let waves = ask("waves")["body"]["result"].to_string();
    assert!(
        waves.contains("1 stopped: leaf at calls-O2.cl:10"),
        "{waves}"
    );
    assert!(
        waves.contains("3 wave 1:381:(2,0,0)/0 k  memory violation"),
        "{waves}"
    );
    let lanes = ask("lanes")["body"]["result"].to_string();
    assert!(lanes.contains("lanes 27-31"), "{lanes}");
    for (text, message) in [
        (
            "wave 99",
            "there is no wave 99: they are numbered from 1 to 8",
        ),
        (
            "wave 0",
            "there is no wave 0: they are numbered from 1 to 8",
        ),
        ("wave x", "wave x: the number of a wave is expected"),
        ("lane 32", "wave 3 has lanes 0 to 31"),
        ("lane x", "lane x: the number of a lane is expected"),
        ("wave", "there is no `wave` here"),
        ("", "expected an operand, found the end"),
    ] {
        let answer = ask(text);
        assert_eq!(answer["message"], message, "{text}");
        assert_eq!(answer["body"]["error"]["showUser"], false);
    }
    // An expression may look like a command.
    assert_eq!(ask("lane - 1")["message"], "there is no `lane` here");
    // In a watch nothing is a command.
    let watch = client.ask(
        "evaluate",
        json!({ "expression": "help", "context": "watch" }),
    );
    assert_eq!(watch["success"], false);
    // A request without a frame applies to the wave selected last.
    client.body(
        "evaluate",
        json!({ "expression": "wave 2", "context": "repl" }),
    );
    let lane = client.body(
        "evaluate",
        json!({ "expression": "lane 5", "context": "repl" }),
    );
    assert_eq!(lane["result"], "lane 5 of wave 2");
    let pc = client.body("evaluate", json!({ "expression": "$pc" }));
    assert_eq!(
        client.frames(&json!(2))[0]["instructionPointerReference"],
        pc["result"]
    );
}
