//! Writes a code object of any size: `large --help`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use dwarf_tests::large::{self, Shape};

const HELP: &str = "\
Writes a code object for gfx1100 whose size one chooses, with machine code, call frame information, variables,
location lists, types and line tables as compilers write them. The same options always give the same bytes.

Usage: large [OPTIONS] OUT

  --functions N   functions in all [400]
  --megabytes N   as many functions as make a file of about N times 2^20 bytes
  --variables N   variables of a function, its parameters among them [10]
  --entries N     entries of a location list; 0 puts variables into scratch [4]
  --unit N        functions of a unit, at most 60000 [100]
  --aranges       with a .debug_aranges
  --seed N        what chance starts from [1]
  --stop FILE     also writes a wave that stopped in the middle of the object
  --help          prints this

It prints the size of the file, its functions and units, and the address in the middle.
";

/// The settings from the arguments.
struct Arguments {
    shape: Shape,
    stop: Option<String>,
    out: String,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let done = parse(&arguments).and_then(|arguments| {
        run(&arguments).map_err(|error| format!("{}: {error}", arguments.out))
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn parse(arguments: &[String]) -> Result<Arguments, String> {
    let mut shape = Shape::default();
    let (mut megabytes, mut stop, mut out) = (None, None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = || -> Result<usize, String> {
            let text = rest.next().ok_or(format!("{argument} needs a number"))?;
            text.parse()
                .map_err(|_| format!("{argument} {text}: no number"))
        };
        match argument.as_str() {
            "--functions" => shape.functions = number()?,
            "--megabytes" => megabytes = Some(number()? as u64),
            "--variables" => shape.variables = number()?,
            "--entries" => shape.entries = number()?,
            "--unit" => shape.functions_of_unit = number()?.clamp(1, 60_000),
            "--seed" => shape.seed = number()? as u64,
            "--aranges" => shape.aranges = true,
            "--stop" => stop = Some(rest.next().ok_or("--stop needs a file")?.clone()),
            option if option.starts_with('-') => return Err(format!("{option}: no such option")),
            _ => out = Some(argument.clone()),
        }
    }
    if let Some(megabytes) = megabytes {
        shape = shape.sized(megabytes);
    }
    let out = out.ok_or("OUT is missing; see --help")?;
    Ok(Arguments { shape, stop, out })
}

fn run(arguments: &Arguments) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(&arguments.out)?);
    let object = large::write(&arguments.shape, &mut out)?;
    out.flush()?;
    let middle = object.middle();
    println!(
        "{} bytes, {} functions, {} units, {} at {:#x}",
        object.size,
        arguments.shape.functions,
        object.units.len(),
        middle.name,
        middle.middle
    );
    if let Some(path) = &arguments.stop {
        std::fs::write(path, large::stop(&object, middle).to_string())?;
    }
    Ok(())
}
