//! Writes cores of twelve distinct crashes into a folder: `fleet_cores COUNT FOLDER`.

use std::path::Path;
use std::process::ExitCode;

use dwarf_tests::cores::crashes::{CRASHES, built};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [count, folder] = arguments.as_slice() else {
        eprintln!("Usage: fleet_cores COUNT FOLDER");
        return ExitCode::from(2);
    };
    let Ok(count) = count.parse::<u32>() else {
        eprintln!("fleet_cores: {count} is no number");
        return ExitCode::from(2);
    };
    for (number, crash) in (0..count).zip(CRASHES.iter().cycle()) {
        let path = Path::new(folder).join(format!("node-{number:05}.core"));
        if let Err(error) = std::fs::write(&path, built(crash, number).merged()) {
            eprintln!("fleet_cores: {folder}: {error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
