//! Signals that end the command: what it was writing is removed first.
//!
//! A limit on the size of files (`SIGXFSZ`) ends nothing: it is an error of the file that is written. `SIGBUS` is an error of a file
//! that is read: one so large that it is mapped, which another process has cut.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGBUS, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use super::save::abandon;

/// Handles signals from now on, until the process ends. Its status is then 128 and the number of the signal, as shells have it:
/// 130 for `SIGINT`.
///
/// # Errors
/// If the system refuses.
pub fn handle_signals() -> io::Result<()> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    end_if_a_mapped_file_is_cut()?;
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    // What was started to go on regardless, by `nohup` for example, does.
    let handled = [SIGHUP, SIGINT, SIGTERM].into_iter();
    let handled = handled.filter(|signal| ignored >> signal.saturating_sub(1) & 1 == 0);
    let mut signals = Signals::new(handled)?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if let Some(signal) = signals.forever().next() {
                let _abandoned = abandon();
                #[expect(clippy::exit, reason = "whoever interrupts the command ends it")]
                std::process::exit(128_i32.saturating_add(signal));
            }
        })?;
    Ok(())
}

/// Ends the process with a message and status 2 where the bytes of a mapped file are gone. Without that the system ends it, and the
/// status is that of a crash.
#[expect(unsafe_code, reason = "a handler; see the comment within")]
fn end_if_a_mapped_file_is_cut() -> io::Result<()> {
    const MESSAGE: &[u8] =
        b"error: a file became shorter, or could not be read any more, while it was mapped\n";
    let out = io::stderr().as_fd().try_clone_to_owned()?;
    let end = move || {
        // Nobody is left to be told if it fails.
        let _ = rustix::io::write(&out, MESSAGE);
        signal_hook::low_level::exit(2);
    };
    // SAFETY: the handler calls `write` and `_exit` only, which POSIX allows in handlers; it allocates nothing and takes no locks.
    unsafe { signal_hook::low_level::register(SIGBUS, end) }?;
    Ok(())
}

/// Returns the signals that are ignored, a bit for each from 1 on, by what Linux says of a process.
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
