//! Tests `annotate` on objects with indices: every name leads to the same entry as before, according to LLVM on both files
//! (`fixtures/annotate/README.md`).
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use dwarf_tests::{fixture, hetdwarf, llvm_tool};
use hetdwarf::annotate::{Request, annotate};
use hetdwarf::limits::Limits;

const SECTIONS: [&str; 5] = [
    "--debug-names",
    "--debug-pubnames",
    "--debug-pubtypes",
    "--debug-gnu-pubnames",
    "--debug-gnu-pubtypes",
];

fn dump(dwarfdump: &Path, options: &[&str], file: &Path) -> String {
    let ran = Command::new(dwarfdump).args(options).arg(file).output();
    String::from_utf8_lossy(&ran.unwrap().stdout).into_owned()
}

fn hex(text: &str) -> Option<u64> {
    let digits: String = (text.strip_prefix("0x")?.chars())
        .take_while(char::is_ascii_hexdigit)
        .collect();
    u64::from_str_radix(&digits, 16).ok()
}

/// Returns the number after a key in a line.
fn after(line: &str, key: &str) -> Option<u64> {
    let (_, rest) = line.split_once(key)?;
    hex(rest.trim_start())
}

/// Returns the offsets of the entries and units of `.debug_info`, in order, with their tags.
fn entries(dwarfdump: &Path, file: &Path) -> Vec<(u64, String)> {
    let text = dump(dwarfdump, &["--debug-info"], file);
    let lines = text.lines().filter_map(|line| {
        let (offset, rest) = line.split_once(':')?;
        let what = rest.split_whitespace().next()?;
        let is_entry = ["DW_TAG_", "NULL", "Compile", "Type"]
            .iter()
            .any(|start| what.starts_with(start));
        is_entry.then_some((hex(offset)?, what.to_owned()))
    });
    lines.collect()
}

/// Returns the names in a section, each with the offset of its entry in `.debug_info`.
fn names(text: &str, section: &str) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    let (mut units, mut unit, mut name) = (Vec::new(), 0, String::new());
    let quoted = |line: &str| line.split('"').nth(1).unwrap_or("").to_owned();
    let mut offset = None;
    for line in text.lines() {
        if section != "--debug-names" {
            if let Some(at) = after(line, "unit_offset = ") {
                unit = at;
            } else if let Some(at) = hex(line)
                && line.contains('"')
            {
                found.push((quoted(line), unit + at));
            }
            continue;
        }
        let line = line.trim();
        if line.starts_with("Name Index @") {
            units.clear();
        } else if line.starts_with("CU[") {
            units.extend(after(line, "]: "));
        } else if line.starts_with("String: ") {
            name = quoted(line);
        } else if line.starts_with("Entry @") {
            unit = units[0];
        } else if let Some(at) = after(line, "DW_IDX_die_offset: ") {
            offset = Some(at);
        } else if let Some(n) = after(line, "DW_IDX_compile_unit: ") {
            unit = units[n as usize];
        }
        // A closing bracket ends the attributes of an entry.
        if line == "}"
            && let Some(at) = offset.take()
        {
            found.push((name.clone(), unit + at));
        }
    }
    found
}

#[test]
fn names_lead_to_the_entries_to_which_they_led() {
    let Some(dwarfdump) = llvm_tool("llvm-dwarfdump") else {
        return;
    };
    let folder = std::env::temp_dir().join(format!("hetdwarf-indices-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in std::fs::read_dir(fixture("annotate")).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "hsaco")
        {
            continue;
        }
        let at = path.display();
        let file = std::fs::read(&path).unwrap();
        let annotated = annotate(&file, &Limits::default(), &Request::new(&|_| true)).unwrap();
        assert!(
            annotated.file.len() > file.len(),
            "{at}: {:?}",
            annotated.notes
        );
        let new = folder.join("new.hsaco");
        std::fs::write(&new, &annotated.file).unwrap();
        let [old_entries, new_entries] = [&path, &new].map(|file| entries(&dwarfdump, file));
        let tags = |entries: &[(u64, String)]| -> Vec<String> {
            entries.iter().map(|(_, tag)| tag.clone()).collect()
        };
        assert_eq!(tags(&old_entries), tags(&new_entries), "{at}");
        let moved: BTreeMap<u64, u64> = (old_entries.iter().zip(&new_entries))
            .map(|(old, new)| (old.0, new.0))
            .collect();
        for section in SECTIONS {
            let texts = [&path, &new].map(|file| dump(&dwarfdump, &[section], file));
            let [old, new] = texts.each_ref().map(|text| names(text, section));
            let old: Vec<(String, u64)> = old
                .into_iter()
                .map(|(name, at)| (name, moved.get(&at).copied().unwrap_or(at)))
                .collect();
            assert_eq!(old, new, "{at} {section}");
            *counts.entry(section).or_default() += old.len();
        }
        let complains = |file: &Path| {
            dump(&dwarfdump, &["--verify"], file)
                .matches("error:")
                .count()
        };
        assert_eq!(complains(&path), complains(&new), "{at}");
        let findings = |file: &Path| hetdwarf(["verify".as_ref(), file.as_os_str()]).out;
        let names = |file: &Path| findings(file).matches("[names-").count();
        assert_eq!(names(&path), names(&new), "{at}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    println!("{counts:?}");
    assert!(counts.values().all(|count| *count > 1), "{counts:?}");
}
