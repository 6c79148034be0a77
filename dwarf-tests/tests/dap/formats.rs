//! Tests hexadecimal values, names of frames, and the addresses of values. Expected numbers are worked out by hand from `structs.cl`.
//!
//! At its marks 259 and 260, lane 2 has filled `recs[0]` with `id` 2 and `recs[1]` with `id` 5:
//! - `in.s = id * -300` in 16 bits: -600 = 0xfda8 and -1500 = 0xfa24.
//! - `in.c = 65 + id`: `C` and `F`.
//! - `big = (id << 33) - 5`: 0x3fffffffb, and 0x9fffffffb, of which `id & 4` inverts the bits 0xff00: 0x9ffff00fb.
//! - `col` is `BLUE` for even and `GREEN` for odd `id`.
//!
//! `Rec` has `x` at 0, `y` at 4, `in` at 16, `col` at 20, `big` at 24, and 32 bytes.

use dwarf_tests::browser::base64;
use dwarf_tests::fixture;
use serde_json::{Value, json};

use crate::client::{Client, text};

fn open(wave: &str) -> Client {
    let case = fixture("waves/structs");
    let object = text(&case.join("structs.rocm.hsaco"));
    Client::open(json!({ "waveFile": text(&case.join(wave)), "object": object }))
}

fn in_lane_2(wave: &str) -> Client {
    let mut client = open(wave);
    client.body("hetdwarf/setLane", json!({ "threadId": 1, "lane": 2 }));
    client
}

fn evaluate(client: &mut Client, expression: &str, format: &Value) -> Value {
    let arguments = json!({ "expression": expression, "context": "watch", "format": format });
    client.body("evaluate", arguments)
}

#[test]
fn values_are_hexadecimal_on_request() {
    let mut client = in_lane_2("w05.json");
    let hex = json!({ "hex": true });
    for (expression, decimal, hexadecimal) in [
        ("id", "2", "0x2"),
        ("recs[0].in.s", "-600", "0xfda8"),
        ("copy.s", "-1500", "0xfa24"),
        ("recs[0].big", "17179869179", "0x3fffffffb"),
        ("recs[1].big", "42949607675", "0x9ffff00fb"),
        // The other members are not integers.
        ("copy.c", "'F'", "'F'"),
        ("recs[1].col", "GREEN", "GREEN"),
        ("recs[1].y[1]", "-1.25", "-1.25"),
    ] {
        for (format, expected) in [
            (json!(null), decimal),
            (json!({ "hex": false }), decimal),
            (hex.clone(), hexadecimal),
        ] {
            let found = evaluate(&mut client, expression, &format);
            assert_eq!(found["result"], expected, "{expression} {format}");
        }
    }
    let whole = evaluate(&mut client, "recs[1]", &hex);
    let whole_text = whole["result"].as_str().unwrap();
    assert!(
        whole_text
            .contains("in = {s = 0xfa24, c = 'F', u = '\\377'}, col = GREEN, big = 0x9ffff00fb}"),
        "{whole_text}"
    );
    // The parts of the value, and the variables of the frame, are requested in both formats alternately.
    for (format, s, id) in [(&hex, "0xfa24", "0x2"), (&json!({}), "-1500", "2")] {
        let mut of = |reference: &Value| {
            let arguments = json!({ "variablesReference": reference, "format": format });
            let body = client.body("variables", arguments);
            body["variables"].as_array().unwrap().clone()
        };
        let parts = of(&whole["variablesReference"]);
        let inner = parts.iter().find(|part| part["name"] == "in").unwrap();
        let members = of(&inner["variablesReference"]);
        assert_eq!(
            (&members[0]["name"], &members[0]["value"]),
            (&json!("s"), &json!(s))
        );
        let frame = client.frames(&json!(1))[0]["id"].clone();
        let scopes = client.body("scopes", json!({ "frameId": frame }));
        let locals = &scopes["scopes"][0]["variablesReference"];
        let arguments = json!({ "variablesReference": locals, "format": format });
        let locals = client.body("variables", arguments)["variables"].clone();
        let mut locals = locals.as_array().unwrap().iter();
        assert_eq!(locals.find(|one| one["name"] == "id").unwrap()["value"], id);
    }
    // Without a lane in focus, the values of all lanes are listed.
    client.body("hetdwarf/setLane", json!({ "threadId": 1 }));
    let all = evaluate(&mut client, "id & 1", &hex);
    assert_eq!(all["result"], "2 values: 0x0 ×16, 0x1 ×16");
    let lanes = json!({ "variablesReference": all["variablesReference"], "start": 2, "count": 2, "format": hex });
    let lanes = client.body("variables", lanes);
    assert_eq!(
        (
            &lanes["variables"][0]["value"],
            &lanes["variables"][1]["value"]
        ),
        (&json!("0x0"), &json!("0x1"))
    );
    for wrong in [json!(true), json!({ "hex": 1 })] {
        let arguments = json!({ "expression": "id", "format": wrong });
        assert_eq!(
            client.ask("evaluate", arguments)["success"],
            false,
            "{wrong}"
        );
    }
}

#[test]
fn frames_are_named_in_the_format_that_is_asked_for() {
    let mut client = in_lane_2("w04.json");
    let mut name = |format: Value| {
        let arguments = json!({ "threadId": 1, "format": format });
        let frames = client.body("stackTrace", arguments)["stackFrames"].clone();
        frames[0]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(name(json!(null)), "fill");
    assert_eq!(name(json!({ "hex": true })), "fill");
    assert_eq!(name(json!({ "parameters": true })), "fill(r, id, g)");
    assert_eq!(
        name(json!({ "module": true, "line": true })),
        "structs.rocm.hsaco!fill line 29"
    );
    let types = name(json!({ "parameters": true, "parameterTypes": true, "parameterNames": true }));
    assert!(types.contains(", int id, "), "{types}");
    let values =
        json!({ "parameters": true, "parameterNames": true, "parameterValues": true, "hex": true });
    assert!(name(values).contains(", id=0x2, g=0x7f0000012000"));
    let values = name(json!({ "parameters": true, "parameterValues": true }));
    assert!(values.contains(", 2, 0x7f0000012000"), "{values}");
}

/// A value in memory has its own address. A pointer has the address that it points to. Reading memory at the address gives the value.
#[test]
fn values_have_the_addresses_of_their_memory() {
    let mut client = in_lane_2("w05.json");
    let read = |client: &mut Client, of: &Value, offset: i64, count: usize| {
        let reference = of["memoryReference"].as_str().unwrap();
        let arguments = json!({ "memoryReference": reference, "offset": offset, "count": count });
        base64(
            client.body("readMemory", arguments)["data"]
                .as_str()
                .unwrap(),
        )
    };
    let big_1 = 0x9_ffff_00fb_u64.to_le_bytes();
    let frame = client.frames(&json!(1))[0].clone();
    let locals = client.scope(&frame, "Locals");
    let named = |of: &[Value], name: &str| -> Value {
        of.iter().find(|one| one["name"] == name).unwrap().clone()
    };
    let recs = named(&locals, "recs");
    assert!(
        recs["memoryReference"]
            .as_str()
            .unwrap()
            .starts_with("private_lane:2:0x")
    );
    assert_eq!(read(&mut client, &recs, 32 + 24, 8), big_1);
    // The elements and their members have addresses of their own.
    let elements = client.children(&recs);
    assert_eq!(read(&mut client, &elements[1], 24, 8), big_1);
    let big = named(&client.children(&elements[1]), "big");
    assert_eq!(read(&mut client, &big, 0, 8), big_1);
    // The lanes of a variable have their own memory. Lane 3 has filled `recs[1]` with 6: s = -1800 = 0xf8f8.
    client.body("hetdwarf/setLane", json!({ "threadId": 1 }));
    let recs = named(&client.scope(&frame, "Locals"), "recs");
    assert_eq!(
        recs["memoryReference"],
        Value::Null,
        "it differs from lane to lane"
    );
    let lanes = client.children(&recs);
    assert!(
        lanes[3]["memoryReference"]
            .as_str()
            .unwrap()
            .starts_with("private_lane:3:0x")
    );
    assert_eq!(read(&mut client, &lanes[3], 32 + 16, 2), [0xf8, 0xf8]);
    // `recs[0].x` is `g[id & 7]`, which `g` points to.
    let g = evaluate(&mut client, "g", &json!(null));
    let g = client.children(&g)[2].clone();
    assert_eq!(g["memoryReference"], g["value"]);
    let x = evaluate(&mut client, "recs[0].x", &json!(null));
    let x = client.children(&x)[2]["value"].clone();
    let word = read(&mut client, &g, 8, 4);
    let word = i32::from_le_bytes(word.try_into().unwrap());
    assert_eq!(x, word.to_string());
    // The sum is not stored anywhere, so it has no address.
    let sum = evaluate(&mut client, "id + 1", &json!(null));
    assert_eq!(client.children(&sum)[2]["memoryReference"], Value::Null);
    // `r` points to `recs[0]` in the memory of the lane.
    let mut client = in_lane_2("w04.json");
    let r = evaluate(&mut client, "r", &json!(null));
    assert!(
        r["memoryReference"]
            .as_str()
            .unwrap()
            .starts_with("private_lane:2:0x"),
        "{r}"
    );
    assert_eq!(
        read(&mut client, &r, 24, 8),
        0x3_ffff_fffb_u64.to_le_bytes()
    );
}

/// A page of parts has the requested elements or members, and their parts belong to them.
#[test]
fn pages_of_parts_have_the_parts_that_they_name() {
    let mut client = in_lane_2("w05.json");
    let recs = evaluate(&mut client, "recs", &json!(null));
    let mut page = |of: &Value, start: u64, count: u64| {
        let reference = &of["variablesReference"];
        let arguments = json!({ "variablesReference": reference, "start": start, "count": count });
        let body = client.body("variables", arguments);
        body["variables"].as_array().unwrap().clone()
    };
    let elements = page(&recs, 1, 1);
    assert_eq!((elements.len(), &elements[0]["name"]), (1, &json!("[1]")));
    let members = page(&elements[0], 3, 2);
    let named: Vec<_> = members
        .iter()
        .map(|one| {
            (
                one["name"].as_str().unwrap(),
                one["value"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(named, [("col", "GREEN"), ("big", "42949607675")]);
}
