//! Writes code objects with machine code that is hard to analyse, to measure the cost of `hetdwarf annotate`:
//!
//! `cargo run --release -p dwarf-tests --example hostile_code -- INSTRUCTIONS FOLDER`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a tool for developers"
)]

use std::path::PathBuf;

use dwarf_tests::flow::{KINDS, object};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("INSTRUCTIONS FOLDER");
    let (count, folder) = (next().parse().expect("a number"), PathBuf::from(next()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, make, functions) in KINDS {
        let name = format!("{}-{count}.hsaco", name.replace(' ', "-"));
        std::fs::write(folder.join(name), object(&make(count), functions(count))).unwrap();
    }
}
