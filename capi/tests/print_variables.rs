//! Tests that `examples/print_variables.c`, a C debugger with two callbacks, prints the same as the command.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

mod common;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use hetdwarf::Untrusted;
use serde_json::Value;

/// Escapes text from files like the example.
fn shown(text: &Value) -> String {
    Untrusted::from(text.as_str().unwrap()).to_string()
}

fn hexadecimal(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Returns the line of a lane, from a document of `vars` or `print`.
fn lane_line(lane: &Value) -> String {
    let mut line = format!(
        "  lane {} {}",
        lane["lane"],
        lane["state"].as_str().unwrap()
    );
    if let Some(text) = lane["value"].as_str() {
        let bytes = lane["bytes"].as_str().unwrap();
        let bytes = bytes.get(..64).unwrap_or(bytes);
        write!(line, ": {text} [{bytes}]").unwrap();
        // The example counts the bits of the first 32 bytes that are set in one of the masks.
        let is_missing = |bit: u64| {
            let ranges = ["undefined", "unavailable"].map(|name| lane[name].as_array());
            let mut ranges = ranges.into_iter().flatten().flatten();
            ranges.any(|range| {
                (range[0].as_u64().unwrap()..range[1].as_u64().unwrap()).contains(&bit)
            })
        };
        let missing = (0..256).filter(|bit| is_missing(*bit)).count();
        if missing > 0 {
            write!(line, " without {missing} bits").unwrap();
        }
    }
    if !lane["message"].is_null() {
        write!(line, " ({})", shown(&lane["message"])).unwrap();
    }
    if let Some(earlier) = common::earlier(lane) {
        write!(line, " ({earlier})").unwrap();
    }
    line
}

/// Writes the lines of a variable.
fn variable_lines(variable: &Value, out: &mut String) {
    write!(
        out,
        "{} {}",
        shown(&variable["type"]),
        shown(&variable["name"])
    )
    .unwrap();
    write!(out, " ({}", variable["kind"].as_str().unwrap()).unwrap();
    if !variable["scope"].is_null() {
        write!(out, " of {}", shown(&variable["scope"])).unwrap();
    }
    if !variable["decl"]["file"].is_null() {
        let line = variable["decl"]["line"].as_u64().unwrap_or(0);
        write!(out, ", {}:{line}", file_name(&variable["decl"]["file"])).unwrap();
    }
    write!(out, ", read as {}", variable["reading"].as_str().unwrap()).unwrap();
    if let Some(note) = variable["note"].as_str() {
        write!(out, "; {note}").unwrap();
    }
    out.push_str(")\n");
    for lane in variable["lanes"].as_array().unwrap() {
        writeln!(out, "{}", lane_line(lane)).unwrap();
    }
}

/// Returns the name of a file without its directories, as the example prints it.
fn file_name(path: &Value) -> String {
    let path = path.as_str().unwrap();
    shown(&path.rsplit('/').next().unwrap().into())
}

/// Returns the line with the position of a lane.
fn place_line(lane: &Value) -> String {
    let mut line = format!(
        "lane {} is {}",
        lane["lane"],
        lane["state"].as_str().unwrap()
    );
    if !lane["pc"].is_null() {
        write!(line, " at {}", hexadecimal(&lane["pc"])).unwrap();
    }
    if !lane["file"].is_null() {
        write!(line, " {}:{}", file_name(&lane["file"]), lane["line"]).unwrap();
    }
    if let Some(caller) = lane
        .get("caller")
        .filter(|caller| !caller["function"].is_null())
    {
        write!(line, " in {}", shown(&caller["function"])).unwrap();
    }
    for name in ["origin", "reason"] {
        if let Some(text) = lane[name].as_str() {
            write!(line, ", {text}").unwrap();
        }
    }
    line
}

/// Returns the command's answers in the format of the example.
fn expected(object: &str, wave: &str, expressions: &[&str]) -> String {
    let wave_option = ["--wave", wave, "--format", "json"];
    let with = |command: &str, more: &[&str]| {
        let mut arguments = vec![command, object];
        arguments.extend(wave_option);
        arguments.extend(more);
        common::hetdwarf(&arguments)
    };
    let vars = with("vars", &["--frame", "all", "--lane", "all"]);
    let mut out = String::new();
    for frame in vars["frames"].as_array().unwrap() {
        let place = &frame["frame"];
        write!(out, "#{} {} ", place["index"], hexadecimal(&place["pc"])).unwrap();
        let function = &place["function"];
        out.push_str(&if function.is_null() {
            "?".to_owned()
        } else {
            shown(function)
        });
        if place["kind"] == "inlined" {
            out.push_str(" (inlined)");
        }
        if !place["file"].is_null() {
            write!(out, " at {}:{}", file_name(&place["file"]), place["line"]).unwrap();
        }
        out.push('\n');
        for variable in frame["variables"].as_array().unwrap() {
            variable_lines(variable, &mut out);
        }
        let level = place["index"].to_string();
        let lanes = with("lane-pc", &["--frame", &level]);
        for lane in lanes["lanes"].as_array().unwrap() {
            writeln!(out, "{}", place_line(lane)).unwrap();
        }
    }
    writeln!(out, "{}", shown(&vars["message"])).unwrap();
    for expression in expressions {
        let print = with("print", &[expression, "--lane", "all"]);
        let answer = &print["expressions"][0];
        if let Some(message) = answer["error"]["message"].as_str() {
            let message = Untrusted::from(message);
            writeln!(
                out,
                "{expression}: {message} (at offset {})",
                answer["error"]["offset"]
            )
            .unwrap();
            continue;
        }
        write!(out, "{} {expression} (expression", shown(&answer["type"])).unwrap();
        if let Some(note) = answer["note"].as_str() {
            write!(out, "; {note}").unwrap();
        }
        out.push_str(")\n");
        for lane in answer["lanes"].as_array().unwrap() {
            writeln!(out, "{}", lane_line(lane)).unwrap();
        }
    }
    out
}

/// Returns expressions for a stop that has variables.
fn expressions(object: &str, wave: &str) -> Vec<String> {
    let vars = common::hetdwarf(&["vars", object, "--wave", wave, "--format", "json"]);
    let frames = vars["frames"].as_array().unwrap().iter();
    let names = frames.flat_map(|frame| frame["variables"].as_array().unwrap());
    let names = names
        .filter_map(|variable| variable["name"].as_str())
        .take(2);
    names
        .flat_map(|name| {
            [
                format!("({name})"),
                format!("&{name}"),
                format!("{name} + 1"),
            ]
        })
        .chain(["no_such_name".to_owned(), "1 +".to_owned()])
        .collect()
}

#[test]
fn a_debugger_in_c_prints_what_the_command_prints() {
    let folder = tempfile::tempdir().unwrap();
    let source = common::root().join("examples/print_variables.c");
    let mut programs = Vec::new();
    for compiler in common::compilers(false) {
        let program = folder.path().join(compiler);
        common::compile(compiler, &source, &program, &[]);
        programs.push(program);
    }
    if programs.is_empty() {
        return;
    }
    let mut lines = 0;
    // All waves take a minute, so they run only if `HETDWARF_WAVES` names a folder.
    let step = if std::env::var_os("HETDWARF_WAVES").is_some() {
        1
    } else {
        5
    };
    for (at, (object, wave)) in common::waves().iter().step_by(step).enumerate() {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let (object, wave) = (text(object), text(wave));
        let expressions = expressions(&object, &wave);
        let expressions: Vec<&str> = expressions.iter().map(String::as_str).collect();
        // The compilers take turns.
        let program = &programs[at % programs.len()];
        let mut command = Command::new(program);
        let output = common::run(command.args([&object, &wave]).args(&expressions));
        let printed = String::from_utf8(output.stdout).unwrap();
        let expected = expected(&object, &wave, &expressions);
        for (printed, expected) in printed.lines().zip(expected.lines()) {
            assert_eq!(printed, expected, "{object} {wave}");
        }
        assert_eq!(
            printed.lines().count(),
            expected.lines().count(),
            "{object} {wave}"
        );
        lines += printed.lines().count();
    }
    assert!(lines > 10_000, "{lines} lines");
}
