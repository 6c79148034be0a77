//! Handles the signals that end the command, and removes unfinished output files first.
//!
//! A limit on the size of files (`SIGXFSZ`) does not end the command: it is an error for the file that is being written. `SIGBUS` is an
//! error for a mapped input file that another process has truncated.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGBUS, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use super::save::abandon;

/// Handles signals from now on, until the process ends. A signal then ends it with status 128 plus the signal number, as shells do: 130 for
/// `SIGINT`.
///
/// # Errors
/// If the system refuses.
pub fn handle_signals() -> io::Result<()> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    end_if_a_mapped_file_is_cut()?;
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    // Signals that are already ignored, for example by `nohup`, stay ignored.
    let handled = [SIGHUP, SIGINT, SIGTERM].into_iter();
    let handled = handled.filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let mut signals = Signals::new(handled)?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if let Some(signal) = signals.forever().next() {
                let _abandoned = abandon();
                #[expect(clippy::exit, reason = "whoever interrupts the command ends it")]
                std::process::exit(128 + signal);
            }
        })?;
    Ok(())
}

/// Ends the process with a message and status 2 if the bytes of a mapped file are gone. Otherwise the system would end it like a crash.
#[expect(unsafe_code, reason = "a handler; see the comment within")]
fn end_if_a_mapped_file_is_cut() -> io::Result<()> {
    const MESSAGE: &[u8] = b"error: a file became shorter or unreadable while it was mapped\n";
    let out = io::stderr().as_fd().try_clone_to_owned()?;
    let end = move || {
        // An error cannot be reported any more.
        let _ = rustix::io::write(&out, MESSAGE);
        signal_hook::low_level::exit(2);
    };
    // SAFETY: the handler calls `write` and `_exit` only, which POSIX allows in handlers; it allocates nothing and takes no locks.
    unsafe { signal_hook::low_level::register(SIGBUS, end) }?;
    Ok(())
}

/// Returns the ignored signals from `/proc/self/status`, as a mask with signal 1 in bit 0.
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_those_that_linux_says() {
        let status = "Name:\thetdwarf\nSigBlk:\t00000000000000ff\nSigIgn:\t0000000000001001\n";
        assert_eq!(ignored(status), 1 << (SIGHUP - 1) | 1 << 12);
        assert_eq!(ignored("Name:\thetdwarf\n"), 0);
    }
}
