//! Tests the installed library with pkg-config and `CMake`, the amd-dbgapi adapter, and the C++ wrapper.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn case() -> [String; 2] {
    let folder = common::root().join("../dwarf-tests/fixtures/waves/calls");
    ["calls.rocm.hsaco", "w09.json"].map(|name| folder.join(name).to_str().unwrap().to_owned())
}

/// Returns the variables of lane 0, as the command prints them.
fn expected() -> Vec<String> {
    let [object, wave] = case();
    let arguments = [
        "vars", &object, "--wave", &wave, "--lane", "0", "--format", "json",
    ];
    let document = common::hetdwarf(&arguments);
    let frames = document["frames"].as_array().unwrap().iter();
    let variables = frames.flat_map(|frame| frame["variables"].as_array().unwrap());
    let line = |variable: &serde_json::Value| {
        let value = variable["lanes"][0]["value"]
            .as_str()
            .unwrap_or("?")
            .to_owned();
        format!("{} = {value}", variable["name"].as_str().unwrap())
    };
    variables.map(line).collect()
}

fn install(folder: &Path) -> PathBuf {
    let prefix = folder.join("prefix");
    let script = common::root().join("install.sh");
    common::run(Command::new(script).arg(&prefix).arg(common::libraries()));
    prefix
}

#[test]
fn programs_find_the_installed_library_with_pkg_config() {
    if !common::has("pkg-config") || !common::has("gcc") {
        test_skips::skipped("there is no pkg-config, or no gcc");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let prefix = install(folder.path());
    let mut ask = Command::new("pkg-config");
    ask.args(["--cflags", "--libs", "hetdwarf"]);
    ask.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let flags = String::from_utf8(common::run(&mut ask).stdout).unwrap();
    let program = folder.path().join("print_variables");
    let mut gcc = Command::new("gcc");
    gcc.arg(common::root().join("examples/print_variables.c"));
    gcc.args(flags.split_whitespace()).arg("-o").arg(&program);
    common::run(&mut gcc);
    let mut run = Command::new(&program);
    run.env("LD_LIBRARY_PATH", prefix.join("lib")).args(case());
    let printed = String::from_utf8(common::run(&mut run).stdout).unwrap();
    assert!(printed.starts_with("#0 "), "{printed}");
}

/// Installs into a prefix with characters that are special in shells, sed and pkg-config, and into a staging folder for
/// packages.
#[test]
fn prefixes_have_any_characters_and_destdir_goes_before_them() {
    let folder = tempfile::tempdir().unwrap();
    let script = common::root().join("install.sh");
    let prefix = folder.path().join("with space & | more");
    common::run(Command::new(&script).arg(&prefix).arg(common::libraries()));
    let file = fs::read_to_string(prefix.join("lib/pkgconfig/hetdwarf.pc")).unwrap();
    let escaped = prefix.to_str().unwrap().replace(' ', "\\ ");
    assert!(file.starts_with(&format!("prefix={escaped}\n")), "{file}");
    let staged = folder.path().join("staged");
    let mut install = Command::new(&script);
    install.arg("/opt/hetdwarf").arg(common::libraries());
    common::run(install.env("DESTDIR", &staged));
    let file = staged.join("opt/hetdwarf/lib/pkgconfig/hetdwarf.pc");
    assert!(
        fs::read_to_string(file)
            .unwrap()
            .starts_with("prefix=/opt/hetdwarf\n")
    );
    assert!(staged.join("opt/hetdwarf/include/hetdwarf.h").exists());
}

#[test]
fn programs_find_the_installed_library_with_cmake() {
    if !common::has("cmake") || !common::has("g++") {
        test_skips::skipped("there is no cmake, or no g++");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let prefix = install(folder.path());
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    let example = common::root().join("examples/emit_cfi.cpp");
    let script = format!(
        "cmake_minimum_required(VERSION 3.16)\nproject(consumer CXX)\nset(CMAKE_CXX_STANDARD 17)\n\
         find_package(hetdwarf 0.1 REQUIRED)\nadd_executable(consumer {})\n\
         target_link_libraries(consumer hetdwarf::hetdwarf)\n",
        example.to_str().unwrap()
    );
    fs::write(source.join("CMakeLists.txt"), script).unwrap();
    let build = folder.path().join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&source).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.to_str().unwrap()));
    common::run(&mut configure);
    common::run(Command::new("cmake").arg("--build").arg(&build));
    let mut run = Command::new(build.join("consumer"));
    run.env("LD_LIBRARY_PATH", prefix.join("lib"));
    let printed = String::from_utf8(common::run(&mut run).stdout).unwrap();
    assert!(printed.contains(".cfi_endproc"), "{printed}");
}

#[test]
fn the_adapter_of_amd_dbgapi_reads_what_its_functions_give() {
    let folder = tempfile::tempdir().unwrap();
    let stub = format!(
        "-I{}",
        common::root().join("examples/stub").to_str().unwrap()
    );
    let stand_in = common::root().join("tests/dbgapi_stand_in.c");
    let source = common::root().join("examples/dbgapi_adapter.c");
    for compiler in common::compilers(false) {
        let program = folder.path().join(compiler);
        common::compile(
            compiler,
            &source,
            &program,
            &[&stub, stand_in.to_str().unwrap()],
        );
        let output = common::run(Command::new(&program).args(case()));
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed.lines().collect::<Vec<_>>(), expected());
    }
}

#[test]
fn the_wrapper_for_cpp_reads_what_the_command_reads() {
    let folder = tempfile::tempdir().unwrap();
    let source = common::root().join("tests/wrapper.cpp");
    let core = common::root().join("../examples/demo/demo.core");
    for compiler in common::compilers(true) {
        let program = folder.path().join(compiler);
        common::compile(compiler, &source, &program, &[]);
        let output = common::run(Command::new(&program).args(case()).arg(&core));
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed.lines().collect::<Vec<_>>(), expected());
    }
}
