//! Limits the pages of mapped files that stay in memory.
//!
//! Looking up many addresses reads most pages of a code object once. The system keeps them, and they count as memory of the process.

use std::path::Path;

/// The most bytes of mapped files that stay in memory. They include the pages of the program that are first used after the start. What each
/// lookup reads, such as strings, should fit as well; otherwise it is read again for each.
const MOST: u64 = 16 << 20;
/// The number of steps between two measurements. A measurement takes as long as some lookups.
const STEPS: u32 = 64;
/// The size of a page, at least.
const PAGE: u64 = 4096;

/// Counts steps, and says when too many pages of files are in memory.
pub(crate) struct Resident {
    /// The pages at the start. Most of them are the program's.
    at_start: Option<u64>,
    steps: u32,
}

impl Resident {
    /// Measures the pages before files are opened.
    pub(crate) fn new() -> Resident {
        Resident {
            at_start: pages(),
            steps: 0,
        }
    }

    /// Counts a step. Calls `release`, which releases the mapped files, if too many of their pages are in memory.
    pub(crate) fn step(&mut self, release: impl FnOnce()) {
        self.steps += 1;
        if self.steps < STEPS {
            return;
        }
        self.steps = 0;
        let more = self.at_start.zip(pages());
        if more.is_some_and(|(before, now)| now.saturating_sub(before) > MOST / PAGE) {
            release();
        }
    }
}

/// Returns the number of resident pages that are backed by files, or `None` if the system does not report it. Linux does.
fn pages() -> Option<u64> {
    let text = std::fs::read_to_string(Path::new("/proc/self/statm")).ok()?;
    text.split_ascii_whitespace().nth(2)?.parse().ok()
}
