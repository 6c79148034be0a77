//! Writes core files of invented processes.
//!
//! The caller chooses the structure ([`CoreSpec`]). The contents of registers are derived from the wave's number, so that each value is
//! unique and a test can identify it. [`Built`] is the process at the time of its crash, which tests can damage before it is written to a
//! file.

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
