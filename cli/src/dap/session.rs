//! An open core: the state that is kept between requests, and the function for each request.

use std::collections::{BTreeMap, BTreeSet};

use hetdwarf::arch::Lane;
use hetdwarf::inspect::Stop;
use hetdwarf::report::source_text::SourceTexts;
use hetdwarf::report::{CoreDocument, CoreWaveDocument};

use super::format::Format;
use super::handle::{FrameId, Handles};
use super::kept::Kept;
use super::message::{Connection, Next, Received, Request, field};
use super::numbering::Numbering;
use super::protocol::{Body, Event, Stopped};
use crate::core::WaveSource;
use crate::failure::Failure;
use crate::sources::Sources;
use hetdwarf::untrusted::Untrusted;
use hetdwarf::wave::Wave;

/// The body of a response, or the reason why the request fails.
pub(super) type Answer<'s> = Result<Body<'s>, String>;

/// The most problems of a core that are listed for the user.
const MOST_PROBLEMS: usize = 20;

/// An open core.
pub(super) struct Session<'s> {
    pub(super) document: &'s CoreDocument,
    source: &'s dyn WaveSource,
    pub(super) sources: Sources,
    pub(super) texts: SourceTexts,
    pub(super) files: Vec<SourceFile>,
    pub(super) handles: Handles,
    pub(super) numbering: Numbering,
    /// The variables of the most recently requested frames.
    pub(super) kept: Kept,
    /// The lane that the user chose for each wave, if any.
    pub(super) focus: BTreeMap<usize, Lane>,
    /// The most recently requested frame. Addresses without a wave belong to its wave.
    pub(super) current: FrameId,
    /// The waves that the user has selected. They are always listed, regardless of the limit.
    pub(super) seen: BTreeSet<usize>,
    /// The format of values in the current request.
    pub(super) format: Format,
    /// The events that are sent after the answer to the current request.
    pub(super) events: Vec<Event>,
}

/// A source file that frames are in.
pub(super) struct SourceFile {
    /// The path in the debugging information.
    pub(super) path: Untrusted<'static>,
    /// The number of the text among those that were read.
    pub(super) text: usize,
    /// The path in a folder that the user named.
    pub(super) local: Option<String>,
    /// The number of warnings about the file that the user has seen.
    pub(super) warned: usize,
}

/// The requests with a list of breakpoints.
const SETS_BREAKPOINTS: [&str; 4] = [
    "setBreakpoints",
    "setDataBreakpoints",
    "setFunctionBreakpoints",
    "setInstructionBreakpoints",
];

/// The requests that need a running process.
const NEEDS_PROCESS: [&str; 15] = [
    "continue",
    "next",
    "stepIn",
    "stepOut",
    "stepBack",
    "reverseContinue",
    "pause",
    "goto",
    "restart",
    "restartFrame",
    "setVariable",
    "setExpression",
    "writeMemory",
    "dataBreakpointInfo",
    "terminateThreads",
];

impl<'s> Session<'s> {
    pub(super) fn new(
        document: &'s CoreDocument,
        source: &'s dyn WaveSource,
        sources: Sources,
        numbering: Numbering,
    ) -> Session<'s> {
        let wave = document.verdict.wave.unwrap_or(1);
        Session {
            document,
            source,
            sources,
            texts: SourceTexts::default(),
            files: Vec::new(),
            handles: Handles::default(),
            numbering,
            kept: Kept::default(),
            focus: BTreeMap::new(),
            current: FrameId { wave, frame: 0 },
            seen: BTreeSet::new(),
            format: Format::default(),
            events: Vec::new(),
        }
    }

    /// Answers requests until the editor disconnects.
    pub(super) fn serve(&mut self, connection: &mut Connection<'_>) -> std::io::Result<()> {
        while let Some(received) = connection.receive()? {
            let next = match received {
                Received::Request(request) => self.answer(&request, connection)?,
                Received::Malformed(message) => {
                    connection.complain(&message)?;
                    Next::GoOn
                }
            };
            if let Next::End = next {
                break;
            }
        }
        Ok(())
    }

    fn answer(
        &mut self,
        request: &Request,
        connection: &mut Connection<'_>,
    ) -> std::io::Result<Next> {
        let command = request.command.as_str();
        let answer = self.body(request);
        connection.respond(request, answer)?;
        for event in core::mem::take(&mut self.events) {
            connection.event(event)?;
        }
        match command {
            "configurationDone" => {
                if let Some(problems) = self.problems() {
                    connection.event(problems)?;
                }
                connection.event(Event::Stopped(self.stopped()))?;
            }
            "disconnect" | "terminate" => {
                connection.event(Event::Terminated {})?;
                return Ok(Next::End);
            }
            _ => {}
        }
        Ok(Next::GoOn)
    }

    fn body(&mut self, request: &Request) -> Answer<'s> {
        let command = request.command.as_str();
        self.format = match command {
            "stackTrace" | "variables" | "evaluate" => Format::of(request)?,
            _ => Format::default(),
        };
        match command {
            "threads" => Ok(self.threads()),
            "hetdwarf/groups" => Ok(Body::Groups {
                groups: &self.document.groups,
            }),
            "hetdwarf/lanes" => self.lanes(request),
            "stackTrace" => self.stack_trace(request),
            "scopes" => self.scopes(request),
            "variables" => self.variables(request),
            "evaluate" => self.evaluate(request),
            "completions" => self.completions(request),
            "source" => self.source_text(request),
            "loadedSources" => Ok(self.loaded_sources()),
            "modules" => self.modules(request),
            "exceptionInfo" => self.exception_info(request),
            "disassemble" => self.disassemble(request),
            "readMemory" => self.read_memory(request),
            "hetdwarf/setLane" => self.set_lane(request),
            "hetdwarf/focus" => self.focus_wave(request),
            "breakpointLocations" => Ok(Body::NO_BREAKPOINTS),
            // Editors also send empty lists.
            _ if SETS_BREAKPOINTS.contains(&command) && !has_breakpoints(request) => {
                Ok(Body::NO_BREAKPOINTS)
            }
            // Requests are answered one at a time, so a request that is to be cancelled has already been answered.
            "setExceptionBreakpoints"
            | "configurationDone"
            | "cancel"
            | "disconnect"
            | "terminate" => Ok(Body::None),
            "initialize" | "launch" | "attach" => Err(format!("{command}: a core is open already")),
            _ if NEEDS_PROCESS.contains(&command) || SETS_BREAKPOINTS.contains(&command) => Err(
                format!("{command}: the waves of a core cannot run, and are not changed"),
            ),
            _ => Err(format!("{command}: unknown request")),
        }
    }

    /// Returns the document of a wave.
    pub(super) fn wave(&self, index: usize) -> Result<&'s CoreWaveDocument, String> {
        let wave = index
            .checked_sub(1)
            .and_then(|index| self.document.waves.get(index));
        wave.ok_or_else(|| {
            let count = self.document.waves.len();
            format!("there is no wave {index}: they are numbered from 1 to {count}")
        })
    }

    /// Returns an event about the parts of the core that could not be read, if there are any.
    fn problems(&self) -> Option<Event> {
        let problems = &self.document.problems;
        let mut lines: Vec<String> = problems
            .iter()
            .take(MOST_PROBLEMS)
            .map(|problem| format!("{}: {}\n", problem.place, problem.message))
            .collect();
        if let Some(more) = problems.len().checked_sub(MOST_PROBLEMS)
            && more > 0
        {
            lines.push(format!(
                "{more} more problems: `hetdwarf core` lists them\n"
            ));
        }
        (!lines.is_empty()).then(|| Event::Output {
            category: "stderr",
            output: lines.concat(),
        })
    }

    /// Calls `ask` with the stop of a wave.
    ///
    /// # Errors
    /// If its code object is unknown, or `ask` fails.
    pub(super) fn with_stop<T>(
        &mut self,
        index: usize,
        ask: impl FnOnce(&mut Session<'s>, &Stop<'_, '_>) -> Result<T, String>,
    ) -> Result<T, String> {
        self.with_wave(index, |session, _, stop| match stop {
            Some(stop) => ask(session, stop),
            None => Err(format!(
                "wave {index} is in no code object that was found: give it by \"object\" or \"objectPath\""
            )),
        })
    }

    /// Calls `ask` with a wave, if its registers are known, and with its stop, if its code object is known.
    ///
    /// # Errors
    /// Returns the error of `ask`.
    pub(super) fn with_wave<T>(
        &mut self,
        index: usize,
        ask: impl FnOnce(
            &mut Session<'s>,
            Option<&dyn Wave>,
            Option<&Stop<'_, '_>>,
        ) -> Result<T, String>,
    ) -> Result<T, String> {
        self.wave(index)?;
        let source = self.source;
        let (mut ask, mut answer) = (Some(ask), None);
        let asked = source.with(index, &mut |wave, stop| {
            if let Some(ask) = ask.take() {
                answer = Some(ask(self, wave, stop));
            }
            Ok(())
        });
        match (asked, answer) {
            (_, Some(answer)) => answer,
            (Err(Failure::Message(message)), None) => Err(message),
            (_, None) => Err(format!("wave {index} cannot be read")),
        }
    }

    fn set_lane(&mut self, request: &Request) -> Answer<'s> {
        let wave = usize::try_from(request.needed("threadId")?).unwrap_or(0);
        self.see_lane(wave, request.integer("lane")?)?;
        Ok(Body::None)
    }

    /// Shows the variables of a wave in one lane, or in all lanes.
    pub(super) fn see_lane(&mut self, wave: usize, lane: Option<i64>) -> Result<(), String> {
        let lanes = self.wave(wave)?.lanes;
        match lane {
            None => {
                self.focus.remove(&wave);
            }
            Some(lane) => {
                let lane = u8::try_from(lane).ok();
                let lane = lane.filter(|lane| u32::from(*lane) < lanes);
                let last = lanes.saturating_sub(1);
                let lane = lane.ok_or_else(|| format!("wave {wave} has lanes 0 to {last}"))?;
                self.focus.insert(wave, Lane(lane));
            }
        }
        self.events.push(Event::Invalidated {
            areas: ["variables"],
            thread_id: wave,
        });
        Ok(())
    }

    fn focus_wave(&mut self, request: &Request) -> Answer<'s> {
        let wave = usize::try_from(request.needed("threadId")?).unwrap_or(0);
        self.see_wave(wave)?;
        Ok(Body::None)
    }

    /// Moves the focus to a wave.
    pub(super) fn see_wave(&mut self, wave: usize) -> Result<(), String> {
        self.wave(wave)?;
        self.current = FrameId { wave, frame: 0 };
        self.seen.insert(wave);
        self.events.push(Event::Stopped(Stopped {
            reason: "pause",
            description: "the wave in focus".to_owned(),
            text: None,
            thread_id: Some(wave),
            all_threads_stopped: true,
        }));
        Ok(())
    }
}

/// Returns true if the request has at least one breakpoint.
fn has_breakpoints(request: &Request) -> bool {
    let list = field(&request.arguments, "breakpoints").as_array();
    list.is_some_and(|list| !list.is_empty())
}
