//! Visits the waves of a core once, and collects their documents and places.

use super::super::number::Hex;
use super::faults::Faults;
use super::places::{self, Places, Stack};
use super::report::Stacks;
use super::workgroups::{WavePlace, WavePlaces};
use super::{
    AgentDocument, CoreNoteDocument, CoreObjectDocument, CoreWaveDocument, DispatchDocument,
    FoundObject,
};
use crate::arch::LoadAddress;
use crate::gpu_core::{GpuCore, ProblemPlace, Process, StopReason};
use crate::inspect::Programs;
use crate::object::CodeObject;
use crate::untrusted::Untrusted;

/// The searches that run for each wave.
pub(super) struct Finders<'f, 'm, 'data, 'p> {
    pub(super) places: &'f mut Places<'m>,
    pub(super) faults: &'f mut Faults<'m, 'data, 'p>,
    pub(super) whereabouts: WavePlaces<'m, 'p>,
}

/// The waves of a core or a log, with the stack and the place of each.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) waves: Vec<CoreWaveDocument>,
    stacks: Vec<Stack>,
    places: Vec<WavePlace>,
    /// The frames at the candidates of each wave's fault.
    accesses: Vec<Vec<Stack>>,
}

impl Survey {
    /// Creates an empty survey with room for a number of waves.
    fn with_room(waves: usize) -> Survey {
        Survey {
            waves: Vec::with_capacity(waves),
            stacks: Vec::with_capacity(waves),
            places: Vec::with_capacity(waves),
            accesses: Vec::with_capacity(waves),
        }
    }

    pub(super) fn add(
        &mut self,
        wave: CoreWaveDocument,
        stack: Stack,
        place: WavePlace,
        accesses: Vec<Stack>,
    ) {
        self.waves.push(wave);
        self.stacks.push(stack);
        self.places.push(place);
        self.accesses.push(accesses);
    }

    /// Writes the frames as text, now that the names of all source files are known.
    pub(super) fn named(self) -> (Vec<CoreWaveDocument>, Vec<WavePlace>, Stacks) {
        let stacks = Stacks::new(self.stacks);
        let names = stacks.names();
        let mut waves = self.waves;
        for (wave, accesses) in waves.iter_mut().zip(&self.accesses) {
            let candidates = wave.fault.iter_mut();
            let candidates = candidates.flat_map(|fault| &mut fault.candidates);
            for (candidate, frames) in candidates.zip(accesses) {
                let lines = frames.iter().map(|frame| places::line(frame, &names));
                candidate.inlined = lines.collect();
            }
        }
        (waves, self.places, stacks)
    }
}

/// Describes the waves, with the stack and the place of each.
pub(super) fn survey(
    core: &GpuCore<'_>,
    programs: &Programs<'_>,
    dispatches: &[DispatchDocument],
    finders: &mut Finders<'_, '_, '_, '_>,
    progress: &mut dyn FnMut(usize),
) -> Survey {
    let mut survey = Survey::with_room(core.waves().len());
    for wave in core.waves() {
        progress(wave.index());
        let object = programs.object_of(&wave);
        let found = finders.places.locate(&wave, object, programs);
        let mut document = CoreWaveDocument::new(&wave, programs, dispatches, &found.stack);
        document.entry = found.entry;
        let is_violation = wave.stops().contains(StopReason::MemoryViolation);
        let fault = is_violation.then(|| finders.faults.find(&wave)).flatten();
        let fault = fault.map(|fault| (fault.document, fault.accesses));
        let (fault, accesses) = fault.unzip();
        document.fault = fault;
        if wave.stops().contains(StopReason::AssertTrap) {
            document.assertion = finders.faults.assertion(&wave);
        }
        let callers = found.stack.iter().map(|frame| frame.pc).collect();
        let place = finders.whereabouts.find(&wave, callers);
        document.polled = finders.whereabouts.polled(&wave, &place);
        if let Some(polled) = &mut document.polled {
            finders.faults.locate(&wave, polled);
        }
        survey.add(document, found.stack, place, accesses.unwrap_or_default());
    }
    survey
}

/// Returns the reason why no wave of a core could be read, as a sentence. Returns `None` if no part that may contain waves is missing.
#[must_use]
pub fn unread(core: &GpuCore<'_>) -> Option<String> {
    if core.is_gpu_half() {
        let message = "this is only the GPU's half of a core, and its waves are found through the host's half; \
                       give both: `hetdwarf core gpucore.PID core.PID`";
        return Some(message.to_owned());
    }
    let problem = core.unread()?;
    let is_only_file = matches!(problem.place, ProblemPlace::File(_)) && core.file_count() == 1;
    let reason = match is_only_file {
        true => problem.kind.to_string(),
        false => problem.to_string(),
    };
    Some(format!("no wave could be read: {reason}"))
}

/// Describes the GPUs of a core.
pub(super) fn agents(core: &GpuCore<'_>) -> Vec<AgentDocument> {
    (1..)
        .zip(core.agents())
        .map(|(index, agent)| AgentDocument {
            index,
            gpu_id: agent.gpu_id,
            target: agent.target.clone().into(),
            xcc: agent.xccs,
            shader_engines: agent.shader_engines,
            simds: agent.simds,
            location: format!(
                "{:02x}:{:02x}.{:x}",
                agent.location >> 8,
                agent.location >> 3 & 0x1f,
                agent.location & 7
            ),
            readable: agent.is_readable(),
        })
        .collect()
}

/// Describes the note of a core.
pub(super) fn note(core: &GpuCore<'_>) -> CoreNoteDocument {
    let header = core.header();
    let (major, minor) = header.kfd;
    CoreNoteDocument {
        version: header.version,
        kfd: [major, minor],
        r_debug: Hex::from(header.r_debug),
        runtime_state: header.runtime_state,
        interface: core.interface(),
    }
}

impl CoreObjectDocument {
    /// Describes a code object that a user gave for a log.
    #[must_use]
    pub fn given(
        load_address: LoadAddress,
        file: Untrusted<'static>,
        object: &CodeObject<'_>,
    ) -> CoreObjectDocument {
        CoreObjectDocument {
            load_address: Hex::from(load_address),
            uri: Untrusted::default(),
            target: Some(object.target().to_string().into()),
            found: true,
            file: Some(file),
        }
    }
}

/// Describes the code objects of a process.
pub(super) fn code_objects(
    process: &Process<'_>,
    found: &[FoundObject],
) -> Vec<CoreObjectDocument> {
    let objects = process.objects().iter().zip(found);
    let described = objects.map(|(loaded, found)| CoreObjectDocument {
        load_address: Hex::from(loaded.load_address),
        uri: found.uri.clone(),
        target: loaded
            .object
            .as_ref()
            .map(|object| object.target().to_string().into()),
        found: loaded.object.is_some(),
        file: found.file.clone(),
    });
    described.collect()
}
