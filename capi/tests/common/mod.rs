//! Helpers for tests that compile C.
#![allow(dead_code, reason = "each test program uses a part")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the folder of this package.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder into which cargo puts the libraries and this test.
pub fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_owned()
}

/// Returns true if a program is installed.
pub fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Returns the sanitizer that instruments the library, if any. Programs need its runtime, which gcc provides.
fn sanitizer() -> Option<String> {
    std::env::var("HETDWARF_C_SANITIZER").ok()
}

/// Returns the installed compilers for C or C++. If there are none, records that the test was skipped.
pub fn compilers(cpp: bool) -> Vec<&'static str> {
    let all = match cpp {
        false => ["gcc", "clang", "clang-22"],
        true => ["g++", "clang++", "clang++-22"],
    };
    let count = if sanitizer().is_some() { 1 } else { all.len() };
    let usable = all.into_iter().take(count);
    let (found, missing): (Vec<_>, Vec<_>) = usable.partition(|compiler| has(compiler));
    if found.is_empty() {
        test_skips::skipped(&format!("there is none of {}", missing.join(", ")));
    }
    found
}

/// Compiles a program against the shared library, with all warnings as errors.
pub fn compile(compiler: &str, source: &Path, out: &Path, extra: &[&str]) {
    compile_against(&root().join("include"), compiler, source, out, extra);
}

/// Compiles a program against the shared library and the header in a folder.
pub fn compile_against(include: &Path, compiler: &str, source: &Path, out: &Path, extra: &[&str]) {
    let is_cpp = source
        .extension()
        .is_some_and(|extension| extension == "cpp");
    let libraries = libraries();
    // The file name that programs load at run time.
    let name = libraries.join("libhetdwarf.so.0");
    let _ = std::os::unix::fs::symlink("libhetdwarf_capi.so", name);
    let mut command = Command::new(compiler);
    command.arg(if is_cpp { "-std=c++17" } else { "-std=c11" });
    command.args([
        "-O1",
        "-Wall",
        "-Wextra",
        "-Wshadow",
        "-Werror",
        "-pedantic",
        "-pthread",
    ]);
    command.arg("-I").arg(include);
    command.arg(source).arg("-o").arg(out);
    command.arg("-L").arg(&libraries).arg("-lhetdwarf_capi");
    // The search path of the program must precede cargo's, which may lead to an older build.
    command.arg("-Wl,--disable-new-dtags");
    command.arg(format!("-Wl,-rpath,{}", libraries.to_str().unwrap()));
    if let Some(name) = sanitizer() {
        command.arg(format!("-fsanitize={name}"));
    }
    command.args(extra);
    run(&mut command);
}

/// Runs a command that must succeed.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Returns the command's output, parsed as JSON.
pub fn hetdwarf(arguments: &[&str]) -> serde_json::Value {
    let mut out = Vec::new();
    let mut err = Vec::new();
    let all = std::iter::once("hetdwarf").chain(arguments.iter().copied());
    hetdwarf_cli::run(all.map(Into::into), &mut out, &mut err);
    let text = String::from_utf8(out).unwrap();
    let problem = String::from_utf8_lossy(&err);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{arguments:?}: {text}{problem}"))
}

/// Returns the C library's message about an `entry` or `last-known` value, derived from the command's document.
pub fn earlier(lane: &serde_json::Value) -> Option<String> {
    let from = lane["from"].as_str()?;
    let since = match (&lane["state"], &lane["as_of"]) {
        (state, _) if state == "entry" => "at entry".to_owned(),
        (_, as_of) if as_of["line"].is_u64() => format!("as of line {}", as_of["line"]),
        (_, as_of) => format!("as of {}", as_of["pc"].as_str().unwrap()),
    };
    Some(format!("{since}, from {from}"))
}

/// Returns the code objects and snapshots of all recorded waves.
pub fn waves() -> Vec<(PathBuf, PathBuf)> {
    let folder = root().join("../dwarf-tests/fixtures/waves");
    // `HETDWARF_WAVES` can name a folder with more waves.
    let folder = std::env::var_os("HETDWARF_WAVES").map_or(folder, PathBuf::from);
    let mut found = Vec::new();
    for case in std::fs::read_dir(folder).unwrap() {
        let case = case.unwrap().path();
        if !case.is_dir() {
            continue;
        }
        let names: Vec<PathBuf> = std::fs::read_dir(&case)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        let is = |path: &Path, end: &str| path.to_str().unwrap().ends_with(end);
        let objects = names.iter().filter(|path| is(path, ".hsaco"));
        for object in objects {
            let waves = names.iter().filter(|path| {
                let name = path.file_name().unwrap().to_str().unwrap();
                name.starts_with('w') && name.ends_with(".json")
            });
            found.extend(waves.map(|wave| (object.clone(), wave.clone())));
        }
    }
    found.sort();
    assert!(found.len() > 100, "{} waves", found.len());
    found
}
