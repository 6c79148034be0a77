//! Limits the pages of mapped files that stay in memory.
//!
//! Looking up many addresses reads most pages of a code object once. The system keeps them, and they count as memory of the process.

/// The most bytes of files that become resident before the mapped sections are released. A page fault may make 64 KiB resident.
const MOST: u64 = 4 << 20;
/// The number of steps between two measurements. A measurement takes as long as some lookups.
const STEPS: u32 = 64;

/// Releases mapped files when too many of their pages have become resident.
pub(crate) struct Resident {
    /// The resident bytes of files at the start, or after the last release: the program, and unreleased parts of files.
    before: Option<u64>,
    steps: u32,
}

impl Resident {
    /// Measures the resident bytes before files are opened.
    pub(crate) fn new() -> Resident {
        Resident {
            before: file_bytes(),
            steps: 0,
        }
    }

    /// Counts a step, and may call `release`.
    pub(crate) fn step(&mut self, release: impl FnOnce()) {
        self.steps += 1;
        if self.steps < STEPS {
            return;
        }
        self.steps = 0;
        let more = self.before.zip(file_bytes());
        if more.is_some_and(|(before, now)| now.saturating_sub(before) > MOST) {
            release();
            self.before = file_bytes();
        }
    }
}

/// Returns the number of resident bytes that are backed by files, or `None` if the system does not report it. Linux does.
#[cfg(target_os = "linux")]
fn file_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(2)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

#[cfg(not(target_os = "linux"))]
fn file_bytes() -> Option<u64> {
    None
}
