//! Tests the additions of `hetdwarf annotate`, and that everything else is unchanged.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use dwarf_tests::{corpus, fixture, hetdwarf, json, lane_cases, llvm_tool, number, wave_cases};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use serde_json::Value;

/// A folder for a test's files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("hetdwarf-annotate-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Unpacks the snapshot of a wave of the lane tests.
    fn wave(&self, packed: &Path) -> PathBuf {
        let mut text = Vec::new();
        let file = std::fs::File::open(packed).unwrap();
        flate2::read::GzDecoder::new(file)
            .read_to_end(&mut text)
            .unwrap();
        let path = self.0.join("wave.json");
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Annotates a file with all optional additions. Returns the document.
fn annotate(input: &Path, output: &Path) -> Value {
    let ran = hetdwarf([
        "annotate".as_ref(),
        input.as_os_str(),
        "-o".as_ref(),
        output.as_os_str(),
        "--active-lane".as_ref(),
        "--format".as_ref(),
        "json".as_ref(),
    ]);
    assert_eq!(
        (ran.status, ran.err.as_str()),
        (0, ""),
        "{}",
        input.display()
    );
    serde_json::from_str(&ran.out).unwrap()
}

fn lane_pc(object: &Path, wave: &Path, option: &str) -> Value {
    let ran = hetdwarf([
        "lane-pc".as_ref(),
        object.as_os_str(),
        "--wave".as_ref(),
        wave.as_os_str(),
        option.as_ref(),
        "--format".as_ref(),
        "json".as_ref(),
    ]);
    assert_eq!(
        (ran.status, ran.err.as_str()),
        (0, ""),
        "{}",
        object.display()
    );
    serde_json::from_str(&ran.out).unwrap()
}

/// Returns every object of the tests: of the corpus, the waves and the lanes.
fn objects() -> Vec<PathBuf> {
    let mut files = corpus();
    for case in wave_cases().into_iter().chain(lane_cases()) {
        let truth = json(&case.join("truth.json"));
        files.push(case.join(truth["object"].as_str().unwrap()));
    }
    files
}

fn is_within(runs: &Value, pc: u128) -> bool {
    runs.as_array().unwrap().iter().any(|run| {
        let [first, last] = [&run[0], &run[1]].map(number);
        (first..=last).contains(&pc)
    })
}

/// Without recovery, the annotated object gives the same state for every stop and lane as recovery gives for the original, and an address
/// that the emulator accepts. The address differs only for lanes that could wait in another wave together with lanes that diverge from
/// them.
#[test]
fn annotations_say_what_recovery_says() {
    let folder = Folder::new("lanes");
    let (mut waiting, mut left_out, mut lanes_seen) = (0, 0, 0);
    let (mut same, mut expected_line) = (0, 0);
    for case in lane_cases() {
        let truth = json(&case.join("truth.json"));
        let object = case.join(truth["object"].as_str().unwrap());
        let annotated = folder.path("annotated.hsaco");
        let document = annotate(&object, &annotated);
        assert_eq!(document["changed"], true, "{}", case.display());
        for stop in truth["snapshots"].as_array().unwrap() {
            let at = format!("{} {}", truth["case"], stop["wave"]);
            let wave = folder.wave(&case.join(stop["wave"].as_str().unwrap()));
            let load_address = number(&json(&wave)["load_address"]);
            let recovered = lane_pc(&object, &wave, "--recover");
            let said = lane_pc(&annotated, &wave, "--no-recover");
            if said["known"] == false {
                left_out += 1;
                continue;
            }
            let places: BTreeMap<u64, &Value> = (stop["groups"].as_array().unwrap().iter())
                .filter(|group| group["frame"] == 0)
                .flat_map(|group| {
                    let lanes = group["lanes"].as_array().unwrap().iter();
                    lanes.map(move |lane| (lane.as_u64().unwrap(), group))
                })
                .collect();
            let lanes = [&recovered, &said].map(|document| document["lanes"].as_array().unwrap());
            for (recovered, said) in lanes[0].iter().zip(lanes[1]) {
                let at = format!("{at}: {recovered} {said}");
                lanes_seen += 1;
                assert_eq!(recovered["state"], said["state"], "{at}");
                if said["state"] != "waiting" {
                    assert_eq!(recovered["pc"], said["pc"], "{at}");
                    continue;
                }
                same += usize::from(recovered["pc"] == said["pc"]);
                assert_eq!(said["origin"], "dwarf", "{at}");
                let pc = number(&said["pc"]) - load_address;
                let group = places[&said["lane"].as_u64().unwrap()];
                assert!(is_within(&group["right"], pc), "{at} {group}");
                let lines = [&group["line_decision"], &group["line_arrival"]];
                expected_line += usize::from(lines.contains(&&said["line"]));
                waiting += 1;
            }
        }
    }
    println!("{lanes_seen} lanes, {waiting} wait; {left_out} stops are left out");
    println!("{same} at the same address, {expected_line} with an expected line");
    assert!(same * 100 >= waiting * 95, "{same}");
    assert!(expected_line * 100 >= waiting * 71, "{expected_line}");
    assert!(waiting > 6000);
    // Two of the stops are in a loop whose mask is stored in several places. In these loops, no lane has one bit without the others.
    assert_eq!(left_out, 0);
}

/// Returns the loaded bytes of an ELF file, with their headers, and the sections that are not debugging information.
fn unchanged_part(file: &[u8]) -> (Vec<Vec<u8>>, BTreeMap<String, Vec<u8>>) {
    type Elf = object::elf::FileHeader64<object::Endianness>;
    let header = Elf::parse(file).unwrap();
    let endian = header.endian().unwrap();
    let segments = header.program_headers(endian, file).unwrap();
    let loaded = segments.iter().map(|segment| {
        let offset = segment.p_offset(endian) as usize;
        let size = segment.p_filesz(endian) as usize;
        let mut bytes = format!("{segment:?}").into_bytes();
        // The header's own bytes name the section headers.
        let start = if offset == 0 { 64 } else { offset };
        bytes.extend(&file[start.min(offset + size)..offset + size]);
        bytes
    });
    let loaded = loaded.collect();
    let sections = header.sections(endian, file).unwrap();
    let mut others = BTreeMap::new();
    for section in sections.iter() {
        let name = String::from_utf8(sections.section_name(endian, section).unwrap().to_vec());
        let name = name.unwrap();
        if !name.starts_with(".debug_") && name != ".shstrtab" {
            let data = section.data(endian, file).unwrap().to_vec();
            others.insert(name, data);
        }
    }
    (loaded, others)
}

/// Returns `llvm-dwarfdump`'s text of all entries, without the additions and without moved offsets.
fn entries(tool: &Path, file: &Path) -> Vec<String> {
    let ran = Command::new(tool)
        .arg("--debug-info")
        .arg(file)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let added = [
        "DW_AT_LLVM_lanes",
        "DW_AT_LLVM_lane_pc",
        "DW_AT_LLVM_active_lane",
        // LLVM's name for the last attribute's code.
        "DW_AT_LLVM_ptrauth_isa_pointer",
    ];
    let lines = text
        .lines()
        .skip(1)
        .filter(|line| !added.iter().any(|name| line.contains(name)));
    lines.map(without_offsets).collect()
}

/// Replaces the offsets and lengths in a line.
fn without_offsets(line: &str) -> String {
    // `0x0000006e:  DW_TAG…`, `(0x0000005a "int *")`, `length = 0x…, abbr_offset = 0x…`.
    let text = match line.split_once(':') {
        Some((start, rest)) if start.starts_with("0x") && !start.contains(' ') => rest,
        _ => line,
    };
    if text.contains("Unit: length = ") {
        let moves = ["length = ", "abbr_offset", "next unit"];
        let fields = text.split([',', '(']);
        let fields = fields.filter(|field| !moves.iter().any(|name| field.contains(name)));
        return fields.collect();
    }
    // `DW_OP_GNU_parameter_ref` has an entry as its operand. LLVM does not know it.
    if let Some((start, _)) = text.split_once("<decoding error> fa ") {
        return start.to_owned();
    }
    // The operands of these operations refer to entries.
    for name in [
        "DW_OP_implicit_pointer 0x",
        "DW_OP_GNU_implicit_pointer 0x",
        "DW_OP_call4 0x",
    ] {
        if let Some((start, rest)) = text.split_once(name) {
            let end = rest.find([' ', ',', ')']).unwrap_or(rest.len());
            return format!("{start}{name}{}", without_offsets(&rest[end..]));
        }
    }
    let mut parts = text.split("(0x");
    let mut line = parts.next().unwrap().to_owned();
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_hexdigit());
        let digits = digits.unwrap_or(part.len());
        line += if digits == 8 { "(" } else { "(0x" };
        line += if digits == 8 { &part[digits..] } else { part };
    }
    line
}

/// Returns the smallest of the objects that differ only in their source: the compiler, the target, the level and the rest of the name make
/// a kind. All objects together would take ten minutes.
fn smallest_of_each_kind(objects: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut found: BTreeMap<(String, String), (u64, PathBuf)> = BTreeMap::new();
    for object in objects {
        let name = object.file_name().unwrap().to_string_lossy().into_owned();
        let folder = object.parent().unwrap().file_name().unwrap();
        let folder = folder.to_string_lossy().into_owned();
        // `SOURCE-TARGET-LEVEL…`; a case of waves or lanes has a folder of the same name.
        let kind = match name.split_once('-') {
            Some((_, kind)) => kind.to_owned(),
            None => format!("{folder} {name}"),
        };
        let folder = match name.starts_with(&folder) {
            true => "cases".to_owned(),
            false => folder,
        };
        let size = object.metadata().unwrap().len();
        let new = (size, object);
        found
            .entry((folder, kind))
            .and_modify(|known| *known = known.clone().min(new.clone()))
            .or_insert(new);
    }
    found.into_values().map(|(_, object)| object).collect()
}

#[test]
fn nothing_else_changes() {
    let folder = Folder::new("rest");
    let dwarfdump = llvm_tool("llvm-dwarfdump");
    let (mut changed, mut functions, mut covered, mut size) = (0, 0, 0, 0);
    // Each object of GCC contains a whole library, so one is enough.
    let is_gcc = |object: &PathBuf| object.components().any(|part| part.as_os_str() == "gcc12");
    // `annotate_containers.rs` tests containers.
    let is_alone = |object: &PathBuf| {
        let file = std::fs::read(object).unwrap();
        hetdwarf::object::CodeObject::parse(&file).is_ok()
    };
    let all = objects().into_iter().filter(is_alone);
    let (gcc, all): (Vec<_>, Vec<_>) = all.partition(is_gcc);
    let mut all = smallest_of_each_kind(all);
    all.extend(gcc.into_iter().take(1));
    for object in all {
        let name = object.display().to_string();
        let annotated = folder.path("annotated.hsaco");
        let document = annotate(&object, &annotated);
        let [before, after] = [&object, &annotated].map(|path| std::fs::read(path).unwrap());
        if document["changed"] == false {
            assert!(before == after, "{name}");
            continue;
        }
        changed += 1;
        for function in document["functions"].as_array().unwrap() {
            if is_gcc(&object) || function.get("left_alone").is_some() {
                continue;
            }
            functions += 1;
            covered += function["covered"].as_u64().unwrap();
            size += function["size"].as_u64().unwrap();
        }
        assert!(unchanged_part(&before) == unchanged_part(&after), "{name}");
        // Annotating the output again changes nothing.
        let again = folder.path("again.hsaco");
        assert_eq!(annotate(&annotated, &again)["changed"], false, "{name}");
        assert!(std::fs::read(&again).unwrap() == after, "{name}");
        if let Some(tool) = &dwarfdump {
            let [old, new] = [&object, &annotated].map(|path| entries(tool, path));
            let different = old.iter().zip(&new).find(|(old, new)| old != new);
            assert_eq!(different, None, "{name}");
            assert_eq!(old.len(), new.len(), "{name}");
            // llvm-dwarfdump does not finish for GCC's objects.
            if is_gcc(&object) {
                continue;
            }
            let problems = [&object, &annotated].map(|path| {
                let ran = Command::new(tool)
                    .arg("--verify")
                    .arg(path)
                    .output()
                    .unwrap();
                let text = String::from_utf8_lossy(&ran.stdout).into_owned()
                    + &String::from_utf8_lossy(&ran.stderr);
                text.lines()
                    .filter(|line| line.starts_with("error"))
                    .count()
            });
            assert_eq!(problems[0], problems[1], "{name}");
        }
    }
    println!("{changed} objects, {functions} functions, {covered} of {size} bytes covered");
    assert!(changed > 100 && covered * 100 > size * 90);
}

/// Tests inputs and outputs that the command rejects, and files that it leaves unchanged.
#[test]
fn files_are_handled_with_care() {
    let folder = Folder::new("files");
    let object = fixture("lanes/divcalls-gfx1100-O2/divcalls-gfx1100-O2.hsaco");
    let input = folder.path("in.hsaco");
    std::fs::copy(&object, &input).unwrap();
    let before = std::fs::read(&input).unwrap();
    let run = |input: &Path, output: &Path, more: &[&str]| {
        let mut arguments = vec!["annotate".into(), input.as_os_str().to_owned()];
        arguments.extend(["-o".into(), output.as_os_str().to_owned()]);
        arguments.extend(more.iter().map(Into::into));
        hetdwarf(arguments)
    };
    // The input is never overwritten, regardless of the name by which the output is given.
    for output in [input.clone(), folder.path("./in.hsaco")] {
        let ran = run(&input, &output, &[]);
        assert_eq!(ran.status, 2);
        assert!(ran.err.contains("another file"), "{}", ran.err);
        assert!(std::fs::read(&input).unwrap() == before);
    }
    // A failed write leaves no file.
    let ran = run(&input, &folder.path("none/out.hsaco"), &[]);
    assert_eq!(ran.status, 2);
    // Only one of several functions is annotated.
    let output = folder.path("out.hsaco");
    let ran = run(&input, &output, &["--only", "k", "--report"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(
        ran.out.contains("k (0x") && !ran.out.contains("outer"),
        "{}",
        ran.out
    );
    assert!(std::fs::read(&output).unwrap() != before);
    // A file that is not a code object is copied, with a message.
    let ran = run(&fixture("object/not-there"), &output, &[]);
    assert_eq!(ran.status, 2);
    let relocatable = corpus()
        .into_iter()
        .find(|path| path.extension().unwrap() == "o");
    let relocatable = relocatable.unwrap();
    let ran = run(&relocatable, &output, &[]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.contains("relocatable"), "{}", ran.out);
    assert!(std::fs::read(&output).unwrap() == std::fs::read(&relocatable).unwrap());
    // No temporary file remains.
    let left: Vec<_> = std::fs::read_dir(&folder.0).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// Functions that a limit leaves incomplete are reported in text and JSON. The file is still written, because its contents are right.
#[test]
fn what_a_limit_leaves_out_is_said() {
    let folder = Folder::new("limit");
    let input = fixture("lanes/earlyret-gfx1100-O0/earlyret-gfx1100-O0.hsaco");
    let output = folder.path("out.hsaco");
    let annotate = |input: &Path, more: &[&str], status: u8| {
        let mut arguments = vec!["annotate".into(), input.as_os_str().to_owned()];
        arguments.extend(["-o".into(), output.as_os_str().to_owned()]);
        arguments.extend(more.iter().map(Into::into));
        let ran = hetdwarf(arguments);
        assert_eq!(ran.status, status, "{}", ran.err);
        ran.out
    };
    let run = |more: &[&str]| {
        let status = if more.contains(&"--limit") { 2 } else { 0 };
        annotate(&input, more, status)
    };
    let document = |more: &[&str]| -> Value {
        let out = run(&[more, &["--format", "json"]].concat());
        serde_json::from_str(&out).unwrap()
    };
    let whole = document(&[]);
    assert_eq!(whole.get("complete"), None);
    assert!(!run(&[]).contains("not complete"));

    let little = ["--limit", "work=20000", "--limit", "work-per-byte=8"];
    let short = document(&little);
    assert_eq!(short["complete"], false);
    let sums = |document: &Value, number: &dyn Fn(&Value) -> u64| -> u64 {
        let functions = document["functions"].as_array().unwrap();
        functions.iter().map(number).sum()
    };
    let at_limit = sums(&short, &|function| {
        function["missing"]["limit"].as_u64().unwrap_or(0)
    });
    let covered =
        |document: &Value| sums(document, &|function| function["covered"].as_u64().unwrap());
    assert!(at_limit > 0 && covered(&short) < covered(&whole));
    let text = run(&little);
    let limit = short["limit"].as_str().unwrap();
    assert!(limit.starts_with("the limit `work` of "), "{limit}");
    assert!(text.contains(&format!("not complete: {limit}")), "{text}");

    // Here the analysis itself gives up. A higher limit does not help, so the status is 0.
    let input = fixture("lanes/sw-gfx90a-O2/sw-gfx90a-O2.hsaco");
    for more in [&[][..], &["--limit", "work=400000000"]] {
        let text = annotate(&input, more, 0);
        let expected = "not complete: the analysis of 32 bytes of code would take too long";
        assert!(text.contains(expected), "{text}");
        let document = annotate(&input, &[more, &["--format", "json"]].concat(), 0);
        let document: Value = serde_json::from_str(&document).unwrap();
        assert_eq!(document["complete"], false);
        assert_eq!(document.get("limit"), None);
    }
}

/// Damaged objects result in an error or a file, and never in a panic.
#[test]
fn damaged_objects_are_survived() {
    let object = fixture("corpus/llvm22/small-gfx1100-O2-gz-zlib.hsaco");
    let plain = fixture("lanes/ifelse-gfx1100-O2/ifelse-gfx1100-O2.hsaco");
    let limits = hetdwarf::Limits::default();
    let (mut written, mut errors) = (0, 0);
    for path in [object, plain] {
        let file = std::fs::read(path).unwrap();
        for seed in 0..300_usize {
            let mut file = file.clone();
            // The positions and values are the same on every run.
            for n in 0..3_usize {
                let word = (seed * 3 + n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17;
                let at = word % file.len();
                file[at] ^= (word >> 40) as u8 | 1;
            }
            if seed % 10 == 0 {
                file.truncate(file.len() * (seed + 1) / 300);
            }
            match hetdwarf::annotate::annotate(
                &file,
                &limits,
                &hetdwarf::annotate::Request::new(&|_| true),
            ) {
                Ok(found) => {
                    written += 1;
                    assert!(found.file.len() < 1 << 20);
                }
                Err(_) => errors += 1,
            }
        }
    }
    println!("{written} written, {errors} refused");
    assert!(written > 100 && errors > 30);
}

/// The output can be opened and has the original symbols: for a file with a segment that ends inside its symbol table, and for one without
/// its section names, which is left unchanged.
#[test]
fn damaged_layouts_give_files_that_can_be_opened() {
    let folder = Folder::new("layouts");
    let given = dwarf_tests::package().join("tests/hostile/given");
    for (name, is_changed) in [("annfz-info-551", true), ("annfz-info-93", false)] {
        let mut before = Vec::new();
        let packed = std::fs::File::open(given.join(format!("{name}.hsaco.gz"))).unwrap();
        let mut packed = flate2::read::GzDecoder::new(packed);
        packed.read_to_end(&mut before).unwrap();
        let (input, output) = (folder.path("in"), folder.path("out"));
        std::fs::write(&input, &before).unwrap();
        let document = annotate(&input, &output);
        assert_eq!(document["changed"], is_changed, "{name}: {document}");
        let complete = document.get("complete").and_then(Value::as_bool);
        assert_eq!(complete, (!is_changed).then_some(false), "{name}");
        let after = std::fs::read(&output).unwrap();
        let symbols = |file: &[u8]| {
            let object = hetdwarf::object::CodeObject::parse(file).unwrap();
            let symbols = object.symbols().unwrap();
            let symbols = symbols.iter();
            symbols
                .map(|one| (one.name.to_string(), one.address))
                .collect::<Vec<_>>()
        };
        assert_eq!(symbols(&before), symbols(&after), "{name}");
        assert!(is_changed || before == after);
        assert_eq!(
            hetdwarf(["info".as_ref(), output.as_os_str()]).status,
            0,
            "{name}"
        );
    }
}

/// The wave is in a whole-wave section of `earlyret` at -O0: 0x3090 is `s_or_saveexec_b32 s17, -1`, 0x3094 a load, and 0x309c, where the
/// wave stopped, `s_mov_b32 exec_lo, s17`. s17 is 0xc0507998, the active lanes, and EXEC has all lanes. Without `DW_AT_LLVM_active_lane`,
/// the attributes give EXEC as the active lanes.
#[test]
fn active_lanes_of_annotated_code_are_asked_of_the_code() {
    let folder = Folder::new("active");
    let case = fixture("lanes/earlyret-gfx1100-O0");
    let object = case.join("earlyret-gfx1100-O0.hsaco");
    let annotated = folder.path("annotated.hsaco");
    let text = |path: &Path| path.display().to_string();
    let arguments = [
        "annotate".to_owned(),
        text(&object),
        "-o".to_owned(),
        text(&annotated),
    ];
    assert_eq!(hetdwarf(arguments).status, 0);
    let wave = folder.wave(&case.join("w03.json.gz"));
    let active = |more: &[&str]| {
        let mut arguments = vec!["lane-pc".to_owned(), text(&annotated)];
        arguments.extend(["--wave".to_owned(), text(&wave)]);
        arguments.extend(["--format", "json"].map(str::to_owned));
        arguments.extend(more.iter().map(|one| (*one).to_owned()));
        let document: Value = serde_json::from_str(&hetdwarf(arguments).out).unwrap();
        let lanes = document["lanes"].as_array().unwrap().iter();
        let active = lanes.filter(|lane| lane["active"] == true);
        active.fold(0_u32, |mask, lane| {
            mask | 1 << lane["lane"].as_u64().unwrap()
        })
    };
    assert_eq!(active(&[]), 0xc050_7998);
    assert_eq!(active(&["--no-recover"]), u32::MAX);
}
