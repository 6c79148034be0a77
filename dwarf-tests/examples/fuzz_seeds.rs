//! Writes the inputs that fuzzing starts from: `fuzz_seeds FOLDER` makes a folder for each target in FOLDER.

use dwarf_tests::fuzz::TARGETS;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os()
        .nth(1)
        .expect("usage: fuzz_seeds FOLDER");
    for target in TARGETS {
        let folder = std::path::Path::new(&folder).join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in (target.seeds)().into_iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number:04}")), seed)?;
        }
    }
    Ok(())
}
