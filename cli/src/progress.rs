//! How far a long run is.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// A line on the terminal that says how far a long run is; it is gone at the end. Where standard error is no terminal there
/// is none.
pub(crate) struct Progress {
    total: usize,
    what: &'static str,
    start: Instant,
    shown: Option<Instant>,
    is_wanted: bool,
}

impl Progress {
    /// A run that takes no longer than that needs no line.
    const PATIENCE: Duration = Duration::from_secs(1);
    /// Between one line and the next.
    const PAUSE: Duration = Duration::from_millis(100);

    /// Nothing is done yet of `total` things, which are called `what`.
    pub(crate) fn new(total: usize, what: &'static str) -> Progress {
        Progress {
            total,
            what,
            start: Instant::now(),
            shown: None,
            is_wanted: std::io::stderr().is_terminal(),
        }
    }

    /// So many are done.
    pub(crate) fn show(&mut self, done: usize) {
        let is_due = || match self.shown {
            Some(shown) => shown.elapsed() > Progress::PAUSE,
            None => self.start.elapsed() > Progress::PATIENCE,
        };
        if self.is_wanted && is_due() {
            self.shown = Some(Instant::now());
            // It is only for show: nothing depends on it.
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
    /// Also where the run ends by an error.
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
