//! Shows the progress of long commands.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// A progress line on the terminal, removed at the end. It is not shown if standard error is not a terminal.
pub(crate) struct Progress {
    total: usize,
    what: &'static str,
    start: Instant,
    shown: Option<Instant>,
    is_wanted: bool,
}

impl Progress {
    /// The time after which a command shows its progress.
    const PATIENCE: Duration = Duration::from_secs(1);
    /// The time between updates.
    const PAUSE: Duration = Duration::from_millis(100);

    /// Starts the progress of `total` items, which are called `what`.
    pub(crate) fn new(total: usize, what: &'static str) -> Progress {
        Progress {
            total,
            what,
            start: Instant::now(),
            shown: None,
            is_wanted: std::io::stderr().is_terminal(),
        }
    }

    /// Shows the number of finished items.
    pub(crate) fn show(&mut self, done: usize) {
        let is_due = || match self.shown {
            Some(shown) => shown.elapsed() > Progress::PAUSE,
            None => self.start.elapsed() > Progress::PATIENCE,
        };
        if self.is_wanted && is_due() {
            self.shown = Some(Instant::now());
            // Errors are ignored: the line is only informative.
            let _ = write!(
                std::io::stderr(),
                "\r{done} of {} {}",
                self.total,
                self.what
            );
        }
    }
}

impl Drop for Progress {
    /// Also runs if the command fails.
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
