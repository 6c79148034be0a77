//! Re-exports the helpers for code objects that are built by hand.
#![allow(unused_imports, reason = "each test needs some of it")]

pub use dwarf_tests::elf::*;
