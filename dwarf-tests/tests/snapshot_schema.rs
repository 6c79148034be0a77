//! Tests the format `hetdwarf-wave/1`: its JSON Schema, its specification, and the reader.
//!
//! An independent crate applies the schema.

use std::path::{Path, PathBuf};

use dwarf_tests::{fixture, json, number, package, wave_cases};
use hetdwarf::arch::{AddressSpace, Lane};
use hetdwarf::wave::{Memory, Snapshot, Wave};
use jsonschema::Validator;
use serde_json::{Value, json};

fn note(name: &str) -> PathBuf {
    package().join("../spec-notes").join(name)
}

fn schema() -> (Value, Validator) {
    let schema = json(&note("hetdwarf-wave-1.schema.json"));
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).unwrap();
    (schema, validator)
}

/// Collects every JSON file below a folder.
fn json_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            json_files(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            files.push(path);
        }
    }
}

fn read(document: &Value) -> Result<Snapshot, String> {
    Snapshot::from_json(document.to_string().as_bytes()).map_err(|error| error.to_string())
}

/// Returns the first JSON example in a text.
fn example(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    let (_, after) = text.split_once("```json\n").unwrap();
    serde_json::from_str(after.split_once("```").unwrap().0).unwrap()
}

/// Returns the document in the note on snapshots, with all fields.
fn whole() -> Value {
    example(&note("snapshot.md"))
}

#[test]
fn snapshots_that_are_read_are_valid() {
    let (_, validator) = schema();
    let mut files = Vec::new();
    json_files(&fixture("."), &mut files);
    files.push(package().join("../examples/demo/stop.json"));
    let is_snapshot = |document: &Value| document["format"] == "hetdwarf-wave/1";
    let documents = files.iter().map(|path| (path.clone(), json(path)));
    let mut documents: Vec<_> = documents.filter(|(_, json)| is_snapshot(json)).collect();
    assert!(documents.len() > 100, "only {}", documents.len());
    for text in [note("snapshot.md"), package().join("../docs/debugger.md")] {
        documents.push((text.clone(), example(&text)));
    }
    for (path, document) in documents {
        let path = path.display();
        if let Some(error) = validator.iter_errors(&document).next() {
            panic!("{path}: {}: {error}", error.instance_path());
        }
        let snapshot = read(&document).unwrap_or_else(|error| panic!("{path}: {error}"));
        let written: Value = serde_json::from_str(&snapshot.to_json()).unwrap();
        assert!(validator.is_valid(&written), "{path}");
    }
}

/// Returns a document with one part replaced. `null` removes a field.
fn with(pointer: &str, value: Value) -> Value {
    let mut document = whole();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = document.pointer_mut(parent).unwrap();
    match parent {
        Value::Object(fields) if value == json!("<removed>") => {
            assert!(fields.remove(name).is_some(), "{pointer}");
        }
        Value::Object(fields) => {
            fields.insert(name.to_owned(), value);
        }
        Value::Array(list) => list[name.parse::<usize>().unwrap()] = value,
        _ => panic!("{pointer}"),
    }
    document
}

fn lanes(count: usize, value: Value) -> Value {
    Value::Array(vec![value; count])
}

/// Both the reader and the schema reject an invalid document.
#[test]
fn what_is_not_read_is_not_valid() {
    let (_, validator) = schema();
    let removed = || json!("<removed>");
    let mut wrong = vec![
        ("/format", json!("hetdwarf-wave/2")),
        ("/format", json!(1)),
        ("/target", json!(1100)),
        ("/target", Value::Null),
        ("/wave_size", json!(16)),
        ("/wave_size", json!("33")),
        ("/wave_size", json!("0x30")),
        ("/wave_size", json!(64.5)),
        ("/load_adress", json!(0)),
        ("/comment", Value::Null),
        ("/focus_lane", json!(32)),
        ("/focus_lane", json!("32")),
        ("/focus_lane", json!("0x20")),
        ("/focus_lane", json!(-1)),
        ("/registers", json!([])),
        ("/registers/s106", json!(0)),
        ("/registers/s4", json!(4_294_967_296_u64)),
        ("/registers/s4", json!("0x100000000")),
        ("/registers/s4", json!([1])),
        ("/registers/s4", Value::Null),
        ("/registers/exec", json!("0x1ffffffff")),
        ("/registers/q7", json!(0)),
        ("/registers/v0", json!(0)),
        ("/registers/v0", json!([])),
        ("/registers/v0", lanes(31, json!(0))),
        ("/registers/v0", lanes(64, json!(0))),
        ("/registers/v0", lanes(32, json!("0x100000000"))),
        ("/registers/v0", lanes(32, json!({}))),
        ("/registers/v1024", lanes(32, json!(0))),
        ("/registers/a256", lanes(32, json!(0))),
        ("/memory", json!({})),
        ("/memory/0", json!([])),
        ("/memory/0/space", json!("private_lane")),
        ("/memory/0/space", json!("generic")),
        ("/memory/0/space", json!("lds")),
        ("/memory/0/size", json!(4)),
        ("/memory/0/bytes", json!("0")),
        ("/memory/0/bytes", json!("0g")),
        ("/memory/0/bytes", json!("00 00")),
        ("/memory/0/bytes", json!([0, 1])),
        ("/memory/1/address", json!("0x100000000")),
        ("/apertures", json!(1)),
        ("/apertures/base", json!(1)),
        ("/dispatch", json!([])),
        ("/dispatch/gridsize", json!([1, 1, 1])),
        ("/dispatch/grid_size", json!([1, 1])),
        ("/dispatch/grid_size", json!([1, 1, 1, 1])),
        ("/dispatch/grid_size", json!([1, 1, 4_294_967_296_u64])),
        ("/dispatch/wave_in_group", json!("0x100000000")),
    ];
    for pointer in [
        "/format",
        "/target",
        "/wave_size",
        "/pc",
        "/registers",
        "/memory",
        "/memory/0/space",
        "/memory/0/address",
        "/memory/0/bytes",
        "/apertures/shared_base",
        "/apertures/private_base",
        "/dispatch/workgroup_id",
        "/dispatch/workgroup_size",
        "/dispatch/grid_size",
        "/dispatch/wave_in_group",
    ] {
        wrong.push((pointer, removed()));
    }
    let numbers = [
        json!(-1),
        json!(1.5),
        json!(true),
        json!([]),
        json!({}),
        json!(""),
        json!("0x"),
        json!("-1"),
        json!("+1"),
        json!("0x+1"),
        json!("1_0"),
        json!(" 1"),
        json!("0X1"),
        json!("ff"),
        json!("0x10000000000000000"),
        json!("٣"),
    ];
    for value in numbers {
        for pointer in [
            "/pc",
            "/load_address",
            "/memory/0/address",
            "/registers/pc",
            "/apertures/shared_base",
            "/dispatch/wave_in_group",
        ] {
            wrong.push((pointer, value.clone()));
        }
    }
    for (pointer, value) in wrong {
        let document = with(pointer, value.clone());
        assert!(read(&document).is_err(), "{pointer} = {value} is read");
        assert!(
            !validator.is_valid(&document),
            "{pointer} = {value} is valid"
        );
    }
}

/// Both the reader and the schema accept a valid document.
#[test]
fn what_is_valid_is_read() {
    let (_, validator) = schema();
    let whole = whole();
    let pc = whole["pc"].clone();
    for (pointer, value) in [
        ("/target", json!("gfx1100")),
        ("/wave_size", json!("32")),
        ("/wave_size", json!("0x20")),
        ("/pc", json!(u64::MAX)),
        ("/pc", json!("18446744073709551615")),
        ("/pc", json!("0x00000000000000000007f")),
        ("/pc", json!("007")),
        ("/load_address", Value::Null),
        ("/load_address", json!("<removed>")),
        ("/focus_lane", Value::Null),
        ("/focus_lane", json!("<removed>")),
        ("/focus_lane", json!("0x1f")),
        ("/focus_lane", json!(31)),
        ("/registers", json!({})),
        ("/registers/pc", pc),
        ("/registers/s105", json!("0xFFFFFFFF")),
        ("/registers/SGPR4", json!(1)),
        ("/registers/status", json!(1)),
        ("/registers", json!({"VCC": "0xffffffff"})),
        ("/registers/v0", lanes(32, Value::Null)),
        ("/registers/v1023", lanes(32, json!("0xffffffff"))),
        ("/registers/a255", lanes(32, json!(7))),
        ("/registers/VGPR9", lanes(32, json!(7))),
        ("/registers/1545", lanes(32, json!(7))),
        ("/registers/33", json!(7)),
        ("/memory", json!([])),
        ("/memory/0/bytes", json!("")),
        ("/memory/0/bytes", json!("aAfF")),
        ("/memory/0/space", json!("none")),
        ("/memory/1/space", json!("region")),
        ("/memory/1/address", json!("4294967290")),
        ("/apertures", Value::Null),
        ("/apertures", json!("<removed>")),
        ("/dispatch", Value::Null),
        ("/dispatch", json!("<removed>")),
        ("/dispatch/grid_size", json!(["0x1", "2", 3])),
    ] {
        let document = with(pointer, value.clone());
        read(&document).unwrap_or_else(|error| panic!("{pointer} = {value}: {error}"));
        assert!(validator.is_valid(&document), "{pointer} = {value}");
    }
    // Waves of the other size have longer lists and wider masks.
    let mut wave64 = whole;
    wave64["target"] = json!("gfx90a");
    wave64["wave_size"] = json!(64);
    wave64["focus_lane"] = json!(63);
    wave64["registers"] = json!({"exec": "0xffffffffffffffff", "v255": lanes(64, json!(1))});
    assert!(read(&wave64).is_ok() && validator.is_valid(&wave64));
    for (name, value) in [("v0", lanes(32, json!(1))), ("v256", lanes(64, json!(1)))] {
        let mut wrong = wave64.clone();
        wrong["registers"][name] = value;
        assert!(
            read(&wrong).is_err() && !validator.is_valid(&wrong),
            "{name}"
        );
    }
}

/// Collects the fields of an object in a schema, including nested ones.
fn fields(schema: &Value, found: &mut Vec<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        found.extend(properties.keys().cloned());
    }
}

/// The note, the schema and the reader have the same fields.
#[test]
fn the_note_has_every_field() {
    let (schema, _) = schema();
    let mut names = Vec::new();
    fields(&schema, &mut names);
    for part in ["region", "apertures", "dispatch"] {
        fields(&schema["$defs"][part], &mut names);
    }
    assert_eq!(names.len(), 12 + 3 + 2 + 5);
    let text = std::fs::read_to_string(note("snapshot.md")).unwrap();
    for name in &names {
        assert!(text.contains(&format!("| `{name}` |")), "{name}");
    }
    // For a name without a similar one, the reader lists the known names.
    let list = |document: Value| {
        let error = read(&document).unwrap_err();
        let (_, list) = error.split_once("unknown field; expected ").unwrap();
        list.split(", ").map(str::to_owned).collect::<Vec<_>>()
    };
    let mut known = Vec::new();
    for pointer in [
        "/________________",
        "/memory/0/________________",
        "/apertures/________________",
        "/dispatch/________________",
    ] {
        known.extend(list(with(pointer, Value::Null)));
    }
    names.sort();
    known.sort();
    assert_eq!(known, names);
}

/// The programs computed their global identifiers, and the host's run gives the expected ones. DWARF is not involved.
#[test]
fn lanes_are_the_work_items_that_the_program_saw() {
    let (mut seen, mut in_second_waves) = (0, 0);
    for case in wave_cases() {
        let truth = json(&case.join("truth.json"));
        for snapshot in truth["snapshots"].as_array().unwrap() {
            let bytes = std::fs::read(case.join(snapshot["wave"].as_str().unwrap())).unwrap();
            let wave = Snapshot::from_json(&bytes).unwrap();
            let variables = snapshot["variables"].as_array().into_iter().flatten();
            for variable in variables.filter(|v| v["name"] == "id" && v["kind"] == "value") {
                for lane in variable["lanes"].as_array().unwrap() {
                    let number_of_lane = u8::try_from(number(&lane["lane"])).unwrap();
                    let x = u32::try_from(number(&lane["value"])).unwrap();
                    assert_eq!(
                        wave.work_item(Lane(number_of_lane)),
                        Some([x, 0, 0]),
                        "{} lane {number_of_lane}",
                        case.display()
                    );
                    seen += 1;
                    in_second_waves += u32::from(wave.dispatch.unwrap().wave_in_group == 1);
                }
            }
        }
    }
    assert!(
        seen > 300 && in_second_waves > 40,
        "{seen} {in_second_waves}"
    );
}

/// The words of a text between two quotation marks.
fn quoted(text: &str, mark: char) -> Vec<&str> {
    text.split(mark).skip(1).step_by(2).collect()
}

/// Returns the line of a file that contains a text.
fn line(path: &str, part: &str) -> String {
    let text = std::fs::read_to_string(package().join("..").join(path)).unwrap();
    let found: Vec<&str> = text.lines().filter(|line| line.contains(part)).collect();
    assert_eq!(found.len(), 1, "{path}: {part}");
    found[0].to_owned()
}

/// The schema and the documents name the memories, and the address spaces, by the names that the code uses.
#[test]
fn the_documents_name_the_memories_that_there_are() {
    let memories = Memory::ALL.map(Memory::name).to_vec();
    let enumerated = json(&note("hetdwarf-wave-1.schema.json"));
    let enumerated = enumerated["$defs"]["region"]["properties"]["space"]["enum"].clone();
    assert_eq!(enumerated, json!(memories), "the schema");
    let note = line("spec-notes/snapshot.md", "| `space` |");
    assert_eq!(quoted(&note, '`')[1..], memories, "{note}");
    let python = line("python/README.md", "def read_memory(");
    assert_eq!(quoted(&python, '"'), memories, "{python}");

    let glossary = line("docs/glossary.md", "| address space |");
    let (list, _) = glossary.split_once(". Addresses").unwrap();
    let mut named = quoted(list, '`');
    let mut spaces: Vec<&str> = AddressSpace::ALL.iter().map(|space| space.name()).collect();
    named.sort_unstable();
    spaces.sort_unstable();
    assert_eq!(named, spaces, "{glossary}");
}
