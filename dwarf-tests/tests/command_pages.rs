//! Generates the pages of the commands, `docs/commands/*.md`, from the help texts, the table of exit statuses and the list of documents.
//!
//! `HETDWARF_WRITE_DOCS=1 cargo test -p dwarf-tests --test command_pages` writes them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use dwarf_tests::{hetdwarf, package};

fn docs() -> PathBuf {
    package().join("../docs")
}

/// Returns the commands in the order of the help text, each with its purpose.
fn commands() -> Vec<(String, String)> {
    let help = hetdwarf(["--help"]).out;
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let mut found: Vec<(String, String)> = Vec::new();
    for line in list.lines().take_while(|line| !line.is_empty()) {
        let text = line.trim_start();
        match (line.len() - text.len(), text.split_once("  ")) {
            (2, Some((name, purpose))) => found.push((name.to_owned(), purpose.trim().to_owned())),
            _ => {
                let (_, purpose) = found.last_mut().unwrap();
                let _ = write!(purpose, " {text}");
            }
        }
    }
    found.retain(|(name, _)| name != "help");
    found
}

/// Returns the rows of `docs/exit-status.md` by command.
fn statuses() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(docs().join("exit-status.md")).unwrap();
    let (_, table) = text.split_once("## Every command").unwrap();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in table.lines().filter(|line| line.starts_with("| `")) {
        let name = line[3..].split([' ', '`']).next().unwrap();
        found
            .entry(name.to_owned())
            .or_default()
            .push(line.to_owned());
    }
    found
}

/// Returns the documents that each command prints, from the pages of `docs/documents`.
fn documents() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut files: Vec<_> = std::fs::read_dir(docs().join("documents"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let title = text.lines().next().unwrap().trim_start_matches("# ");
        let line = text
            .lines()
            .find(|line| line.starts_with("Printed by "))
            .unwrap();
        let commands: Vec<_> = line.split('`').skip(1).step_by(2).collect();
        for command in commands {
            let name = command.split(' ').nth(1).unwrap();
            let file = file.file_name().unwrap().to_str().unwrap();
            let link = format!("[`{title}`](../documents/{file})");
            let links = found.entry(name.to_owned()).or_default();
            if !links.contains(&link) {
                links.push(link);
            }
        }
    }
    found
}

fn index(commands: &[(String, String)]) -> String {
    let mut text = "# Commands\n\nEach page has the help text, examples of exit statuses, and the documents of `--format json`.\n\n\
                    | command | purpose |\n|---|---|\n"
        .to_owned();
    for (name, purpose) in commands {
        let _ = writeln!(text, "| [`hetdwarf {name}`]({name}.md) | {purpose} |");
    }
    text + "\n[Exit statuses](../exit-status.md) and [input, output and limits](../limits.md) are the same for all commands.\n"
}

fn page(name: &str, purpose: &str, statuses: &[String], documents: &[String]) -> String {
    let help = hetdwarf(["help", name]).out;
    let help: String = help
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    let mut text = format!("# hetdwarf {name}\n\n{purpose}.\n");
    if !documents.is_empty() {
        let _ = writeln!(text, "\nJSON: {}.", documents.join(", "));
    }
    let _ = write!(text, "\n```text\n{}\n```\n", help.trim_end());
    if !statuses.is_empty() {
        let _ = write!(
            text,
            "\n## Exit statuses, by example\n\n| command | status | reason |\n|---|---|---|\n{}\n\n[The files that stand in capitals](../exit-status.md#the-files).\n",
            statuses.join("\n")
        );
    }
    text
}

#[test]
fn pages_are_made_from_the_help_texts() {
    let (commands, statuses, documents) = (commands(), statuses(), documents());
    let mut pages = vec![("index".to_owned(), index(&commands))];
    for (name, purpose) in &commands {
        let rows = statuses.get(name).map_or(&[][..], Vec::as_slice);
        let documents = documents.get(name).map_or(&[][..], Vec::as_slice);
        pages.push((name.clone(), page(name, purpose, rows, documents)));
    }
    let folder = docs().join("commands");
    if std::env::var_os("HETDWARF_WRITE_DOCS").is_some_and(|value| value == "1") {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in &pages {
            std::fs::write(folder.join(format!("{name}.md")), text).unwrap();
        }
    }
    let stale: Vec<_> = pages
        .iter()
        .filter(|(name, text)| {
            let found = std::fs::read_to_string(folder.join(format!("{name}.md")));
            found.ok().as_ref() != Some(text)
        })
        .map(|(name, _)| name.as_str())
        .collect();
    assert!(
        stale.is_empty(),
        "docs/commands has stale pages: {}; HETDWARF_WRITE_DOCS=1 writes them",
        stale.join(", ")
    );
    let count = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(count, pages.len(), "docs/commands has pages of no command");
}
