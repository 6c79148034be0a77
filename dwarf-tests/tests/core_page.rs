//! Opens the page of `hetdwarf core --html` in a real browser and compares it with other commands on the same waves.

use std::time::Instant;

use dwarf_tests::browser::Browser;
use dwarf_tests::cores::{Folder, many, truth};
use dwarf_tests::{fixture, hetdwarf};
use serde_json::Value;

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// Returns the document of a command about a core.
fn document(folder: &Folder, command: &[&str], more: &[&str]) -> Value {
    let core = folder.path("merged.core").display().to_string();
    let arguments = command.iter().copied().chain([core.as_str()]);
    let ran = hetdwarf(
        arguments
            .chain(more.iter().copied())
            .chain(["--format", "json"]),
    );
    serde_json::from_str(&ran.out)
        .unwrap_or_else(|error| panic!("{command:?} {error}: {}", ran.err))
}

/// Writes the page about a core to the folder.
fn page(folder: &Folder, core: &str, more: &[&str]) -> std::path::PathBuf {
    let (core, out) = (folder.path(core), folder.path("page.html"));
    let (core, out) = (core.to_str().unwrap(), out.to_str().unwrap());
    let ran = hetdwarf(
        ["core", core, "--html", out]
            .into_iter()
            .chain(more.iter().copied()),
    );
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    folder.path("page.html")
}

/// Returns the folder with the source of a case.
fn source(case: &str) -> String {
    let source = truth(case)["waves"][0]["object"]
        .as_str()
        .unwrap()
        .to_owned();
    fixture(&source).parent().unwrap().display().to_string()
}

/// Returns the page's text for a value in the document of `vars`.
fn value_text(lane: &Value) -> String {
    let text = lane["value"].as_str().or(lane["message"].as_str());
    match (lane["state"].as_str().unwrap(), text) {
        ("ok", Some(text)) | ("partial", Some(text)) => text.to_owned(),
        ("inactive", _) => String::new(),
        (state, text) => format!("<{}>", text.unwrap_or(state)),
    }
}

/// Chooses each wave and some lanes of it by clicking, and compares everything that is shown.
#[test]
fn what_is_clicked_is_what_the_commands_say() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    for case in ["gfx1100", "gfx90a"] {
        let folder = Folder::of(case);
        let core = document(&folder, &["core"], &[]);
        browser.open(&page(
            &folder,
            "merged.core",
            &["--source-dir", &source(case)],
        ));
        browser.screenshot(&format!("{case}.png"));
        let waves = list(&core["waves"]);
        // At the start, the first wave that faulted is selected.
        assert!(
            browser.texts("#wave-title")[0].starts_with("wave 1 of k (0,0,0)/0: memory_violation")
        );
        let mut waiting = 0;
        for (index, wave) in waves.iter().enumerate() {
            browser.evaluate(&format!(
                "document.getElementById('waves').scrollTop = {index} * 24"
            ));
            browser.press("Shift");
            let row = format!("#waves-{index}");
            browser.click(&row, 0);
            let number = (index + 1).to_string();
            let title = browser.texts("#wave-title").remove(0);
            assert!(
                title.starts_with(&format!("wave {number} of k ")),
                "{title}"
            );
            let choice: &[&str] = &["--wave", &number];
            let lane_pc = document(&folder, &["lane-pc", "--core"], choice);
            waiting += check_lanes(&mut browser, &lane_pc);
            check_stack(&mut browser, &core, index + 1);
            let unwound = document(&folder, &["unwind", "--core"], choice);
            let levels = list(&unwound["frames"]).len();
            assert_eq!(browser.texts("#stack li").len(), levels);
            for level in 0..levels {
                browser.click("#stack li", level);
                let level = level.to_string();
                let vars = document(
                    &folder,
                    &["vars", "--core"],
                    &["--wave", &number, "--frame", &level],
                );
                check_variables(&mut browser, &vars);
            }
            assert_eq!(wave["index"], index + 1);
        }
        assert!(waiting > 0, "no lane of {case} waits");
        browser.screenshot(&format!("{case}-last.png"));
        check_groups(&mut browser, &core);
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }
}

/// Compares the grid with the document of `lane-pc`. Returns the number of waiting lanes.
fn check_lanes(browser: &mut Browser, document: &Value) -> usize {
    let shown =
        browser.evaluate("[...document.querySelectorAll('#lanes i')].map(e => e.className)");
    let states: Vec<&str> = list(&shown)
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let lanes = list(&document["lanes"]);
    let expected: Vec<&str> = lanes
        .iter()
        .map(|lane| lane["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, expected);
    // One lane in each state is clicked.
    let mut seen: Vec<&str> = Vec::new();
    for (number, lane) in lanes.iter().enumerate() {
        let state = expected[number];
        if seen.contains(&state) {
            continue;
        }
        seen.push(state);
        browser.click("#lanes i", number);
        let text = browser.texts("#about-lane").remove(0);
        let item = list(&lane["work_item"]);
        let start = format!(
            "Lane {number}, work-item ({},{},{}): ",
            item[0], item[1], item[2]
        );
        assert!(text.starts_with(&start), "{text}");
        let place = |of: &Value| match (of["file"].as_str(), of["line"].as_u64()) {
            (Some(file), Some(line)) => {
                format!("{}:{line}", file.rsplit('/').next().unwrap())
            }
            _ => of["pc"].as_str().unwrap().to_owned(),
        };
        match state {
            "active" | "waiting" => {
                assert!(
                    text.contains(&format!("{state} at {}", place(lane))),
                    "{text}"
                );
            }
            "elsewhere" if lane["reason"] == "not-dispatched" => {
                assert!(text.ends_with("not started by the dispatch"))
            }
            "elsewhere" if lane["caller"].is_object() => {
                let caller = &lane["caller"];
                let expected = format!("frame {}, at {}", caller["frame"], place(caller));
                assert!(text.ends_with(&expected), "{text}");
            }
            _ => assert!(text.contains("not active"), "{text}"),
        }
        // A second click deselects the lane.
        browser.click("#lanes i", number);
        assert!(browser.texts("#about-lane")[0].starts_with("Choose a lane"));
    }
    expected.iter().filter(|state| **state == "waiting").count()
}

/// Compares the stack with the stack of the wave's group.
fn check_stack(browser: &mut Browser, core: &Value, wave: usize) {
    let of_wave = |group: &&Value| list(&group["waves"]).contains(&wave.into());
    let group = list(&core["groups"]).iter().find(of_wave).unwrap();
    let shown: String = browser
        .texts("#stack li")
        .iter()
        .map(|line| format!("{} ", &line[4..]))
        .collect();
    for line in list(&group["stack"]) {
        let line = line.as_str().unwrap();
        let name = line.split(" at ").next().unwrap();
        let place = line.split(" at ").nth(1).unwrap_or_default();
        assert!(
            shown.contains(name) && shown.contains(place),
            "{line} in {shown}"
        );
    }
}

/// Compares the values of one lane, and the table of all lanes, with the document of `vars`.
fn check_variables(browser: &mut Browser, document: &Value) {
    let variables = dwarf_tests::variables(document);
    let is_readable = |lane: &Value| lane["state"] == "ok";
    let mut lanes = variables.iter().flat_map(|of| list(&of["lanes"]));
    let shown = browser.texts(".values th");
    // The header names the lanes that have values.
    assert_eq!(shown.len() > 1, lanes.any(is_readable), "{shown:?}");
    let Some(lane) = shown.get(1) else {
        return;
    };
    let lane: u64 = lane.parse().unwrap();
    browser.click("#lanes i", lane as usize);
    let shown = browser.texts("#chosen-values tr");
    assert_eq!(shown[0], format!("in lane {lane}"));
    let values = variables.iter().map(|variable| {
        let of_lane = list(&variable["lanes"])
            .iter()
            .find(|of| of["lane"] == lane)
            .unwrap();
        format!(
            "{}= {}",
            variable["name"].as_str().unwrap(),
            value_text(of_lane)
        )
    });
    assert_eq!(shown[1..], values.collect::<Vec<_>>());
    let rows = browser.texts(".values tr");
    assert_eq!(rows.len(), variables.len() + 1);
    browser.press("Escape");
}

/// Clicking a group shows only its waves, and selects one.
fn check_groups(browser: &mut Browser, core: &Value) {
    for (index, group) in list(&core["groups"]).iter().enumerate().take(5) {
        browser.click(&format!("#groups-{index}"), 0);
        let waves = list(&group["waves"]);
        assert_eq!(browser.texts("#waves .row").len(), waves.len());
        let title = browser.texts("#wave-title").remove(0);
        assert!(title.starts_with(&format!("wave {} ", waves[0])), "{title}");
    }
    browser.press("Escape");
    let count = list(&core["waves"]).len().to_string();
    assert_eq!(browser.texts("#waves-count"), [count]);
}

#[test]
fn everything_can_be_done_with_keys() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let folder = Folder::of("gfx1100");
    browser.open(&page(&folder, "merged.core", &[]));
    let title = |browser: &mut Browser| browser.texts("#wave-title").remove(0);
    browser.press("w");
    browser.press("ArrowDown");
    assert!(title(&mut browser).starts_with("wave 2 "));
    browser.press("End");
    assert!(title(&mut browser).starts_with("wave 18 "));
    browser.press("Home");
    browser.press("l");
    for (key, lane) in [
        ("ArrowRight", 0),
        ("ArrowRight", 1),
        ("ArrowDown", 17),
        ("ArrowLeft", 16),
        ("ArrowUp", 0),
        ("End", 31),
    ] {
        browser.press(key);
        let text = browser.texts("#about-lane").remove(0);
        assert!(text.starts_with(&format!("Lane {lane},")), "{key}: {text}");
    }
    browser.press("s");
    browser.press("ArrowDown");
    assert!(browser.texts("#stack .chosen")[0].starts_with("#1 "));
    browser.press("g");
    browser.press("ArrowDown");
    browser.press("ArrowDown");
    assert_eq!(
        browser.evaluate("document.querySelector('#groups .chosen').id"),
        "groups-1"
    );
    browser.press("Escape");
    browser.press("/");
    for key in "leaf (2,0,0)".chars() {
        browser.press(&key.to_string());
    }
    let shown = browser.texts("#waves .row");
    assert!(!shown.is_empty() && shown.len() < 18, "{shown:?}");
    assert!(
        shown.iter().all(|row| row.contains("(2,0,0)/")),
        "{shown:?}"
    );
    // Opening the page again with the same address restores the selection.
    assert!(
        browser
            .evaluate("new Promise(done => setTimeout(() => done(location.hash), 600))")
            .as_str()
            .unwrap()
            .starts_with("#wave=")
    );
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn light_and_dark_have_colours_of_their_own() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let folder = Folder::of("gfx1100");
    browser.open(&page(&folder, "merged.core", &[]));
    let mut colours = |scheme: &str| {
        browser.prefer(scheme);
        browser.screenshot(&format!("{scheme}.png"));
        let style = "getComputedStyle(document.body)";
        browser.evaluate(&format!("[{style}.backgroundColor, {style}.color]"))
    };
    // As in the style sheet: #ffffff and #1f2328, #0d1117 and #e6edf3.
    assert_eq!(
        colours("light"),
        serde_json::json!(["rgb(255, 255, 255)", "rgb(31, 35, 40)"])
    );
    assert_eq!(
        colours("dark"),
        serde_json::json!(["rgb(13, 17, 23)", "rgb(230, 237, 243)"])
    );
}

/// Ten thousand waves are shown without delay: only the visible rows are elements.
#[test]
fn ten_thousand_waves_open_without_delay() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let folder = Folder::new();
    std::fs::write(folder.path("merged.core"), many::built(10_000).merged()).unwrap();
    let path = page(&folder, "merged.core", &[]);
    let start = Instant::now();
    browser.open(&path);
    eprintln!(
        "opened in {:?}, {} bytes",
        start.elapsed(),
        path.metadata().unwrap().len()
    );
    // The time until the script has drawn everything. The limit is generous, because other programs run at the same time.
    let took = browser.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd");
    assert!(took.as_f64().unwrap() < 3000.0, "{took} ms");
    assert_eq!(browser.texts("#waves-count"), ["10000"]);
    let rows = "document.querySelectorAll('#waves .row').length";
    assert!(browser.evaluate(rows).as_u64().unwrap() < 60);
    browser.press("w");
    browser.press("End");
    assert!(browser.texts("#wave-title")[0].starts_with("wave 10000 of k (9999,0,0)/0"));
    // The page says that this wave has no details. Its lanes come from EXEC.
    assert!(browser.texts("#wave")[0].contains("Use --all to include them"));
    browser.screenshot("many.png");
    // Each group has waves with variables.
    let groups = browser.evaluate("Number(document.getElementById('groups-count').textContent)");
    for group in 0..groups.as_u64().unwrap() {
        browser.click(&format!("#groups-{group}"), 0);
        assert!(!browser.texts(".values tr").is_empty(), "group {group}");
    }
    browser.press("Escape");
    // Typing into the search and pressing keys in the list take only a few frames.
    let took = browser.evaluate(
        "(() => { const start = performance.now(); const search = document.getElementById('search'); search.value = '(77'; \
         search.dispatchEvent(new Event('input')); return performance.now() - start; })()",
    );
    assert!(took.as_f64().unwrap() < 500.0, "{took} ms");
    assert_eq!(browser.texts("#waves-count"), ["111 of 10000"]);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Text from a file is never interpreted as HTML, in a title, a name, a URI or the source.
#[test]
fn text_of_files_stays_text() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    const ATTACK: &str = "</script><script>document.title='obeyed'</script><img src=x onerror=\"document.title='obeyed'\"><!--";
    let folder = Folder::of("gfx1100");
    let mut core = std::fs::read(folder.path("merged.core")).unwrap();
    // The name has the same length as the original name. It contains a tag, and a character that overrides the text direction.
    let name = "<i>\u{202e}cl";
    let mut replaced = 0;
    for at in 0..core.len() - 8 {
        if core[at..].starts_with(b"calls.cl") {
            core[at..at + 8].copy_from_slice(name.as_bytes());
            replaced += 1;
        }
    }
    assert!(replaced > 0);
    let file = "<img src=x onerror=alert(1)>&amp;.core";
    std::fs::write(folder.path(file), core).unwrap();
    std::fs::create_dir(folder.path("src")).unwrap();
    let source = format!("{ATTACK}\n").repeat(60);
    std::fs::write(folder.path("src").join(name), source).unwrap();
    let src = folder.path("src").display().to_string();
    let path = page(&folder, file, &["--source-dir", &src]);
    let html = std::fs::read_to_string(&path).unwrap();
    assert!(!html.contains("<img") && !html.contains('\u{202e}') && !html.contains("<!--"));
    browser.open(&path);
    assert_eq!(
        browser.evaluate("document.title"),
        "<img src=x onerror=alert(1)>&amp;.core"
    );
    assert_eq!(
        browser.texts("#title"),
        ["<img src=x onerror=alert(1)>&amp;.core"]
    );
    browser.click("#about summary", 0);
    browser.click("#stack li", 0);
    let text = browser.texts("#wave").remove(0);
    assert!(
        text.contains(ATTACK) && text.contains(r"<i>\u{202e}cl"),
        "{text}"
    );
    assert_eq!(browser.evaluate("document.images.length"), 0);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_page_is_not_written_over_its_core() {
    let folder = Folder::of("gfx1100");
    let core = folder.path("merged.core");
    let before = std::fs::read(&core).unwrap();
    let core_text = core.to_str().unwrap();
    let ran = hetdwarf(["core", core_text, "--html", core_text]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("this is also an input"), "{}", ran.err);
    assert_eq!(std::fs::read(&core).unwrap(), before);
    let nowhere = folder.path("none/page.html");
    let ran = hetdwarf(["core", core_text, "--html", nowhere.to_str().unwrap()]);
    assert_eq!(ran.status, 2);
}

/// Checks the pages of a fault, of a hang and of a log with axe-core, in a wide and a narrow window, light and dark. `HETDWARF_AXE` names the
/// script. With `HETDWARF_SCREENSHOTS`, pictures of the pages are written.
#[test]
#[ignore = "it needs axe-core: .ci/axe"]
fn pages_are_accessible() {
    let axe = std::env::var_os("HETDWARF_AXE").expect("HETDWARF_AXE is not set");
    let axe = std::fs::read_to_string(axe).unwrap();
    let mut browser = Browser::start().expect("chromium is not installed");
    for case in [
        "fault/call-942",
        "fault/inline-1100",
        "hang/spin-1100",
        "log",
    ] {
        let folder = Folder::new();
        let (name, more) = match case {
            "log" => {
                let text = "wave_1: pc=0x7f4000001600 (stopped, reason: MEMORY_VIOLATION)\n\nsystem registers:\n  exec: ffffffff\n";
                std::fs::write(folder.path("log"), text).unwrap();
                ("log", None)
            }
            case => {
                let case = fixture("triage").join(case);
                let packed = std::fs::read(case.join("merged.core.gz")).unwrap();
                let mut reader = flate2::read::GzDecoder::new(&*packed);
                let mut file = std::fs::File::create(folder.path("merged.core")).unwrap();
                std::io::copy(&mut reader, &mut file).unwrap();
                ("merged.core", Some(case.display().to_string()))
            }
        };
        let (input, path) = (folder.path(name), folder.path("page.html"));
        let [input, out] = [&input, &path].map(|path| path.to_str().unwrap());
        let source = more.iter().flat_map(|folder| ["--source-dir", folder]);
        let ran = hetdwarf(["core", input, "--html", out].into_iter().chain(source));
        assert!(ran.status < 2, "{}", ran.err);
        for (width, height) in [(1280, 860), (400, 800)] {
            browser.resize(width, height);
            browser.open(&path);
            for scheme in ["light", "dark"] {
                browser.prefer(scheme);
                let name = case.replace('/', "-");
                browser.screenshot(&format!("{name}-{width}-{scheme}.png"));
                browser.evaluate(&format!("{axe}; 0"));
                let found = browser.evaluate(
                    "axe.run().then(found => found.violations.map(one => `${one.id}: ${one.help}: ${one.nodes.map(node => node.html.slice(0, 200)).slice(0, 4)}`))",
                );
                assert_eq!(found, serde_json::json!([]), "{case} {width} {scheme}");
                // Nothing is wider than the window.
                let over = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
                assert!(
                    over.as_i64().unwrap() <= 0,
                    "{case} {width}: {over} pixels too wide"
                );
            }
        }
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }
}
