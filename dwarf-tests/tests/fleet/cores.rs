//! Tests many cores of twelve distinct crashes: the number of fingerprints and the counts are right.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use dwarf_tests::cores::Folder;
use dwarf_tests::cores::crashes::{CRASHES, built, crashed, running};
use dwarf_tests::hetdwarf;
use serde_json::Value;

use super::{Random, lines, merge, of, text};

/// The number of cores and waves with a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    cores: u64,
    waves: u64,
}

/// Returns a folder with `count` cores, and the number of occurrences of each crash.
fn made(count: u32) -> (Folder, Vec<String>, Vec<Seen>) {
    let folder = Folder::new();
    let mut seen = vec![Seen::default(); CRASHES.len()];
    let mut paths = Vec::new();
    let mut random = Random(5);
    for variation in 0..count {
        // Every crash occurs, some more often than others.
        let crash = match variation as usize {
            first if first < CRASHES.len() => first,
            _ => random.below(CRASHES.len()).min(random.below(CRASHES.len())),
        };
        seen[crash].cores += 1;
        seen[crash].waves += u64::from(crashed(variation));
        let path = folder.path(&format!("node-{variation:05}.core"));
        fs::write(&path, built(&CRASHES[crash], variation).merged()).unwrap();
        paths.push(text(&path));
    }
    (folder, paths, seen)
}

fn core(paths: &[String], options: &[&str]) -> dwarf_tests::Ran {
    let options = options.iter().map(|option| (*option).to_owned());
    let arguments = ["core".to_owned()].into_iter();
    hetdwarf(arguments.chain(paths.iter().cloned()).chain(options))
}

fn check(count: u32) {
    let (folder, mut paths, seen) = made(count);
    let ran = core(&paths, &["--format=json", "--tree"]);
    assert_eq!((ran.status, &*ran.err), (0, ""));
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let crashes = document["crashes"].as_array().unwrap();
    assert_eq!(crashes.len(), 12, "{crashes:#?}");
    let prints: BTreeSet<&str> = (crashes.iter())
        .map(|crash| crash["fingerprint"].as_str().unwrap())
        .collect();
    assert_eq!(prints.len(), 12);
    // The table has the reason, the kernel and the counts of each crash.
    let number = |value: &Value| value.as_u64().unwrap();
    let mut found: Vec<(String, String, Seen)> = (crashes.iter())
        .map(|crash| {
            let seen = Seen {
                cores: number(&crash["count"]),
                waves: number(&crash["waves"]),
            };
            let text = |name: &str| crash[name].as_str().unwrap().to_owned();
            (text("reason"), text("kernel"), seen)
        })
        .collect();
    let mut expected: Vec<(String, String, Seen)> = (CRASHES.iter().zip(&seen))
        .map(|(crash, seen)| {
            let kernel = char::from(crash.kernel).to_string();
            (crash.reason().to_owned(), kernel, *seen)
        })
        .collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    // The first example of the first crash is the first core.
    let examples = crashes
        .iter()
        .map(|crash| crash["example"]["file"].as_str().unwrap());
    assert!(examples.clone().any(|example| example == paths[0]));
    // The roots of the tree contain every wave.
    let all: u32 = (0..count).map(|n| crashed(n) + running(n)).sum();
    assert_eq!(number(&document["cores"]), u64::from(count));
    assert_eq!(number(&document["waves"]), u64::from(all));
    let tree = document["tree"].as_array().unwrap();
    let roots = tree.iter().filter(|node| node["depth"] == 0);
    assert_eq!(
        roots
            .clone()
            .map(|node| number(&node["waves"]))
            .sum::<u64>(),
        u64::from(all)
    );
    let faulted: u64 = seen.iter().map(|seen| seen.waves).sum();
    assert_eq!(
        roots.map(|node| number(&node["faulted"])).sum::<u64>(),
        faulted
    );
    // Worked out by hand from `calls-O2.cl`: all waves run in k, and `mid` calls `leaf` at lines 19 and 28.
    let texts: Vec<(u64, &str)> = (tree.iter())
        .map(|node| (number(&node["depth"]), node["text"].as_str().unwrap()))
        .collect();
    assert_eq!(texts[0], (0, "k at calls.cl:34"));
    for (caller, called) in [
        ("mid at calls.cl:19", "leaf at calls.cl:10"),
        ("mid at calls.cl:28", "leaf at calls.cl:10"),
    ] {
        let at = texts.iter().position(|text| *text == (2, caller)).unwrap();
        let below = texts[at + 1..].iter().take_while(|(depth, _)| *depth > 2);
        assert!(
            below.into_iter().any(|text| *text == (3, called)),
            "{texts:?}"
        );
    }
    // Records give the same, in parts, in any order, and with one thread.
    let ran = core(&paths, &["--format=jsonl"]);
    assert_eq!(ran.status, 0);
    let mut all: Vec<&str> = ran.out.lines().collect();
    let mut random = Random(9);
    random.shuffle(&mut all);
    let mut pieces = Vec::new();
    for (number, piece) in all.chunks(all.len() / 3 + 1).enumerate() {
        let path = folder.path(&format!("piece-{number}.jsonl"));
        fs::write(&path, piece.join("\n")).unwrap();
        pieces.push(text(&path));
    }
    pieces.push(pieces[0].clone());
    assert_eq!(merge(&pieces, &["--format=jsonl"]).out, ran.out);
    random.shuffle(&mut paths);
    for options in [
        &["--format=text"][..],
        &["--format=text", "--tree"],
        &["--format=json", "--tree"],
    ] {
        let expected = core(&paths, &[options, &["--jobs=1"]].concat());
        let merged = merge(&pieces, options);
        assert_eq!(merged.out, expected.out);
        assert_eq!(merged.status, expected.status);
    }
}

#[test]
fn twelve_crashes_have_twelve_fingerprints() {
    check(72);
}

#[test]
#[ignore = "ten thousand cores; .ci/full runs it"]
fn ten_thousand_cores_have_twelve_fingerprints() {
    check(10_000);
}

/// A different function, reason, kernel or caller makes a different crash. A different load address, folder, lane, workgroup or other wave
/// does not. Each pair in `CRASHES` differs in at least one of the first four.
#[test]
fn lines_of_one_crash_have_one_fingerprint() {
    let folder = Folder::new();
    let mut by_crash: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (number, crash) in CRASHES.iter().enumerate() {
        for variation in [0, 13, 29, 58, 96] {
            let path = text(&folder.path("one.core"));
            fs::write(&path, built(crash, variation).merged()).unwrap();
            let ran = core(core::slice::from_ref(&path), &["--format=jsonl"]);
            let lines = lines(&ran);
            let stopped = lines
                .iter()
                .filter(|line| line["wave"]["stop"] != serde_json::json!([]));
            let prints = stopped.map(|line| line["fingerprint"].as_str().unwrap().to_owned());
            let known = by_crash.entry(number).or_default();
            known.extend(prints);
        }
    }
    assert!(
        by_crash.values().all(|prints| prints.len() == 1),
        "{by_crash:?}"
    );
    let all: BTreeSet<&String> = by_crash.values().flatten().collect();
    assert_eq!(all.len(), 12);
}

/// Cores that cannot be read completely are reported and counted. The other cores still make a table.
#[test]
fn damaged_cores_are_told() {
    let (folder, mut paths, _) = made(12);
    let whole = fs::read(&paths[3]).unwrap();
    fs::write(&paths[3], &whole[..whole.len() / 2]).unwrap();
    let ran = core(&paths, &[]);
    assert_eq!((ran.status, &*ran.err), (1, ""));
    assert!(
        ran.out.contains("1 core could be read only in part"),
        "{}",
        ran.out
    );
    let none = text(&folder.path("none.core"));
    fs::write(&paths[5], "no core").unwrap();
    paths.push(none.clone());
    let ran = core(&paths, &[]);
    assert_eq!(ran.status, 2);
    assert!(ran.out.contains("2 files could not be read"), "{}", ran.out);
    assert_eq!(ran.err.lines().count(), 2);
    assert!(
        ran.err.contains(&none) && ran.err.contains(&paths[5]),
        "{}",
        ran.err
    );
    let lines_of = core(&paths, &["--format=jsonl"]);
    assert_eq!((lines_of.status, &lines_of.err), (2, &ran.err));
    let read = lines(&lines_of);
    let errors = of(&read, "hetdwarf-error/1");
    assert_eq!(errors.len(), 3);
    let parts = errors.iter().filter(|line| line["error"].is_null());
    assert_eq!(parts.count(), 1);
    let path = folder.path("all.jsonl");
    fs::write(&path, &lines_of.out).unwrap();
    let merged = merge(&[text(&path)], &[]);
    assert_eq!(
        (merged.status, merged.out, merged.err),
        (2, ran.out, ran.err)
    );
}

/// A single unreadable core has the same record, message and status as among several. Other failures have no record.
#[test]
fn one_unreadable_core_is_a_record() {
    let (folder, paths, _) = made(2);
    let wrong = [folder.path("text"), folder.path("none")].map(|path| text(&path));
    fs::write(&wrong[0], "no core").unwrap();
    let whole = fs::read(&paths[1]).unwrap();
    fs::write(&paths[1], &whole[..whole.len() / 2]).unwrap();
    for path in wrong.iter().chain([&paths[1]]) {
        let several = core(&[paths[0].clone(), path.clone()], &["--format=jsonl"]);
        let alone = core(core::slice::from_ref(path), &["--format=jsonl"]);
        assert_eq!((alone.status, &alone.err), (several.status, &several.err));
        let of_path = |line: &&str| serde_json::from_str::<Value>(line).unwrap()["file"] == **path;
        let lines_of_several: Vec<&str> = several.out.lines().filter(of_path).collect();
        assert_eq!(alone.out.lines().collect::<Vec<_>>(), lines_of_several);
        let last = lines(&alone).pop().unwrap();
        assert_eq!(last["format"], "hetdwarf-error/1", "{path}");
        // The error does not repeat the file name.
        let error = last["error"].as_str().unwrap_or_default();
        assert!(!error.contains(path.as_str()), "{error}");
    }
    let page = text(&folder.path("page.html"));
    fs::write(&page, "kept").unwrap();
    let ran = core(&paths[..1], &["--format=jsonl", "--html", &page]);
    assert_eq!((ran.status, &*ran.out), (2, ""), "{}", ran.err);
}

/// The page has the contents of the table, and runs no script.
#[test]
fn the_page_has_the_table_and_the_tree() {
    let (folder, paths, _) = made(13);
    let page = text(&folder.path("crashes.html"));
    let ran = core(&paths, &["--tree", "--html", &page]);
    assert_eq!(ran.status, 0);
    let html = fs::read_to_string(&page).unwrap();
    assert!(!html.contains("<script"));
    assert_eq!(html.matches("<tr><td>").count(), 12);
    assert_eq!(
        html.matches("<details").count(),
        html.matches("</details>").count()
    );
    let table = core(&paths, &["--format=json"]).out;
    let table: Value = serde_json::from_str(&table).unwrap();
    for crash in table["crashes"].as_array().unwrap() {
        assert!(html.contains(crash["fingerprint"].as_str().unwrap()));
    }
    for option in ["--all", "--agents"] {
        let ran = core(&paths, &[option]);
        assert_eq!((ran.status, &*ran.out), (2, ""), "{option}");
    }
}
