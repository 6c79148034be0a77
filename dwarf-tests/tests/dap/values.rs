//! Compares values with `hetdwarf vars`.

use dwarf_tests::cores::Folder;
use dwarf_tests::{fixture, hetdwarf, json, wave_cases};
use serde_json::{Value, json};

use crate::client::{Client, text};

/// Returns the text of a lane in `vars`, as a line.
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

/// Every variable of every frame of every wave of the fixtures has the same values as in `vars`, in each lane. Other tests compare `vars`
/// with the truth.
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
            // These waves stopped at a mark, and some of them in a loop. None hangs.
            assert_ne!(client.stopped()["description"], "hang", "{wave}");
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

/// Structures and arrays expand into the parts that `vars --children` lists.
#[test]
fn parts_of_values_are_those_of_vars() {
    let (mut compared, mut pages) = (0, 0);
    let mut stops = Vec::new();
    for name in ["lds", "loops", "manyargs", "pointers", "structs"] {
        let case = fixture("waves").join(name);
        let truth = json(&case.join("truth.json"));
        let object = text(&case.join(truth["object"].as_str().unwrap()));
        let snapshots = truth["snapshots"].as_array().unwrap();
        for stop in snapshots.iter().step_by(3) {
            let wave = text(&case.join(stop["wave"].as_str().unwrap()));
            stops.push((wave, object.clone()));
        }
    }
    for (wave, object) in stops {
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
                if parts.len() > 2 {
                    let reference = &lane["variablesReference"];
                    let page = json!({ "variablesReference": reference, "start": 1, "count": 2 });
                    let page = client.body("variables", page);
                    assert_eq!(page["variables"].as_array().unwrap(), &parts[1..3]);
                    pages += 1;
                }
            }
        }
    }
    println!("{compared} parts, {pages} pages");
    assert!(pages > 0);
    assert!(compared > 100);
}

/// Variables of file scope have their own scope. The example is `libgomp`, with the variables of `task.c`.
#[test]
fn globals_are_a_scope_of_their_own() {
    let folder = Folder::new();
    let log = folder.path("log");
    // In GOMP_task, which is at 0x19ab8.
    let wave = "wave_1: pc=0x7f0000019af8 (running)\n\nsystem registers:\n  exec: ffffffffffffffff\n\n\
                Disassembly for function GOMP_task:\n    code object: file:///x\n    loaded at: [0x7f0000000000-0x7f0000100000]\n\n\
                End of disassembly.\n";
    std::fs::write(&log, wave).unwrap();
    let object = text(&fixture("corpus/gcc12/offload-gfx906-O1.hsaco"));
    let mut client = Client::open(json!({ "log": text(&log), "object": object }));
    let frames = client.frames(&json!(1));
    assert_eq!(frames[0]["name"], "GOMP_task");
    let names = |scope: &[Value]| -> Vec<String> {
        let names = scope
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned());
        names.collect()
    };
    let locals = names(&client.scope(&frames[0], "Locals"));
    let globals = names(&client.scope(&frames[0], "Globals"));
    assert_eq!(locals[..3], ["fn", "data", "cpyfn"]);
    assert!(
        globals.contains(&"gomp_global_icv".to_owned()),
        "{globals:?}"
    );
    assert!(locals.iter().all(|name| !globals.contains(name)));
}
