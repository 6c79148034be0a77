//! Tests the parts that other projects adopt unchanged: the walk-through in `docs/ci.md`, the script of the action and
//! the `CMake` function.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const HETDWARF: &str = env!("CARGO_BIN_EXE_hetdwarf");

/// A temporary repository with one code object in `build`, in which `verify` finds errors.
struct Repository(PathBuf);

impl Repository {
    fn new(name: &str) -> Repository {
        let path = std::env::temp_dir().join(format!("hetdwarf-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("build")).unwrap();
        let repository = Repository(path);
        repository.build("calls-gfx90a-O1-dwarf4.hsaco");
        repository
    }

    fn build(&self, name: &str) {
        let from = Path::new(ROOT).join("dwarf-tests/fixtures/corpus/llvm24");
        fs::copy(from.join(name), self.0.join("build/k.hsaco")).unwrap();
    }

    fn run(&self, command: &mut Command) -> Output {
        command.current_dir(&self.0).output().unwrap()
    }

    fn hetdwarf(&self, arguments: &[&str]) -> Option<i32> {
        self.run(Command::new(HETDWARF).args(arguments))
            .status
            .code()
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs every command of the page in order, then checks the code object of another source file, whose findings are new.
#[test]
fn the_walk_through_leads_to_a_check() {
    let repository = Repository::new("walk");
    let page = fs::read_to_string(Path::new(ROOT).join("docs/ci.md")).unwrap();
    let commands = page
        .lines()
        .filter_map(|line| line.trim().strip_prefix("$ hetdwarf "))
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let statuses: Vec<_> = commands.map(|one| repository.hetdwarf(&one)).collect();
    assert_eq!(statuses, [Some(1), Some(0), Some(0)]);
    let (_, options) = page.split_once("```toml\n").unwrap();
    let (options, _) = options.split_once("```").unwrap();
    assert!(options.contains("[verify]") && options.contains("exclude"));
    fs::write(repository.0.join("hetdwarf.toml"), options).unwrap();
    // Neither rules outside the selection nor notes, which the profile leaves out, are reported as no longer found.
    for rules in ["cfi-*", "cfi-stale-lane"] {
        let quiet =
            repository.run(Command::new(HETDWARF).args(["verify", "build", "--rules", rules]));
        let said = String::from_utf8_lossy(&quiet.stderr);
        assert_eq!((quiet.status.code(), &*said), (Some(0), ""), "{rules}");
    }
    assert_eq!(repository.hetdwarf(&["verify", "build"]), Some(0));
    let baseline = fs::read_to_string(repository.0.join("hetdwarf-baseline.json")).unwrap();
    assert!(baseline.contains("\"note\":true"), "{baseline}");
    repository.build("tile-gfx1100-O0.hsaco");
    assert_eq!(repository.hetdwarf(&["verify", "build"]), Some(1));
}

#[test]
fn the_script_of_the_action_checks_a_folder() {
    let repository = Repository::new("action");
    let action = |baseline: &str| {
        repository.run(
            Command::new("bash")
                .arg(Path::new(ROOT).join(".ci/action"))
                .env("HETDWARF", HETDWARF)
                .env("INPUT_PATH", "build")
                .env("INPUT_BASELINE", baseline)
                .env("INPUT_PROFILE", "release")
                .env("INPUT_SARIF", "out.sarif")
                .env("GITHUB_STEP_SUMMARY", repository.0.join("summary.md")),
        )
    };
    let red = action("");
    let text = String::from_utf8(red.stdout).unwrap();
    assert_eq!(red.status.code(), Some(1), "{text}");
    assert!(text.lines().all(|line| line.starts_with("::")), "{text}");
    let read = |name: &str| fs::read_to_string(repository.0.join(name)).unwrap();
    assert!(read("out.sarif").contains("\"cfi-stale-lane\""));
    assert!(read("summary.md").contains("| `cfi-stale-lane` |"));
    let write = ["verify", "build", "--write-baseline", "known.json"];
    assert_eq!(repository.hetdwarf(&write), Some(0));
    let green = action("known.json");
    assert_eq!((green.status.code(), green.stdout), (Some(0), Vec::new()));
    // An unreadable file has its own exit status.
    fs::write(repository.0.join("build/k.hsaco"), b"\x7fELF").unwrap();
    assert_eq!(action("known.json").status.code(), Some(2));
}

#[test]
fn cmake_checks_what_a_target_builds() {
    if Command::new("cmake").arg("--version").output().is_err() {
        test_skips::skipped("cmake is not installed");
        return;
    }
    let repository = Repository::new("cmake");
    let project = |arguments: &str| {
        let text = format!(
            "cmake_minimum_required(VERSION 3.20)\nproject(k NONE)\ninclude({ROOT}/cmake/Hetdwarf.cmake)\n\
             add_custom_target(kernels ALL)\n\
             hetdwarf_verify(kernels FILES ${{CMAKE_SOURCE_DIR}}/build/k.hsaco {arguments})\n"
        );
        fs::write(repository.0.join("CMakeLists.txt"), text).unwrap();
        let configured = repository.run(Command::new("cmake").args([
            "-S",
            ".",
            "-B",
            "out",
            &format!("-DHETDWARF={HETDWARF}"),
        ]));
        assert!(configured.status.success(), "{configured:?}");
        repository
            .run(Command::new("cmake").args(["--build", "out"]))
            .status
            .success()
    };
    assert!(!project(""));
    assert!(project("PROFILE application"));
    let write = ["verify", "build", "--write-baseline", "known.json"];
    assert_eq!(repository.hetdwarf(&write), Some(0));
    assert!(project("BASELINE known.json"));
}
