//! Tests the pictures of lane positions. The snapshots are reviewed by eye. This test checks that they are XML, and show exactly the
//! position of each lane.

use std::collections::BTreeMap;

use dwarf_tests::{fixture, hetdwarf, json};
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::report::{LanePcDocument, LanePicture};
use hetdwarf::wave::Snapshot;
use insta::assert_snapshot;
use roxmltree::{Document, Node, ParsingOptions};

/// The wave of `examples/where_are_my_lanes.rs`, in the `else` of the inner decision: the lanes that entered the function, and the lanes
/// for which the conditions are true.
const ENTERED: u64 = 0x0000_ffff_ffff_ffff;
const A_IS_GREATER: u64 = 0xff00_ff00_ff00_ff00;
const B_IS_GREATER: u64 = 0x0ff0_0ff0_0ff0_0ff0;

/// Returns the output of the command for the wave, and both pictures that it writes.
fn command() -> (String, String, String) {
    let folder = std::env::temp_dir().join(format!(
        "hetdwarf-picture-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::create_dir_all(&folder).unwrap();
    let (svg, html) = (folder.join("lanes.svg"), folder.join("lanes.html"));
    let arguments: [std::ffi::OsString; 8] = [
        "lane-pc".into(),
        fixture("corpus/rocm-style/lane_pc.hsaco").into(),
        "--wave".into(),
        fixture("lane_pc/nested-else.json").into(),
        "--svg".into(),
        svg.clone().into(),
        "--html".into(),
        html.clone().into(),
    ];
    let ran = hetdwarf(arguments);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    let read = |path| std::fs::read_to_string(path).unwrap();
    let all = (ran.out, read(svg), read(html));
    std::fs::remove_dir_all(folder).unwrap();
    all
}

/// Returns the picture with a source.
fn picture(source: &str) -> LanePicture {
    let file = std::fs::read(fixture("corpus/rocm-style/lane_pc.hsaco")).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let wave =
        Snapshot::from_json(&std::fs::read(fixture("lane_pc/nested-else.json")).unwrap()).unwrap();
    let arena = Arena::new();
    let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::default(), &arena);
    let frame = stop.call_frame(0).unwrap();
    let document = LanePcDocument::new(&frame).unwrap();
    let read = |path: &str, folder: Option<&str>| {
        assert_eq!((path, folder), ("./lane_pc.c", Some(".")));
        Some(source.as_bytes().to_vec())
    };
    LanePicture::new(&frame, &document, &read).unwrap()
}

fn parse(text: &str) -> Document<'_> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the number of lanes of each kind, by the tooltip.
fn lanes(document: &Document<'_>) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for node in document.descendants().filter(Node::is_element) {
        let below = node
            .children()
            .find(|child| child.has_tag_name((node.tag_name().namespace().unwrap(), "title")));
        let title = node
            .attribute("title")
            .or_else(|| below.and_then(|title| title.text()));
        let (Some(title), Some(class)) = (title, node.attribute("class")) else {
            continue;
        };
        let (lane, place) = title
            .strip_prefix("lane ")
            .unwrap()
            .split_once(": ")
            .unwrap();
        *found.entry(format!("{class} {place}")).or_insert(0) |= 1 << lane.parse::<u32>().unwrap();
    }
    found
}

/// Returns the positions of lanes according to the source. The lanes of `else` are active, the lanes of `then` wait after the inner
/// decision, and the lanes of the outer `else` wait at its decision.
fn expected() -> BTreeMap<String, u64> {
    let outer = ENTERED & A_IS_GREATER;
    [
        (
            "active active, pc 0x132c, lane_pc.c:10",
            outer & !B_IS_GREATER,
        ),
        (
            "waiting waiting, pc 0x1334, lane_pc.c:12",
            outer & B_IS_GREATER,
        ),
        (
            "waiting waiting, pc 0x1310, lane_pc.c:5",
            ENTERED & !A_IS_GREATER,
        ),
        ("elsewhere not active on entry", !ENTERED),
    ]
    .map(|(title, lanes)| (title.to_owned(), lanes))
    .into()
}

#[test]
fn the_command_writes_pictures() {
    let (text, svg, html) = command();
    assert_snapshot!("picture-text", text);
    assert_snapshot!("picture-svg", svg);
    for picture in [&svg, &html] {
        let document = parse(picture);
        assert_eq!(lanes(&document), expected());
    }
    assert_eq!(command(), (text, svg, html));
}

#[test]
fn the_source_is_beside_the_lanes() {
    let source = std::fs::read_to_string(fixture("corpus/src/lane_pc.c")).unwrap();
    let picture = picture(&source);
    assert_snapshot!("picture-source-html", picture.html());
    for (text, line) in [(picture.svg(), "text"), (picture.html(), "td")] {
        let document = parse(&text);
        assert_eq!(lanes(&document), expected());
        let shown: Vec<&str> = document
            .descendants()
            .filter(|node| node.tag_name().name() == line)
            .filter_map(|node| node.text())
            .collect();
        // The lines with lanes are shown as in the file, with spaces for tabs.
        for number in [5, 10, 12] {
            let line = source
                .lines()
                .nth(number - 1)
                .unwrap()
                .replace('\t', "    ");
            assert!(shown.contains(&line.as_str()), "{number}: {shown:?}");
        }
    }
}

#[test]
fn nothing_in_a_source_breaks_a_picture() {
    let nasty =
        "</text><script>alert(1)</script> &amp; \"' ]]> <!-- \u{1} \u{ffff} \u{202e}\n".repeat(20);
    let picture = picture(&nasty);
    for text in [picture.svg(), picture.html()] {
        let document = parse(&text);
        let names = document.descendants().map(|node| node.tag_name().name());
        assert!(!names.clone().any(|name| name == "script"), "{text}");
        assert_eq!(lanes(&document), expected());
        // The picture loads no other resources.
        for node in document.descendants() {
            let mut attributes = node.attributes();
            assert!(
                !attributes.any(|one| ["href", "src"].contains(&one.name())),
                "{text}"
            );
        }
        assert!(!text.contains("url(") && !text.contains("@import"));
    }
}

#[test]
fn without_exec_it_says_so() {
    let object = fixture("corpus/rocm-style/lane_pc.hsaco");
    let wave = fixture("lane_pc/nested-no-exec.json");
    let ran = hetdwarf([
        "lane-pc".into(),
        object.into_os_string(),
        "--wave".into(),
        wave.into_os_string(),
    ]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""));
    assert!(
        ran.err.contains("register exec are not available"),
        "{}",
        ran.err
    );
}

#[test]
fn without_the_attribute_it_says_so() {
    let case = fixture("waves/calls-O2");
    let run = |format: &str| {
        hetdwarf([
            "lane-pc".into(),
            case.join("calls-O2.rocm.hsaco").into_os_string(),
            "--wave".into(),
            case.join("w06.json").into_os_string(),
            "--no-recover".into(),
            "--format".into(),
            format.into(),
        ])
    };
    let text = run("text");
    assert!(
        text.out
            .contains("the positions of inactive lanes are unknown"),
        "{}",
        text.out
    );
    let answer: serde_json::Value = serde_json::from_str(&run("json").out).unwrap();
    assert_eq!(answer["known"], false);
    // Active lanes are at the pc, and other lanes have no position.
    let wave = json(&case.join("w06.json"));
    let exec = dwarf_tests::number(&wave["registers"]["exec"]);
    for (number, lane) in answer["lanes"].as_array().unwrap().iter().enumerate() {
        let is_active = exec >> number & 1 == 1;
        assert_eq!(lane["active"], is_active);
        let pc = (!lane["pc"].is_null()).then(|| dwarf_tests::number(&lane["pc"]));
        assert_eq!(pc, is_active.then(|| dwarf_tests::number(&wave["pc"])));
    }
}

/// Lanes without an attribute are drawn where the machine code places them. The emulator gives the true addresses, and the picture has the
/// line of each.
#[test]
fn recovered_lanes_are_drawn() {
    let case = fixture("lanes/ifelse-gfx1100-O2");
    let truth = json(&case.join("truth.json"));
    let file = std::fs::read(case.join("ifelse-gfx1100-O2.hsaco")).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let mut drawn = 0;
    for stop in truth["snapshots"].as_array().unwrap() {
        let packed = std::fs::File::open(case.join(stop["wave"].as_str().unwrap())).unwrap();
        let wave = std::io::read_to_string(flate2::read::GzDecoder::new(packed)).unwrap();
        let wave = Snapshot::from_json(wave.as_bytes()).unwrap();
        let arena = Arena::new();
        let options = StopOptions::loaded_at(wave.load_address);
        let stopped = Stop::new(&program, &wave, wave.pc(), options, &arena);
        let frame = stopped.call_frame(0).unwrap();
        let document = LanePcDocument::new(&frame).unwrap();
        let picture = LanePicture::new(&frame, &document, &|_, _| None).unwrap();
        let text = picture.html();
        for group in stop["groups"].as_array().unwrap() {
            for lane in group["lanes"].as_array().unwrap() {
                let pc = document.lanes[lane.as_u64().unwrap() as usize].pc.unwrap();
                let title = format!("lane {lane}: waiting, pc {:#x}", pc.0);
                assert!(text.contains(&title), "{title} is not in {text}");
                drawn += 1;
            }
        }
        assert!(!text.contains("position unknown"), "{text}");
    }
    assert!(drawn > 20, "{drawn}");
}
