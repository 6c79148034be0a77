//! Builds cores of twelve distinct crashes, each of which occurred in many processes. The processes differ in load addresses, lanes,
//! workgroups, other waves and build folders.

use super::emulated::{Emulated, MEMORY_VIOLATION, Placed, Process};
use super::writer::Built;

/// Bits of TRAPSTS. Source: the description of the format, section 10.
const ILLEGAL_INSTRUCTION: u32 = 1 << 11;
const ADDRESS_ERROR: u32 = 1 << 8;

/// A distinct crash, with the facts that distinguish it.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    /// The snapshot with the registers and stack of the waves.
    pub snapshot: &'static str,
    /// The stop reason.
    trapsts: u32,
    /// The letter that is the kernel's name.
    pub kernel: u8,
}

impl Crash {
    /// Returns the name of the reason in a verdict.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self.trapsts {
            MEMORY_VIOLATION => "memory-violation",
            ILLEGAL_INSTRUCTION => "illegal-instruction",
            _ => "address-error",
        }
    }
}

/// The crashes. In `calls-O2.cl`, `w06` and `w11` are at the same instruction of `leaf`, called from two positions in `mid`. `w03` is at
/// another instruction of `leaf`. `w08`, `w10` and `w14` are in `mid`, and `w16` and `w17` in a function inlined into the kernel.
pub const CRASHES: [Crash; 12] = {
    const fn crash(snapshot: &'static str, trapsts: u32, kernel: u8) -> Crash {
        Crash {
            snapshot,
            trapsts,
            kernel,
        }
    }
    [
        crash("w06", MEMORY_VIOLATION, b'k'),
        crash("w11", MEMORY_VIOLATION, b'k'),
        crash("w03", MEMORY_VIOLATION, b'k'),
        crash("w08", MEMORY_VIOLATION, b'k'),
        crash("w14", MEMORY_VIOLATION, b'k'),
        crash("w06", ILLEGAL_INSTRUCTION, b'k'),
        crash("w06", ADDRESS_ERROR, b'k'),
        crash("w16", MEMORY_VIOLATION, b'k'),
        crash("w17", ILLEGAL_INSTRUCTION, b'k'),
        crash("w06", MEMORY_VIOLATION, b'j'),
        crash("w08", ILLEGAL_INSTRUCTION, b'k'),
        crash("w10", ILLEGAL_INSTRUCTION, b'k'),
    ]
};

/// The snapshots of waves that run alongside the crashed waves.
const OTHERS: [&str; 6] = ["w00", "w02", "w05", "w07", "w09", "w12"];

/// Returns the number of crashed waves in a variation: 1, 2 or 3.
#[must_use]
pub fn crashed(variation: u32) -> u32 {
    1 + variation % 3
}

/// Returns the number of running waves in a variation: 0 to 3.
#[must_use]
pub fn running(variation: u32) -> u32 {
    variation / 3 % 4
}

/// Builds the process of a crash.
///
/// * `variation`: selects the differences between processes with the same crash.
#[must_use]
pub fn built(crash: &Crash, variation: u32) -> Built {
    let first = variation % 50;
    let mut waves = Vec::new();
    for n in 0..crashed(variation) {
        waves.push(Placed {
            wave: Emulated::of_calls(crash.snapshot),
            trapsts: crash.trapsts,
            // Some of the lanes that are active in every snapshot are switched off.
            off: u64::from(variation % 5) << (2 * (n % 4)) & 0x2a8,
            workgroup: first + 2 * n,
        });
    }
    for n in 0..running(variation) {
        let snapshot = OTHERS[(variation + n) as usize % OTHERS.len()];
        waves.insert(
            0,
            Placed::running(Emulated::of_calls(snapshot), first + 2 * n + 1),
        );
    }
    let mut process = Process::calls(waves, crash.snapshot);
    process.load_high = 0x7f40 - variation % 97;
    rename(
        &mut process.object,
        b"k.kd",
        &[crash.kernel, b'.', b'k', b'd'],
    );
    let folder = b'a' + u8::try_from(variation % 26).unwrap();
    let path = [b"/", &[folder][..], b"/calls.cl"].concat();
    rename(&mut process.object, b"calls-O2.cl", &path);
    process.built()
}

/// Replaces all occurrences of a text by one of the same length.
fn rename(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    for at in 0..bytes.len().saturating_sub(from.len()) {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
}
