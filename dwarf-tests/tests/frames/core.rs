//! Reads the frames of the waves of cores from `core`, its text and its page, and from commands that take a wave of a core.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use dwarf_tests::cores::{self, Folder};
use dwarf_tests::{hetdwarf, number};
use serde_json::Value;

use super::lanes::of_document;
use super::{Frame, Pair, c, list, of_documents, of_rust, text};

/// A core in a folder.
struct Core {
    name: &'static str,
    folder: Folder,
    path: PathBuf,
}

impl Core {
    fn all() -> Vec<Core> {
        let mut all: Vec<Core> = ["gfx1100", "gfx1100-lds", "gfx90a"]
            .into_iter()
            .map(|name| {
                let folder = Folder::of(name);
                let path = folder.path("merged.core");
                Core { name, folder, path }
            })
            .collect();
        let folder = Folder::new();
        let path = folder.path("demo.core");
        std::fs::write(&path, cores::demo::calls().merged()).unwrap();
        all.push(Core {
            name: "demo",
            folder,
            path,
        });
        all
    }

    fn run(&self, command: &[&str], more: &[&str]) -> String {
        let core = self.path.to_str().unwrap();
        let ran = hetdwarf(command.iter().chain(&[core]).chain(more).copied());
        assert!(ran.status < 2, "{}: {command:?}: {}", self.name, ran.err);
        ran.out
    }

    fn document(&self, command: &[&str], more: &[&str]) -> Value {
        let out = self.run(command, &[&["--format=json"], more].concat());
        serde_json::from_str(&out).unwrap()
    }

    /// Writes the waves and code objects to files, and returns the files of each wave.
    fn exported(&self, document: &Value) -> BTreeMap<usize, Pair> {
        let out = self.folder.path("export");
        self.run(&["core"], &["--export", out.to_str().unwrap()]);
        let path = |name: String| Path::join(&out, name);
        let waves = list(&document["waves"]).iter().filter_map(|wave| {
            let index = usize::try_from(wave["index"].as_u64().unwrap()).unwrap();
            let pair = Pair {
                object: path(format!("object-{}.hsaco", wave["code_object"].as_u64()?)),
                wave: path(format!("wave-{index}.json")),
            };
            Some((index, pair))
        });
        waves.collect()
    }
}

/// Parses the JSON of a script element of a page.
fn script(page: &str, id: &str) -> Value {
    let start = format!("<script type=\"application/json\" id=\"{id}\">");
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no {id}"));
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// Resolves a place in a page to the name of the file and the line.
fn place(sources: &Value, source: &Value) -> Option<(String, u64)> {
    let file = usize::try_from(source[0].as_u64()?).unwrap();
    let name = sources[file]["name"].as_str().unwrap().to_owned();
    Some((name, source[1].as_u64().unwrap()))
}

/// Compares the page's frames of a wave.
fn check_page(name: &str, page: &str, wave: usize, frames: &[Frame], lane_pc: &Value) {
    let sources = &script(page, "end")["sources"];
    let detail = script(page, &format!("wave-{wave}"));
    let shown = list(&detail["frames"]);
    assert_eq!(shown.len(), frames.len(), "{name}");
    for (shown, frame) in shown.iter().zip(frames) {
        assert_eq!(u128::from(frame.pc), number(&shown["pc"]), "{name}");
        assert_eq!(shown["kind"], *frame.kind, "{name}");
        assert_eq!(
            shown["function"].as_str(),
            frame.function.as_deref(),
            "{name}"
        );
        assert_eq!(shown["call"], frame.call_frame, "{name}");
        let place = place(sources, &shown["source"]);
        assert_eq!(place.as_ref().map(|place| place.1), frame.line, "{name}");
        if let (Some((file, _)), Some(path)) = (place, &frame.file) {
            assert!(
                format!("/{path}").ends_with(&format!("/{file}")),
                "{name}: {file}, {path}"
            );
        }
    }
    // The page has the positions of the lanes.
    let lanes = of_document(lane_pc);
    let places = list(&detail["lanes"]).iter().map(|index| {
        let index = usize::try_from(index.as_u64().unwrap()).unwrap();
        &detail["places"][index]
    });
    let places: Vec<&Value> = places.collect();
    assert_eq!(places.len(), lanes.len(), "{name}");
    for (shown, lane) in places.iter().zip(&lanes) {
        let at = format!("{name}: {lane:?}, {shown}");
        assert_eq!(shown["state"], *lane.state, "{at}");
        let (pc, frame, line) = match (&lane.caller, lane.pc) {
            (Some(caller), _) => (Some(caller.pc), Some(caller.frame), caller.line),
            (None, Some(pc)) => (Some(pc), Some(frames[0].call_frame), lane.line),
            (None, None) => (None, None, None),
        };
        assert_eq!(
            shown["frame"].as_u64(),
            frame.map(|frame| frame as u64),
            "{at}"
        );
        let address = (!shown["pc"].is_null()).then(|| number(&shown["pc"]));
        assert_eq!(address, pc.map(u128::from), "{at}");
        assert_eq!(
            place(sources, &shown["source"]).map(|place| place.1),
            line,
            "{at}"
        );
    }
}

/// Returns the stack of each wave that the text shows in full, by the number of the wave.
fn stacks_of_text(text: &str) -> BTreeMap<usize, Vec<String>> {
    let mut stacks: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut wave = None;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("wave ") {
            wave = title.split(' ').next().unwrap().parse().ok();
        } else if let (Some(wave), Some(frame)) = (wave, line.strip_prefix("  #")) {
            stacks.entry(wave).or_default().push(frame.to_owned());
        }
    }
    stacks
}

#[test]
fn a_core_its_text_and_its_page_have_the_same_frames() {
    let (mut waves, mut in_full, mut inlined) = (0, 0, 0);
    for core in Core::all() {
        let document = core.document(&["core"], &[]);
        let shown = stacks_of_text(&core.run(&["core"], &["--all"]));
        let groups_text = core.run(&["core"], &["--all"]);
        let page = core.folder.path("page.html");
        let more = ["--all", "--html", page.to_str().unwrap()];
        core.run(&["core"], &more);
        let page = std::fs::read_to_string(page).unwrap();
        let pairs = core.exported(&document);
        // File names are shortened to distinguish the files of all waves.
        let stops = pairs
            .iter()
            .map(|(wave, pair)| (*wave, pair.with_stop(of_rust)));
        let stops: BTreeMap<usize, Vec<Frame>> = stops.collect();
        let frames = stops.values().flatten();
        let paths: BTreeSet<&str> = frames.filter_map(|frame| frame.file.as_deref()).collect();
        for (wave, frames) in &stops {
            let name = format!("{} wave {wave}", core.name);
            let choice = format!("--wave={wave}");
            let unwound = core.document(&["unwind", "--core"], &[&choice]);
            assert_eq!(
                of_documents(list(&unwound["frames"])),
                *frames,
                "{name}: unwind"
            );
            text::check(&name, &core.run(&["unwind", "--core"], &[&choice]), frames);
            assert_eq!(c::frames(&pairs[wave]), *frames, "{name}: C");
            let of_wave = &document["waves"][wave - 1];
            let innermost = &frames[0];
            assert_eq!(
                of_wave["function"].as_str(),
                innermost.function.as_deref(),
                "{name}"
            );
            assert_eq!(
                of_wave["file"].as_str(),
                innermost.file.as_deref(),
                "{name}"
            );
            assert_eq!(of_wave["line"].as_u64(), innermost.line, "{name}");
            let lines: Vec<String> = frames
                .iter()
                .map(|frame| text::place(frame, &paths))
                .collect();
            let has_wave = |group: &&Value| list(&group["waves"]).contains(&(*wave).into());
            let group = list(&document["groups"]).iter().find(has_wave).unwrap();
            assert_eq!(group["stack"], serde_json::json!(lines), "{name}: groups");
            assert!(
                groups_text.contains(&format!(" {}  wave", lines.join(" ← "))),
                "{name}: text"
            );
            if let Some(stack) = shown.get(wave) {
                let numbered: Vec<String> = (0..)
                    .zip(&lines)
                    .map(|(n, line)| format!("{n:<2} {line}"))
                    .collect();
                assert_eq!(*stack, numbered, "{name}: text");
                in_full += 1;
            }
            let lane_pc = core.document(&["lane-pc", "--core"], &[&choice]);
            assert_eq!(
                of_document(&lane_pc),
                of_document(&pairs[wave].document("lane-pc", &[])),
                "{name}"
            );
            check_page(&name, &page, *wave, frames, &lane_pc);
            waves += 1;
            inlined += frames
                .iter()
                .filter(|frame| frame.kind == "inlined")
                .count();
        }
    }
    println!("{waves} waves, {in_full} in full, {inlined} inlined frames");
    assert!(
        waves > 40 && in_full > 10 && inlined > 5,
        "{waves} {in_full} {inlined}"
    );
}
