//! Every command on every file that was made to do harm.

use std::path::{Path, PathBuf};

use super::amplified;
use super::crafted::{stop_files, stopped_wave, type_files};
use super::growth::{KINDS, files_that_took};
use super::guard::Guard;

/// What a command may hold at once, whoever allocated it: README's promise for files of so many bytes.
fn promised(length: usize) -> u64 {
    32 * length as u64 + (256 << 20)
}

/// The arguments of every command that reads a code object; `FILE`, `WAVE` and `OUT` are put in.
const COMMANDS: [&str; 23] = [
    "info FILE",
    "info FILE --format json",
    "dump FILE",
    "dump FILE --format json",
    "dump FILE --debug-loclists --debug-line --debug-frame --debug-names --debug-aranges",
    "dump FILE --name v* --show-children",
    "dump FILE --all",
    "dump FILE --verbose --style llvm",
    "dump FILE --all --format json --verbose",
    "dump FILE --name v -p -c -v --regex",
    "dump FILE --show-sources --find v",
    "dump FILE --find v -c",
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

/// The arguments of every command that reads a core.
const CORE_COMMANDS: [&str; 9] = [
    "core FILE",
    "core FILE --format json",
    "core FILE --html OUT --all",
    "core FILE --html OUT --export FOLDER --format json",
    "unwind --core FILE --all-waves --registers --format json",
    "print --core FILE --all-waves v a[0] --format json",
    "vars --core FILE --wave 1 --frame all --children 2",
    "lane-pc --core FILE --wave 1 --html OUT",
    "eval --expr DW_OP_lit1 --core FILE --wave 1 --lane all",
];

/// Cores: the demo's, damaged ones, one with many waves, and the one that was given.
fn cores() -> Vec<(String, Vec<u8>)> {
    let demo = dwarf_tests::package().join("../examples/demo/demo.core");
    let mut all = vec![("demo".to_owned(), std::fs::read(demo).unwrap())];
    let mut folders: Vec<PathBuf> = std::fs::read_dir(dwarf_tests::fixture("cores"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("merged.core.gz").exists())
        .collect();
    folders.sort();
    for folder in folders {
        let name = folder.file_name().unwrap().to_str().unwrap();
        all.push((
            format!("core: {name}"),
            dwarf_tests::cores::file(name, "merged.core"),
        ));
    }
    all.push((
        "many waves".to_owned(),
        dwarf_tests::cores::many::built(2000).merged(),
    ));
    let given = amplified::given().into_iter();
    all.extend(given.filter(|(name, _)| name.ends_with(".core")));
    all
}

/// All files: what there is much of, what took hours or gigabytes, types and stops.
fn files() -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, write, _, count, ..) in KINDS {
        all.push((format!("much: {name}"), write(4 * count)));
    }
    for (name, file, ..) in files_that_took() {
        all.push((name.to_owned(), file));
    }
    for (name, file) in amplified::files() {
        all.push((format!("amplified: {name}"), file));
    }
    for (name, file) in amplified::given() {
        all.push((format!("given: {name}"), file));
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
        "FOLDER" => folder.join("folder"),
        word => word.into(),
    };
    command.split(' ').map(put_in).collect()
}

/// What a command prints, of which nothing is kept but what is asked of it.
#[derive(Default)]
struct Said {
    is_any: bool,
    is_incomplete: bool,
    /// The last bytes, in which what is looked for can begin.
    last: Vec<u8>,
}

impl std::io::Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // In JSON, and in text.
        const INCOMPLETE: [&[u8]; 2] = [b"\"complete\": false", b"not complete: "];
        const LONGEST: usize = 17;
        self.is_any |= !bytes.is_empty();
        if !self.is_incomplete {
            self.last.extend(bytes);
            self.is_incomplete = INCOMPLETE.iter().any(|sought| {
                let mut places = self.last.windows(sought.len());
                places.any(|place| place == *sought)
            });
            let before = self.last.len().saturating_sub(LONGEST);
            self.last.drain(..before);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Each ends with one of its statuses, says why where it is 2, and never holds more than what README says.
#[test]
fn every_command_ends_and_holds_little() {
    let folder = std::env::temp_dir().join(format!("hetdwarf-every-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("wave.json"), stopped_wave()).unwrap();
    let mut guard = Guard::new();
    let objects = files().into_iter();
    let objects = objects.map(|(name, file)| (name, file, &COMMANDS[..]));
    let cores = cores().into_iter();
    let cores = cores.map(|(name, file)| (name, file, &CORE_COMMANDS[..]));
    for (name, file, commands) in objects.chain(cores) {
        std::fs::write(folder.join("file"), &file).unwrap();
        for command in commands {
            let _ = std::fs::remove_file(folder.join("out"));
            let _ = std::fs::remove_dir_all(folder.join("folder"));
            let what = format!("{name}: {command}");
            guard.run(&what, || {
                let words = [PathBuf::from("hetdwarf")].into_iter();
                let words = words.chain(arguments(command, &folder));
                let (mut out, mut err) = (Said::default(), Said::default());
                let mut status = None;
                let allocated = allocation_counter::measure(|| {
                    let words = words.map(PathBuf::into_os_string);
                    status = Some(hetdwarf_cli::run(words, &mut out, &mut err));
                });
                let status = status.unwrap();
                assert!(status <= 2, "{what}: {status}");
                // Where JSON has the reason nothing else says it.
                let says_why = err.is_any || out.is_incomplete;
                assert!(status != 2 || says_why, "{what}");
                let (held, most) = (allocated.bytes_max, promised(file.len()));
                assert!(held <= most, "{what}: {} of {} MiB", held >> 20, most >> 20);
            });
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
    guard.finish("every command on every file");
}

/// The variable with the arguments of [`one_command`], separated by zeros.
const ARGUMENTS: &str = "HETDWARF_ONE_COMMAND";

/// One command, in a process of its own: it says its status, and the most memory that the process has had.
#[test]
#[ignore = "is run by another test"]
fn one_command() {
    let Some(arguments) = std::env::var_os(ARGUMENTS) else {
        return;
    };
    let arguments = arguments.into_string().unwrap();
    let words = core::iter::once("hetdwarf").chain(arguments.split('\n'));
    let (mut out, mut err) = (std::io::sink(), std::io::sink());
    let status = hetdwarf_cli::run(words.map(Into::into), &mut out, &mut err);
    println!("\nSTATUS {status} PEAK {}", super::guard::peak_kib());
}

/// Runs a command in a process of its own: its status, and the most memory that was resident, in bytes.
fn run_alone(arguments: &[PathBuf]) -> (u8, u64) {
    let words: Vec<_> = arguments
        .iter()
        .map(|word| word.to_str().unwrap())
        .collect();
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["every::one_command", "--exact", "--ignored", "--nocapture"])
        .env(ARGUMENTS, words.join("\n"))
        .output()
        .unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    let said = out.lines().find_map(|line| line.strip_prefix("STATUS "));
    let said = said.and_then(|said| said.split_once(" PEAK "));
    let Some((status, kib)) = said else {
        panic!("{words:?}: {:?}: {out}", ran.status);
    };
    (status.parse().unwrap(), kib.parse::<u64>().unwrap() << 10)
}

/// What the system says of the memory of each command, on all hostile files and every tenth fixture: no more than README says.
#[test]
fn every_command_is_small_in_memory() {
    small_in_memory(10);
}

#[test]
#[ignore = "takes minutes"]
fn every_command_is_small_in_memory_on_every_fixture() {
    small_in_memory(1);
}

/// * `step`: how many fixtures are passed over for each that is taken, and that one.
fn small_in_memory(step: usize) {
    let folder = std::env::temp_dir().join(format!("hetdwarf-resident-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("wave.json"), stopped_wave()).unwrap();
    let fixtures = dwarf_tests::corpus().into_iter().step_by(step).map(|path| {
        let file = std::fs::read(&path).unwrap();
        (path.display().to_string(), file)
    });
    let (mut wrong, mut most, mut count) = (Vec::new(), (0, String::new()), 0);
    let objects = files().into_iter().chain(fixtures);
    let objects = objects.map(|(name, file)| (name, file, &COMMANDS[..]));
    let cores = cores().into_iter();
    let cores = cores.map(|(name, file)| (name, file, &CORE_COMMANDS[..]));
    for (name, file, commands) in objects.chain(cores) {
        std::fs::write(folder.join("file"), &file).unwrap();
        for command in commands {
            let (status, peak) = run_alone(&arguments(command, &folder));
            let _ = std::fs::remove_file(folder.join("out"));
            let _ = std::fs::remove_dir_all(folder.join("folder"));
            count += 1;
            if peak > promised(file.len()) || status > 2 {
                let what = format!("{name} ({} bytes): {command}", file.len());
                wrong.push(format!("{what}: status {status}, {} MiB", peak >> 20));
            }
            if peak > most.0 {
                most = (peak, format!("{name}: {command}"));
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
    println!("{count} commands, at most {} MiB: {}", most.0 >> 20, most.1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
