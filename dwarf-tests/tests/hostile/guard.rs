//! Runs a function that must end soon without a panic, and reports the input otherwise.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The time limit of an answer: a second, or more in unoptimized builds and next to other tests.
pub const LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 1 });

/// The time after which the test is aborted, because nothing else would end it.
const GIVE_UP: Duration = Duration::from_secs(120);

/// Watches the running function.
pub struct Guard {
    running: Arc<Mutex<Option<(Instant, String)>>>,
    /// Ends the watcher when it is dropped.
    _watcher: Sender<()>,
    pub probes: usize,
    pub slowest: (Duration, String),
    pub failures: Vec<String>,
}

impl Guard {
    pub fn new() -> Guard {
        let running = Arc::new(Mutex::new(None::<(Instant, String)>));
        let watched = Arc::clone(&running);
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            // Nothing is ever sent: the loop ends when the sender is dropped.
            while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) =
                receiver.recv_timeout(Duration::from_secs(1))
            {
                if let Some((since, what)) = &*watched.lock().unwrap()
                    && since.elapsed() > GIVE_UP
                {
                    eprintln!("no end after {GIVE_UP:?}: {what}");
                    std::process::abort();
                }
            }
        });
        let slowest = (Duration::ZERO, String::new());
        Guard {
            running,
            _watcher: sender,
            probes: 0,
            slowest,
            failures: Vec::new(),
        }
    }

    /// Runs `probe` on an input, which `what` describes.
    pub fn run<T>(&mut self, what: &str, probe: impl FnOnce() -> T) -> Option<T> {
        *self.running.lock().unwrap() = Some((Instant::now(), what.to_owned()));
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(probe));
        let took = start.elapsed();
        *self.running.lock().unwrap() = None;
        self.probes += 1;
        if took > self.slowest.0 {
            self.slowest = (took, what.to_owned());
        }
        if took > Duration::from_secs(2) {
            println!("{took:?}: {what}");
        }
        if took > LIMIT {
            self.failures.push(format!("{what}: took {took:?}"));
        }
        if result.is_err() {
            self.failures.push(format!("{what}: panicked"));
        }
        result.ok()
    }

    /// Prints a summary, and fails if anything failed.
    pub fn finish(&self, name: &str) {
        let (took, what) = &self.slowest;
        println!(
            "{name}: {} probes, the slowest took {took:?}: {what}; most memory {} MiB",
            self.probes,
            peak_mib()
        );
        let list = self.failures.join("\n");
        assert!(
            self.failures.is_empty(),
            "{} of {} failed:\n{list}",
            self.failures.len(),
            self.probes
        );
        assert!(peak_mib() < 1500, "{} MiB", peak_mib());
    }
}

/// Returns the peak memory of this process, or 0 if it is unknown.
pub fn peak_mib() -> u64 {
    peak_kib() / 1024
}

/// Returns the processor time of this process, independent of other load. Returns zero if it is unknown.
pub fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The twelfth and thirteenth fields after the name in brackets are in hundredths of a second.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let fields = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

pub fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| {
        line.trim()
            .trim_end_matches("kB")
            .trim()
            .parse::<u64>()
            .ok()
    });
    kib.unwrap_or(0)
}
