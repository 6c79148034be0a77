//! Every command on every file that was made to do harm.

use std::path::{Path, PathBuf};

use dwarf_tests::hetdwarf;

use super::crafted::{stop_files, stopped_wave, type_files};
use super::growth::{KINDS, files_that_took};
use super::guard::Guard;

/// What a command may hold at once, whatever the file: README's promise.
const MOST_BYTES: u64 = 512 << 20;

/// The arguments of every command that reads a code object; `FILE`, `WAVE` and `OUT` are put in.
const COMMANDS: [&str; 17] = [
    "info FILE",
    "info FILE --format json",
    "dump FILE",
    "dump FILE --format json",
    "dump FILE --debug-loclists --debug-line --debug-frame --debug-names --debug-aranges",
    "dump FILE --name v* --show-children",
    "verify FILE",
    "verify FILE --format json --each",
    "verify FILE --format sarif",
    "vars FILE --wave WAVE --frame all --children 2",
    "vars FILE --wave WAVE --format json",
    "unwind FILE --wave WAVE --registers --format json",
    "lane-pc FILE --wave WAVE",
    "print FILE --wave WAVE v &v *v v[1] sizeof(v)",
    "eval --expr DW_OP_lit1 --object FILE --wave WAVE --lane all",
    "annotate FILE -o OUT",
    "core FILE",
];

/// All files: what there is much of, what took hours or gigabytes, types and stops.
fn files() -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, write, _, count, ..) in KINDS {
        all.push((format!("much: {name}"), write(4 * count)));
    }
    for (name, file, ..) in files_that_took() {
        all.push((name.to_owned(), file));
    }
    for (name, file) in type_files(1) {
        all.push((name.to_owned(), file));
    }
    for (name, file, _) in stop_files(1) {
        all.push((name.to_owned(), file));
    }
    all
}

/// A command's arguments, for a file in a folder.
fn arguments(command: &str, folder: &Path) -> Vec<PathBuf> {
    let put_in = |word: &str| match word {
        "FILE" => folder.join("file"),
        "WAVE" => folder.join("wave.json"),
        "OUT" => folder.join("out"),
        word => word.into(),
    };
    command.split(' ').map(put_in).collect()
}

/// Each ends with one of its statuses, says why where it is 2, and never holds more than what README says.
#[test]
fn every_command_ends_and_holds_little() {
    let folder = std::env::temp_dir().join(format!("hetdwarf-every-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("wave.json"), stopped_wave()).unwrap();
    let mut guard = Guard::new();
    for (name, file) in files() {
        std::fs::write(folder.join("file"), &file).unwrap();
        for command in COMMANDS {
            let what = format!("{name}: {command}");
            guard.run(&what, || {
                let mut ran = None;
                let allocated = allocation_counter::measure(|| {
                    ran = Some(hetdwarf(arguments(command, &folder)));
                });
                let ran = ran.unwrap();
                assert!(ran.status <= 2, "{what}: {}", ran.status);
                // Where JSON has the reason nothing else says it.
                let says_why = !ran.err.is_empty() || ran.out.contains("\"complete\": false");
                assert!(ran.status != 2 || says_why, "{what}");
                // What it prints is held by this test.
                let held =
                    allocated.bytes_max - (ran.out.capacity() as u64).min(allocated.bytes_max);
                assert!(held < MOST_BYTES, "{what}: {} MiB", held >> 20);
            });
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
    guard.finish("every command on every file");
}

/// Writes the files, each into a folder of its own beside a wave, for a command that was built for release:
/// `HETDWARF_HOSTILE=FOLDER`. `.ci/full` runs every command on them, with five seconds and 512 MiB for each.
#[test]
#[ignore = "writes files"]
fn files_for_a_release() {
    let Some(all) = std::env::var_os("HETDWARF_HOSTILE").map(PathBuf::from) else {
        panic!("HETDWARF_HOSTILE names no folder");
    };
    for (name, file) in files() {
        let folder = all.join(name.replace([' ', ',', ':', '^'], "-"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("file"), file).unwrap();
        std::fs::write(folder.join("wave.json"), stopped_wave()).unwrap();
    }
    let commands = COMMANDS.map(|command| command.replace("FILE", "file"));
    let commands =
        commands.map(|command| command.replace("WAVE", "wave.json").replace("OUT", "out"));
    std::fs::write(all.join("commands"), commands.join("\n") + "\n").unwrap();
}
