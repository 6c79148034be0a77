//! `hetdwarf dap`: implements the Debug Adapter Protocol, so that editors can open cores.
//!
//! A session opens one core, log or snapshot. Nothing runs: the waves stay as they stopped. The protocol's threads are waves, and the
//! children of a variable are its lanes.
//!
//! Source: Debug Adapter Protocol, <https://microsoft.github.io/debug-adapter-protocol/>.

mod completions;
mod console;
mod disassembly;
mod evaluate;
mod format;
mod handle;
mod kept;
mod memory;
mod message;
mod numbering;
mod open;
mod parts;
mod protocol;
mod registers;
mod session;
mod source;
mod stack;
mod thread;
mod value;
mod variables;

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::arguments::DapArguments;
use super::failure::{Exit, Failure};
use message::Connection;

/// The most editors that can be connected at once.
const MOST_SESSIONS: usize = 16;

pub(crate) fn run(
    arguments: &DapArguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    match arguments.port {
        Some(port) => listen(port, err),
        None => {
            let mut input = std::io::stdin().lock();
            debug_adapter(&mut input, out)?;
            Ok(Exit::Done)
        }
    }
}

/// Serves all editors that connect, each in its own thread, until the command is stopped.
fn listen(port: u16, err: &mut dyn Write) -> Result<Exit, Failure> {
    let failed =
        |error: std::io::Error| Failure::new(format!("--port {port}: it cannot be used: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    writeln!(err, "listening on {address}")?;
    err.flush()?;
    let sessions = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let others = sessions.fetch_add(1, Ordering::SeqCst);
        let sessions = Arc::clone(&sessions);
        std::thread::spawn(move || {
            // An editor that has disconnected needs no answer.
            let _ = match others < MOST_SESSIONS {
                true => serve_stream(&stream),
                false => refuse_stream(&stream),
            };
            sessions.fetch_sub(1, Ordering::SeqCst);
        });
    }
    Ok(Exit::Done)
}

fn serve_stream(stream: &TcpStream) -> std::io::Result<()> {
    let mut output = stream.try_clone()?;
    debug_adapter(&mut BufReader::new(stream), &mut output)
}

/// Rejects a connection with a reason.
fn refuse_stream(stream: &TcpStream) -> std::io::Result<()> {
    let (mut input, mut output) = (stream, stream);
    let mut input = BufReader::new(&mut input);
    let message = format!("{MOST_SESSIONS} editors are connected already");
    Connection::new(&mut input, &mut output).complain(&message)
}

/// Serves one editor as `hetdwarf dap` does, until it disconnects or the input ends.
///
/// # Errors
/// If messages cannot be read or written.
pub fn debug_adapter(input: &mut dyn BufRead, output: &mut dyn Write) -> std::io::Result<()> {
    open::serve(&mut Connection::new(input, output))
}
