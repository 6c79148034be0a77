//! Writes a core file with any number of waves: `many_waves COUNT OUT`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [count, out] = arguments.as_slice() else {
        eprintln!("Usage: many_waves COUNT OUT");
        return ExitCode::from(2);
    };
    let Ok(count) = count.parse() else {
        eprintln!("many_waves: {count} is no number");
        return ExitCode::from(2);
    };
    let built = dwarf_tests::cores::many::built(count);
    match std::fs::write(out, built.merged()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("many_waves: {out}: {error}");
            ExitCode::from(2)
        }
    }
}
