//! Compares the exit status of every command with the table in the documentation.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dwarf_tests::hetdwarf;

fn root() -> PathBuf {
    dwarf_tests::package().parent().unwrap().to_owned()
}

/// Returns the rows of the second table: the arguments, and the status.
fn rows(text: &str) -> Vec<(Vec<String>, u8)> {
    let (_, table) = text.split_once("## Every command").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let row = |line: &str| {
        let (command, rest) = line.split_once("` | ").unwrap();
        let (status, _) = rest.split_once(' ').unwrap();
        let words = command.split(' ').map(str::to_owned).collect();
        (words, status.parse().unwrap())
    };
    rows.map(row).collect()
}

/// Returns a code object inside `depth` nested bundles.
fn nested(depth: usize, object: Vec<u8>) -> Vec<u8> {
    const ID: &[u8] = b"hip-amdgcn-amd-amdhsa--gfx1100";
    (0..depth).fold(object, |inside, _| {
        let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
        for number in [1, 32 + 24 + ID.len(), inside.len(), ID.len()] {
            bundle.extend((number as u64).to_le_bytes());
        }
        bundle.extend(ID);
        bundle.extend(inside);
        bundle
    })
}

/// Returns two waves in the debug agent's format, without colours.
fn log() -> String {
    let wave = |number: u32| {
        let lanes: String = (0..32)
            .map(|lane| format!(" [{lane}] {lane:08x}"))
            .collect();
        format!(
            "wave_{number}: pc=0x7f4000001c90 k(stopped, reason: MEMORY_VIOLATION)\n\nscalar registers:\n\
             {:>16}: 00000000{:>16}: 00000001\n\nvector registers:\n{:>16}:{lanes}\n\n",
            "s0", "s1", "v0"
        )
    };
    wave(1) + &wave(2)
}

/// Returns a code object in which the section with debugging information has another name.
fn undescribed(object: &[u8]) -> Vec<u8> {
    let name = b".debug_info\0";
    let at = object.windows(name.len()).rposition(|part| part == name);
    let mut object = object.to_vec();
    object[at.unwrap() + 1] = b'x';
    object
}

/// Writes the files that the rows name.
fn write_files(folder: &Path) {
    let demo = root().join("examples/demo");
    let read = |name: &str| std::fs::read(demo.join(name)).unwrap();
    let (object, core, log) = (read("calls-O2.rocm.hsaco"), read("demo.core"), log());
    let cut = log.find("wave_2").unwrap() + 100;
    let hard = dwarf_tests::fixture("lanes/sw-gfx90a-O2/sw-gfx90a-O2.hsaco");
    let profile = dwarf_tests::fixture("profiles/stochastic/4242_results.json");
    let profile = std::fs::read(profile).unwrap();
    let split = dwarf_tests::fixture("corpus/llvm22/split-gfx90a-O2.hsaco");
    let mut wave = dwarf_tests::json(&demo.join("stop.json"));
    wave["registers"].as_object_mut().unwrap().remove("s30");
    let files: [(&str, Vec<u8>); 16] = [
        ("CUT-PROFILE", profile[..profile.len() - 1000].to_vec()),
        ("PROFILE", profile),
        ("HARD", std::fs::read(hard).unwrap()),
        ("NESTED", nested(9, object.clone())),
        ("UNDESCRIBED", undescribed(&object)),
        ("OBJECT", object),
        ("SPLIT", std::fs::read(split).unwrap()),
        ("WAVE", read("stop.json")),
        ("CUT-WAVE", wave.to_string().into_bytes()),
        ("CUT-CORE", core[..core.len() / 2].to_vec()),
        ("CORE", core),
        ("CUT-LOG", log.as_bytes()[..cut].to_vec()),
        ("LOG", log.into_bytes()),
        ("TEXT", b"A text.\n".to_vec()),
        ("BATCH", b"{\"expr\": \"lit1\"}\n".to_vec()),
        (
            "BAD-BATCH",
            b"{\"expr\": \"lit1\"}\n{\"expr\": \"lit1, div\"}\n".to_vec(),
        ),
    ];
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let object = folder.join("OBJECT").into_os_string();
    let records = hetdwarf(["verify".into(), "--format=jsonl".into(), object]);
    std::fs::write(folder.join("RECORDS"), records.out).unwrap();
}

#[test]
fn every_command_ends_as_the_documentation_says() {
    let text = std::fs::read_to_string(root().join("docs/exit-status.md")).unwrap();
    let mut wrong = Vec::new();
    let mut commands = BTreeSet::new();
    for (number, (words, expected)) in rows(&text).into_iter().enumerate() {
        let folder = format!("hetdwarf-statuses-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        write_files(&folder);
        let is_file = |word: &str| {
            let capital = |letter: char| letter.is_ascii_uppercase() || letter == '-';
            word.len() > 2 && word.chars().all(capital) && !word.starts_with('-')
        };
        let arguments = words.iter().map(|word| match is_file(word) {
            true => folder.join(word).into_os_string(),
            false => word.into(),
        });
        let ran = hetdwarf(arguments.collect::<Vec<_>>());
        if ran.status != expected {
            let line = words.join(" ");
            wrong.push(format!(
                "{line}: {} and not {expected}: {}",
                ran.status, ran.err
            ));
        }
        commands.insert(words[0].clone());
        std::fs::remove_dir_all(folder).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Each command has a row.
    let help = hetdwarf(["--help"]).out;
    let (_, list) = help.split_once("Commands:").unwrap();
    let list = list
        .lines()
        .skip(1)
        .take_while(|line| !line.trim().is_empty());
    let names = list.filter_map(|line| {
        // Continuation lines are indented further.
        let name = line.strip_prefix("  ")?;
        (!name.starts_with(' ')).then(|| name.split(' ').next())?
    });
    let missing: Vec<_> = names
        .filter(|name| *name != "help" && !commands.contains(*name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
