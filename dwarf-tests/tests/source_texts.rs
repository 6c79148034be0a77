//! Checks that a source file that differs from the compiled one, or has too few lines, is shown with a warning.
//!
//! The compiled source is `calls.cl` of the fixtures, whose MD5 is in the line table of its object (`md5sum` and llvm-dwarfdump agree).

use std::path::PathBuf;

use dwarf_tests::browser::Browser;
use dwarf_tests::cores::Folder;
use dwarf_tests::{Ran, fixture, hetdwarf};
use serde_json::Value;

const EDITED: &str =
    "calls.cl is not the file that was compiled (its MD5 differs): lines may not match";

/// A core, its code object, and a folder for the source.
struct Case {
    folder: Folder,
    source: String,
}

impl Case {
    fn new() -> Case {
        let folder = Folder::of("gfx1100");
        let path = folder.path("src");
        std::fs::create_dir(&path).unwrap();
        let source = path.display().to_string();
        Case { folder, source }
    }

    /// Writes the source after editing the compiled text.
    fn edit(&self, edit: impl FnOnce(&str) -> String) {
        let text = std::fs::read_to_string(fixture("waves/calls/calls.cl")).unwrap();
        std::fs::write(self.folder.path("src/calls.cl"), edit(&text)).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.folder.path(name).display().to_string()
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let sources = ["--source-dir", &self.source];
        let ran = hetdwarf(arguments.iter().copied().chain(sources));
        assert!(ran.status < 2, "{arguments:?}: {}", ran.err);
        ran
    }

    /// Returns the output of everything that shows source.
    fn shown(&self) -> Vec<(&'static str, String)> {
        let core = self.path("merged.core");
        let (page, svg, html) = (
            self.path("page.html"),
            self.path("lanes.svg"),
            self.path("lanes.html"),
        );
        let read = |path: &str| std::fs::read_to_string(path).unwrap();
        let text = self.run(&["core", &core]).out;
        self.run(&["core", &core, "--html", &page, "--force"]);
        let lanes = ["lane-pc", "--core", &core, "--wave", "1"];
        let pictures = ["--svg", &svg, "--html", &html, "--force"];
        let lane_text = self.run(&[&lanes[..], &pictures].concat()).out;
        let json = self.run(&[&lanes[..], &pictures, &["--format=json"]].concat());
        vec![
            ("core", text),
            ("core --html", read(&page)),
            ("lane-pc", lane_text),
            ("lane-pc --format json", json.err),
            ("lane-pc --svg", read(&svg)),
            ("lane-pc --html", read(&html)),
        ]
    }
}

#[test]
fn an_edited_file_is_shown_with_a_warning() {
    let case = Case::new();
    case.edit(str::to_owned);
    for (what, text) in case.shown() {
        assert!(!text.contains("is not the file"), "{what}: {text}");
        if !["lane-pc", "lane-pc --format json"].contains(&what) {
            assert!(text.contains("int mid("), "{what}: {text}");
        }
    }
    // A letter in a comment is changed, and all lines stay in place.
    case.edit(|text| format!("{text}// edited\n"));
    for (what, text) in case.shown() {
        assert_eq!(text.matches(EDITED).count(), 1, "{what}: {text}");
        if !["lane-pc", "lane-pc --format json"].contains(&what) {
            assert!(text.contains("int mid("), "{what}: {text}");
        }
    }
}

/// If several lines are after the end of the file, the last one is named.
#[test]
fn lines_after_the_end_are_said_once() {
    let case = Case::new();
    case.edit(|text| {
        text.lines()
            .take(2)
            .map(|line| format!("{line}\n"))
            .collect()
    });
    for (what, text) in case.shown() {
        assert_eq!(
            text.matches("calls.cl has 2 lines, not ").count(),
            1,
            "{what}: {text}"
        );
        assert_eq!(text.matches(EDITED).count(), 1, "{what}: {text}");
    }
    // The first line in the core's text is the line of the stop.
    let core = case.path("merged.core");
    let document: Value =
        serde_json::from_str(&case.run(&["core", &core, "--format=json"]).out).unwrap();
    let lines = document["waves"].as_array().unwrap().iter();
    let stopped = lines.filter(|wave| !wave["stop"].as_array().unwrap().is_empty());
    let last = stopped
        .filter_map(|wave| wave["line"].as_u64())
        .max()
        .unwrap();
    let text = case.run(&["core", &core, "--all"]).out;
    assert!(
        text.contains(&format!("calls.cl has 2 lines, not {last}\n")),
        "{text}"
    );
}

#[test]
fn a_finding_says_that_its_line_may_be_another() {
    let case = Case::new();
    let object = fixture("waves/calls/calls.hsaco").display().to_string();
    let verify = |format: &str| case.run(&["verify", &object, "--format", format]);
    case.edit(str::to_owned);
    let ran = verify("json");
    assert_eq!(ran.err, "");
    assert!(ran.out.contains("\"text\": ") && !ran.out.contains("md5_differs"));
    case.edit(|text| format!("{text}\n"));
    let ran = verify("json");
    assert_eq!(ran.err, format!("warning: {EDITED}\n"));
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let findings = document["files"][0]["findings"].as_array().unwrap();
    let sources = findings.iter().map(|finding| &finding["source"]);
    let mut count = 0;
    for source in sources.filter(|source| source.is_object()) {
        assert_eq!(source["md5_differs"], true, "{source}");
        // md5sum and llvm-dwarfdump print this for the compiled file.
        assert_eq!(
            source["md5"], "2875148bbbc5e976abef686f07ca96c7",
            "{source}"
        );
        count += 1;
    }
    assert!(count > 0);
    assert_eq!(verify("text").err, format!("warning: {EDITED}\n"));
}

/// The warning is above the lines, and the page shows it in a browser.
#[test]
fn the_page_shows_the_warning() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let case = Case::new();
    let page = case.path("page.html");
    let mut open = |edit: &dyn Fn(&str) -> String| {
        case.edit(edit);
        case.run(&[
            "core",
            &case.path("merged.core"),
            "--html",
            &page,
            "--force",
        ]);
        browser.open(&PathBuf::from(&page));
        browser.click("#stack li", 0);
        let text = browser.texts("#wave").remove(0);
        assert_eq!(browser.complaints(), Vec::<String>::new());
        text
    };
    let text = open(&str::to_owned);
    assert!(!text.contains("MD5") && text.contains("int mid("), "{text}");
    let text = open(&|text| format!("{text}\n"));
    assert!(text.contains(EDITED) && text.contains("int mid("), "{text}");
    let text = open(&|_| "one line\n".to_owned());
    assert!(text.contains("calls.cl has 1 line, not "), "{text}");
    assert!(!text.contains("is not in this page"), "{text}");
}
