//! For truncated cores and missing files, the adapter shows the available part and names the missing part.

use dwarf_tests::cores::Folder;
use serde_json::{Value, json};

use crate::client::{Client, demo, demo_core, text};

/// Returns the texts of the console's events.
fn outputs(client: &Client) -> String {
    let outputs = client.events.iter().filter(|one| one["event"] == "output");
    outputs
        .map(|one| one["body"]["output"].as_str().unwrap())
        .collect()
}

/// Opens a part of the demo's core, and sends all requests of an editor.
#[test]
fn a_core_that_is_cut_is_opened_as_far_as_it_goes() {
    let core = std::fs::read(demo_core()).unwrap();
    let folder = Folder::new();
    let path = folder.path("cut");
    let (mut opened, mut refused) = (0, 0);
    for parts in 0..=40 {
        let length = core.len() * parts / 40;
        std::fs::write(&path, &core[..length]).unwrap();
        let mut client = Client::new();
        client.body("initialize", json!({}));
        let answer = client.ask("attach", json!({ "coreFile": text(&path) }));
        if answer["success"] == false {
            let message = answer["message"].as_str().unwrap();
            assert!(message.contains("cut"), "{message}");
            refused += 1;
            continue;
        }
        opened += 1;
        client.body("configurationDone", json!({}));
        let threads = client.body("threads", json!({}));
        if length < core.len() {
            assert!(!outputs(&client).is_empty(), "{length}");
        }
        for thread in threads["threads"].as_array().unwrap() {
            let frames = client.frames(&thread["id"]);
            for title in ["Locals", "Globals", "Scalar registers", "Vector registers"] {
                client.scope(&frames[0], title);
            }
            client.body("exceptionInfo", json!({ "threadId": thread["id"] }));
            client.ask("hetdwarf/lanes", json!({ "threadId": thread["id"] }));
        }
        client.body("disconnect", json!({}));
    }
    println!("{opened} were opened, {refused} were not");
    assert!(opened > 10 && refused > 0);
}

/// A wave whose code object is missing from the core has the same pc and registers as with it.
#[test]
fn registers_need_no_code_object() {
    let core = std::fs::read(demo_core()).unwrap();
    let folder = Folder::new();
    let path = folder.path("half");
    std::fs::write(&path, &core[..core.len() / 2]).unwrap();
    let mut half = Client::open(json!({ "coreFile": text(&path) }));
    assert!(outputs(&half).contains("not found"), "{}", outputs(&half));
    let modules = half.body("modules", json!({}));
    assert_eq!(modules["modules"][0]["symbolStatus"], "not found");
    let mut whole = Client::open(json!({ "coreFile": demo_core() }));
    let threads = whole.body("threads", json!({}));
    let mut compared = 0;
    // The first wave cannot be read.
    for thread in threads["threads"].as_array().unwrap() {
        let name = &thread["name"];
        let others = half.body("threads", json!({}));
        let others = others["threads"].as_array().unwrap();
        let place = |name: &Value| name.as_str().unwrap().split(' ').nth(1).unwrap().to_owned();
        let Some(other) = others.iter().find(|one| place(&one["name"]) == place(name)) else {
            continue;
        };
        let frames = [&mut whole, &mut half]
            .into_iter()
            .zip([&thread["id"], &other["id"]])
            .map(|(client, id)| client.frames(id)[0].clone());
        let frames: Vec<Value> = frames.collect();
        assert_eq!(
            frames[0]["instructionPointerReference"],
            frames[1]["instructionPointerReference"]
        );
        assert_eq!(frames[1]["presentationHint"], "subtle");
        // Editors request the first frame, and then the other frames.
        let rest = json!({ "threadId": other["id"], "startFrame": 1, "levels": 19 });
        assert_eq!(half.body("stackTrace", rest)["stackFrames"], json!([]));
        assert_eq!(half.scope(&frames[1], "Locals"), [Value::Null; 0]);
        let scalars = half.scope(&frames[1], "Scalar registers");
        let expected = whole.scope(&frames[0], "Scalar registers");
        for register in &scalars {
            let of_whole = expected.iter().find(|one| one["name"] == register["name"]);
            assert_eq!(of_whole.unwrap()["value"], register["value"], "{name}");
            compared += 1;
        }
        let vectors = half.scope(&frames[1], "Vector registers");
        let lanes = half.children(&vectors[3]);
        let expected = whole.scope(&frames[0], "Vector registers");
        let expected = whole.children(&expected[3]);
        assert_eq!(lanes, expected, "{name}");
    }
    println!("{compared} scalar registers");
    assert!(compared > 500);
}

/// Editors only select frames with a source. A frame whose source text is missing has a source that explains this.
#[test]
fn source_that_is_not_found_is_said_to_be_missing() {
    let mut client = Client::open(json!({ "coreFile": demo_core() }));
    let frames = client.frames(&json!(3));
    let source = &frames[0]["source"];
    assert_eq!(source["name"], "calls-O2.cl");
    assert_eq!(source.get("path"), None);
    assert_eq!(frames[0].get("presentationHint"), None);
    let arguments = json!({ "source": source, "sourceReference": source["sourceReference"] });
    let answer = client.body("source", arguments);
    let message = answer["content"].as_str().unwrap();
    assert!(
        message.contains("calls-O2.cl was not found") && message.contains("sourceDir"),
        "{message}"
    );
    assert_eq!(
        client.body("loadedSources", json!({}))["sources"],
        json!([])
    );
    assert!(
        client
            .events
            .iter()
            .all(|one| one["event"] != "loadedSource")
    );
}

/// Source that was edited after it was compiled is shown, with a single warning.
#[test]
fn edited_source_is_said_to_be() {
    let folder = Folder::new();
    let source = std::fs::read_to_string(demo().join("calls-O2.cl")).unwrap();
    std::fs::write(folder.path("calls-O2.cl"), format!("{source}\n")).unwrap();
    let mut client =
        Client::open(json!({ "coreFile": demo_core(), "sourceDir": [text(folder.folder())] }));
    let frames = client.frames(&json!(3));
    // Events come after the answer.
    client.body("threads", json!({}));
    let path = frames[0]["source"]["path"].as_str();
    let warned = outputs(&client).matches("MD5 differs").count();
    assert!(path.unwrap().ends_with("/calls-O2.cl"));
    client.frames(&json!(2));
    client.body("threads", json!({}));
    assert_eq!(outputs(&client).matches("MD5 differs").count(), warned);
    assert_eq!(warned, 1);
    // The editor receives an event for each new source.
    let loaded = client
        .events
        .iter()
        .filter(|one| one["event"] == "loadedSource");
    assert_eq!(loaded.count(), 1);
}
