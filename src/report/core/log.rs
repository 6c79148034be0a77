//! Describes a log of ROCm's debug agent and of the runtime, as a core without memory.

use core::ops::Range;

use serde::Serialize;

use super::super::number::Hex;
use super::assertion::AssertionDocument;
use super::fault::{FaultDocument, FoundFault};
use super::groups::groups;
use super::nearest::{NearestDocument, code_at};
use super::places::{Places, Stack};
use super::report::CoreReport;
use super::survey::Survey;
use super::verdict::{Found, VerdictDocument};
use super::workgroups::{KnownPlaces, PolledDocument, Started, WavePlace, workgroups};
use super::{CoreDocument, CoreObjectDocument, CoreRequest, CoreWaveDocument, ProblemDocument};
use crate::arch::{LoadAddress, ProcessAddress, WaveSize};
use crate::debug_agent::{EventKind, LoggedWave, RuntimeEvent};
use crate::gpu_core::{StopReason, WaveState};
use crate::inspect::{Program, Stop, Whereabouts};
use crate::meter::Meter;
use crate::report::FrameDocument;
use crate::untrusted::Untrusted;
use crate::wave::{Snapshot, Wave};
use std::rc::Rc;

/// A message of the runtime.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct EventDocument {
    /// `memory-fault`, `hardware-exception`, `queue-error` or `dispatch`.
    pub kind: &'static str,
    /// The prefix that a launcher put before the line; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<Untrusted<'static>>,
    /// The address of a fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Hex>,
    /// The message.
    pub text: Untrusted<'static>,
}

impl From<&RuntimeEvent> for EventDocument {
    fn from(event: &RuntimeEvent) -> EventDocument {
        let (kind, address) = match event.kind {
            EventKind::MemoryFault { address, .. } => ("memory-fault", Some(address)),
            EventKind::HardwareException => ("hardware-exception", None),
            EventKind::QueueError => ("queue-error", None),
            EventKind::Dispatch { .. } => ("dispatch", None),
        };
        let rank = Some(event.rank.clone()).filter(|rank| !rank.is_empty());
        EventDocument {
            kind,
            rank: rank.map(Untrusted::from),
            address: address.map(Hex::from),
            text: event.text.clone().into(),
        }
    }
}

/// A wave of a log, as far as it is known.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct LoggedStop<'s, 'p, 'a> {
    /// The wave in the log.
    pub wave: &'s LoggedWave,
    /// The registers of the wave.
    pub snapshot: Option<&'s Snapshot>,
    /// The stop of the wave, if its code object was given.
    pub stop: Option<&'s Stop<'p, 'a>>,
    /// The index of the wave's code object among the code objects that were given.
    pub code_object: Option<usize>,
    /// The workgroup, and the number of the wave in it.
    pub place: Option<([u32; 3], u32)>,
}

impl<'s, 'p, 'a> LoggedStop<'s, 'p, 'a> {
    /// Creates a wave of which only the text of the log is known.
    #[must_use]
    pub fn new(wave: &'s LoggedWave) -> LoggedStop<'s, 'p, 'a> {
        LoggedStop {
            wave,
            snapshot: None,
            stop: None,
            code_object: None,
            place: None,
        }
    }
}

/// Makes the document of a log, wave by wave.
#[derive(Debug)]
pub struct LogDocuments<'m> {
    request: CoreRequest,
    meter: &'m Meter,
    places: Places<'m>,
    whereabouts: KnownPlaces,
    survey: Survey,
    started: Vec<Started>,
    /// The addresses of the code objects, in the order in which they were given.
    loaded: Vec<Range<u64>>,
    /// The function and the line of the requested address.
    code: Option<String>,
    problems: Vec<ProblemDocument>,
}

impl<'m> LogDocuments<'m> {
    /// Creates an empty collection.
    #[must_use]
    pub fn new(request: CoreRequest, meter: &'m Meter) -> LogDocuments<'m> {
        LogDocuments {
            request,
            meter,
            places: Places::new(meter),
            whereabouts: KnownPlaces::default(),
            survey: Survey::default(),
            started: Vec::new(),
            loaded: Vec::new(),
            code: None,
            problems: Vec::new(),
        }
    }

    /// Adds a wave.
    pub fn add(&mut self, of: &LoggedStop<'_, '_, '_>) {
        let LoggedStop { wave, stop, .. } = *of;
        let mut stack = match (stop, of.code_object) {
            (Some(stop), Some(index)) => self.places.frames(stop, index),
            (_, _) => Stack::new(),
        };
        if stack.is_empty() {
            let function = wave.function.as_deref().map(|name| (name, 0));
            let mut frame = FrameDocument::of_symbol(ProcessAddress(wave.pc), function);
            // The offset from the function's start is not known.
            frame.symbol_offset = None;
            stack.push(Rc::new(frame));
        }
        let index = self.survey.waves.len() + 1;
        let (mut document, accesses) = self.document(index, of, &stack);
        let started = Started {
            dispatch: of.snapshot.and_then(|snapshot| snapshot.dispatch),
            wave_size: of.snapshot.map_or(WaveSize::Wave32, Wave::wave_size),
            exec: u64::try_from(document.exec.0).unwrap_or(0),
        };
        let place = match (stop, of.code_object) {
            (Some(stop), Some(index)) => {
                let callers = stack.iter().map(|frame| frame.pc).collect();
                let key = (index, wave.pc, callers);
                let place = self
                    .whereabouts
                    .find(key, self.meter, || WavePlace::of(stop));
                if place.looping.is_some() {
                    document.polled = PolledDocument::find(stop);
                }
                place.with_off_lanes(stop, &started)
            }
            (_, _) => WavePlace::default(),
        };
        if let Some(stop) = stop
            && let Err(error) = self.meter.work(stop.meter().steps())
        {
            let message = format!("later waves have no stack: {error}");
            self.problems.push(ProblemDocument::of("waves", message));
        }
        self.started.push(started);
        self.survey.add(document, stack, place, accesses);
    }

    fn document(
        &mut self,
        index: usize,
        of: &LoggedStop<'_, '_, '_>,
        stack: &Stack,
    ) -> (CoreWaveDocument, Vec<Stack>) {
        let LoggedStop { wave, .. } = *of;
        let innermost = stack.first();
        let mut stops = wave.stop_reasons();
        let address = self.request.fault_address.or(wave.fault_address);
        // A fault address for a wave without a stop reason implies a memory violation.
        if address.is_some() && wave.reason == "stopped" {
            stops.insert(StopReason::MemoryViolation);
        }
        let is_assertion = stops.contains(StopReason::AssertTrap);
        let is_violation = stops.contains(StopReason::MemoryViolation);
        let fault = is_violation.then(|| {
            let found = of
                .stop
                .map(|stop| FoundFault::without_memory(stop, address));
            let mut found: FoundFault = match found {
                Some(Ok(found)) => found,
                Some(Err(error)) => {
                    let message = format!("the faulting instruction was not found: {error}");
                    let place = format!("wave {index}");
                    self.problems.push(ProblemDocument::of(place, message));
                    FaultDocument::of_address(address).into()
                }
                None => FaultDocument::of_address(address).into(),
            };
            let reason = wave.fault_reason.clone();
            found.document.reason = reason
                .filter(|_| address == wave.fault_address)
                .map(Untrusted::from);
            found
        });
        let exec = wave.scalars.get("exec").or(wave.scalars.get("exec_lo"));
        let is_running = wave.reason == "running";
        let (fault, accesses) = fault.map(|fault| (fault.document, fault.accesses)).unzip();
        let document = CoreWaveDocument {
            index,
            gpu_id: 0,
            queue_id: 0,
            xcc: 0,
            packet_id: None,
            workgroup: of.place.map(|(workgroup, _)| workgroup),
            wave_in_group: of.place.map(|(_, number)| number),
            lanes: of
                .snapshot
                .map(Wave::wave_size)
                .or(wave.wave_size())
                .map_or(0, WaveSize::lanes),
            pc: Hex::from(wave.pc),
            exec: Hex::from(exec.copied().unwrap_or(0)),
            state: match (is_running, wave.is_code_alone()) {
                (true, _) => WaveState::Running,
                (false, true) => WaveState::Unsure,
                (false, false) => WaveState::Stopped,
            },
            stop: stops.iter().map(StopReason::name).collect(),
            code_object: of.code_object,
            kernel: wave.kernel.clone().map(Untrusted::from),
            kernel_function: None,
            function: innermost.and_then(|frame| frame.function.clone()),
            file: innermost.and_then(|frame| frame.file.clone()),
            line: innermost.and_then(|frame| frame.line),
            halted_at_launch: false,
            fault,
            polled: None,
            assertion: of
                .stop
                .filter(|_| is_assertion)
                .and_then(AssertionDocument::find),
            entry: Vec::new(),
        };
        (document, accesses.unwrap_or_default())
    }

    /// Makes the document.
    #[must_use]
    pub fn finish(
        self,
        events: &[RuntimeEvent],
        code_objects: Vec<CoreObjectDocument>,
        mut problems: Vec<ProblemDocument>,
    ) -> CoreReport {
        let located = self.request.whereabouts.map(|address| self.locate(address));
        let (waves, places, stacks) = self.survey.named();
        let workgroups = workgroups(self.started.iter().copied(), &waves, &places);
        let found = Found {
            waves: &waves,
            places: &places,
            workgroups: &workgroups,
            stacks: &stacks,
            names: &stacks.names(),
            unread: None,
        };
        let verdict = found.verdict();
        let verdict = match verdict.kind == "none" {
            true => of_events(events).unwrap_or(verdict),
            false => verdict,
        };
        problems.extend(self.problems);
        problems.extend(self.places.problems());
        let document = CoreDocument {
            format: "hetdwarf-core/1",
            verdict,
            note: None,
            agents: Vec::new(),
            queues: Vec::new(),
            dispatches: Vec::new(),
            code_objects,
            workgroups,
            whereabouts: located,
            groups: groups(&waves, &stacks, self.request.group_by),
            waves,
            events: events.iter().map(EventDocument::from).collect(),
            problems,
        };
        CoreReport { document, stacks }
    }
}

impl LogDocuments<'_> {
    /// Adds the addresses at which a code object is loaded.
    pub fn add_loaded(&mut self, addresses: Range<u64>) {
        self.loaded.push(addresses);
    }

    /// Finds the function and the line of the requested address in a code object.
    pub fn locate_in(&mut self, program: &Program<'_>, load_address: LoadAddress) {
        if let Some(address) = self.request.whereabouts
            && self.code.is_none()
        {
            self.code = code_at(program, load_address, address);
        }
    }

    /// Locates an address. A log tells where code objects are, and nothing of other memory.
    fn locate(&self, address: u64) -> NearestDocument {
        let found = Whereabouts::in_objects(address, &self.loaded);
        let mut nearest = NearestDocument::new(address, &found);
        if let Some(code) = self.code.as_ref().filter(|_| found.code_object.is_some()) {
            nearest.add_code(code);
        }
        nearest
    }
}

/// Returns the runtime's message as the verdict, if no wave gives a better one.
fn of_events(events: &[RuntimeEvent]) -> Option<VerdictDocument> {
    let mut worst = events
        .iter()
        .filter(|event| !matches!(event.kind, EventKind::Dispatch { .. }));
    let event = worst.next()?;
    let kind = match event.kind {
        EventKind::MemoryFault { .. } => "memory-violation",
        EventKind::HardwareException if event.text.contains("Hang") => "hang",
        EventKind::HardwareException | EventKind::QueueError | EventKind::Dispatch { .. } => {
            "queue-error"
        }
    };
    let text = Untrusted::from(event.text.clone());
    let text = format!("the runtime reported: {text}; the log does not name the wave");
    Some(VerdictDocument::of_runtime(kind, text))
}
