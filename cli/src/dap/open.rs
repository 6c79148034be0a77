//! Starts a session: answers the requests that come before a core is open.

use std::path::{Path, PathBuf};

use hetdwarf::inspect::StopOptions;
use hetdwarf::limits::Limits;
use hetdwarf::report::CoreRequest;

use super::message::{Connection, Next, Received, Request};
use super::numbering::Numbering;
use super::protocol::{Body, Capabilities, Event};
use super::session::Session;
use crate::arguments::CoreObjects;
use crate::contents::STANDARD_INPUT;
use crate::core::with_document;
use crate::failure::Failure;
use crate::sources::Sources;

/// Answers requests until the editor disconnects.
pub(super) fn serve(connection: &mut Connection<'_>) -> std::io::Result<()> {
    let mut numbering = Numbering::default();
    while let Some(received) = connection.receive()? {
        let request = match received {
            Received::Request(request) => request,
            Received::Malformed(message) => {
                connection.complain(&message)?;
                continue;
            }
        };
        match request.command.as_str() {
            "initialize" => {
                let said = Numbering::of(&request);
                numbering = said.as_ref().copied().unwrap_or_default();
                connection.respond(&request, said.map(|_| capabilities()))?;
            }
            "launch" | "attach" => match open(connection, &request, numbering)? {
                Next::End => return Ok(()),
                Next::GoOn => {}
            },
            "disconnect" | "terminate" => {
                connection.respond(&request, Ok(Body::None))?;
                return Ok(());
            }
            command => {
                let message = format!("{command}: no core is open yet: attach comes first");
                connection.respond(&request, Err(message))?;
            }
        }
    }
    Ok(())
}

fn capabilities<'s>() -> Body<'s> {
    Body::Capabilities(Capabilities {
        supports_configuration_done_request: true,
        supports_delayed_stack_trace_loading: true,
        supports_evaluate_for_hovers: true,
        supports_read_memory_request: true,
        supports_disassemble_request: true,
        supports_modules_request: true,
        supports_exception_info_request: true,
        supports_loaded_sources_request: true,
        supports_completions_request: true,
        completion_trigger_characters: [".", ">", "$"],
        supports_clipboard_context: true,
        supports_value_formatting_options: true,
        supports_terminate_request: true,
        supports_cancel_request: true,
    })
}

/// The files that an editor asks to open.
struct Wanted {
    files: Vec<PathBuf>,
    objects: CoreObjects,
    sources: Vec<String>,
}

impl Wanted {
    fn of(request: &Request) -> Result<Wanted, String> {
        let paths = |name: &str| -> Result<Vec<PathBuf>, String> {
            let texts = request.texts(name)?;
            // Standard input carries the editor's messages, so `-` is a file name here.
            let path = |text| match text == STANDARD_INPUT {
                true => Path::new(".").join(text),
                false => PathBuf::from(text),
            };
            Ok(texts.into_iter().map(path).collect())
        };
        let given = [paths("coreFile")?, paths("waveFile")?, paths("log")?];
        let mut given = given.into_iter().filter(|files| !files.is_empty());
        let files = given
            .next()
            .ok_or("what to open is missing: coreFile, waveFile or log, with the path of a file")?;
        if given.next().is_some() {
            return Err("give one of coreFile, waveFile and log".to_owned());
        }
        Ok(Wanted {
            files,
            objects: CoreObjects {
                given: paths("object")?,
                folders: paths("objectPath")?,
            },
            sources: request.texts("sourceDir")?,
        })
    }
}

/// Opens a core and answers requests about it until the editor disconnects. If the core cannot be opened, the editor may open another one.
fn open(
    connection: &mut Connection<'_>,
    request: &Request,
    numbering: Numbering,
) -> std::io::Result<Next> {
    let wanted = match Wanted::of(request) {
        Ok(wanted) => wanted,
        Err(message) => {
            connection.respond(request, Err(message))?;
            return Ok(Next::GoOn);
        }
    };
    let mut is_open = false;
    let opened = with_document(
        &wanted.files,
        &wanted.objects,
        StopOptions::default(),
        &Limits::default(),
        CoreRequest::default(),
        |report, source| {
            is_open = true;
            let sources = Sources::new(&wanted.sources);
            let mut session = Session::new(&report.document, source, sources, numbering);
            connection.respond(request, Ok(Body::None))?;
            connection.event(Event::Initialized {})?;
            Ok(session.serve(connection)?)
        },
    );
    match opened {
        Ok(()) => Ok(Next::End),
        // A core can be truncated while it is read.
        Err(failure) if is_open => {
            connection.complain(&failure.to_string())?;
            connection.event(Event::Terminated {})?;
            Ok(Next::End)
        }
        Err(Failure::ClosedPipe) => Ok(Next::End),
        Err(failure @ Failure::Message(_)) => {
            connection.respond(request, Err(failure.to_string()))?;
            Ok(Next::GoOn)
        }
    }
}
