//! Writes core files of processes that never ran.
//!
//! What is written is chosen by the caller ([`CoreSpec`]); contents of registers are made from the wave's number, so
//! that each is different and a test can tell which one it sees. [`Built`] is what a process would be at its death, and
//! can be damaged before it becomes a file.

mod built;
mod file;
mod process;
mod spec;
mod wave;

pub use built::{Built, Region};
pub use process::{GPU_ID, SIZES, at};
pub use spec::{CoreSpec, QueueSpec};
pub use wave::{Copied, TRAP_HANDLER, WaveSpec};

fn put32(out: &mut Vec<u8>, words: &[u32]) {
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

fn put64(out: &mut Vec<u8>, words: &[u64]) {
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

fn set64(out: &mut [u8], offset: usize, value: u64) {
    out[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}
