//! Finds queues, waves and dispatches when a core is opened, from the other parts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::GpuCore;
use super::code_object::{self, FIRST_VERSION, LAST_VERSION};
use super::container::CoreFile;
use super::hardware_register::HardwareRegister;
use super::layout::{Layout, Words};
use super::memory::ProcessMemory;
use super::note::{Agent, CoreNote, QueueType};
use super::problem::{Counted, ProblemKind, ProblemPlace, Problems};
use super::queue::{Dispatch, Queue};
use super::save_area::{SaveArea, SavedWave, Walk};
use super::scratch::{self, Scratch, ScratchFault, Seat};
use super::trap::{SavedWords, TrapContext, TrapState};
use super::wave::{WaveRecord, WaveState};
use crate::meter::Meter;

/// The file that has the data missing in one half.
#[derive(Clone, Copy)]
struct Hints {
    /// The text for memory in the host's half.
    host: &'static str,
    /// The text for memory in the GPU's half.
    gpu: &'static str,
}

impl Hints {
    fn of(files: &[CoreFile<'_>]) -> Hints {
        if files.iter().all(|file| file.is_gpu_half) {
            return Hints {
                host: ": this is only the GPU file of a core; give the host file (core.PID) too",
                gpu: "",
            };
        }
        Hints { host: "", gpu: "" }
    }
}

/// The state of the search for waves.
struct Survey<'s, 'data> {
    memory: &'s ProcessMemory<'data>,
    note: &'s CoreNote,
    hints: Hints,
    /// The version of the runtime's interface, or the last one if it is unknown.
    version: u32,
    /// True if the versions and states used for decoding are known.
    is_sure: bool,
    meter: &'s Meter,
    /// The meter for packets, separate so that long queues do not prevent finding waves.
    packets: Meter,
    waves: Vec<WaveRecord>,
    /// The save areas read so far, by address, and the numbers of their queues.
    areas: BTreeMap<u64, u32>,
    problems: Problems,
}

/// Runs the search.
pub(super) fn survey<'data>(
    files: &[CoreFile<'data>],
    memory: ProcessMemory<'data>,
    note: CoreNote,
    meter: Arc<Meter>,
    mut problems: Problems,
) -> GpuCore<'data> {
    let hints = Hints::of(files);
    let r_debug = note.header.r_debug;
    let list = code_object::read(&memory, r_debug, hints.host, &meter, &mut problems);
    let version = list.version.unwrap_or(LAST_VERSION);
    let mut survey = Survey {
        memory: &memory,
        note: &note,
        hints,
        version,
        is_sure: note.is_sure && (FIRST_VERSION..=LAST_VERSION).contains(&version),
        meter: &meter,
        packets: meter.for_query(),
        waves: Vec::new(),
        areas: BTreeMap::new(),
        problems,
    };
    let mut queues = Vec::new();
    let mut dispatches = Vec::new();
    for entry in &note.queues {
        let agent = note
            .agents
            .iter()
            .position(|agent| agent.gpu_id == entry.gpu_id);
        let mut queue = Queue::read(*entry, agent, &memory, hints.host, &mut survey.problems);
        if queue.entry.kind == QueueType::Aql {
            let before = survey.waves.len();
            survey.add_waves(queues.len(), &queue);
            let found = survey.waves.get(before..).unwrap_or_default();
            queue.waves = found.len() as u64;
            let launched: BTreeSet<u64> = found.iter().filter_map(|wave| wave.packet_id).collect();
            survey.add_dispatches(queues.len(), &queue, launched, &mut dispatches);
        }
        queues.push(queue);
    }
    let Survey {
        waves, problems, ..
    } = survey;
    GpuCore {
        meter,
        header: note.header,
        interface: list.version,
        agents: note.agents,
        queues,
        dispatches,
        objects: list.objects,
        waves,
        problems: problems.into_vec(),
        memory,
        mapped: Vec::new(),
        has_all_mappings: false,
        gpu_mapped: None,
        is_gpu_half: false,
    }
}

/// Problems of waves in one save area, each reported once for all waves.
#[derive(Default)]
struct Faults {
    missing: Counted<u64>,
    pc: Counted<(u64, u64)>,
    packet: Counted<(u64, u32)>,
    scratch: Counted<(u64, ScratchFault)>,
    no_scratch: Counted<(u64, u64)>,
}

/// The part of a queue that is on one XCC.
struct Part<'s> {
    index: usize,
    queue: &'s Queue,
    agent_index: usize,
    agent: &'s Agent,
    layout: &'static Layout,
    xcc: u32,
}

impl Survey<'_, '_> {
    /// Finds the waves of a queue.
    fn add_waves(&mut self, index: usize, queue: &Queue) {
        let entry = &queue.entry;
        let Some((agent_index, agent)) = queue
            .agent
            .and_then(|agent| Some((agent, self.note.agents.get(agent)?)))
        else {
            let kind = ProblemKind::UnknownAgent {
                gpu_id: entry.gpu_id,
            };
            self.problems.add(entry.place(), Some(entry.offset), kind);
            return;
        };
        // The agent has reported this problem already.
        let Some(layout) = agent.layout().filter(|_| agent.is_debuggable) else {
            return;
        };
        if let Some(&queue_id) = self.areas.get(&entry.save_area) {
            let kind = ProblemKind::SameSaveArea { queue_id };
            self.problems.add(entry.place(), Some(entry.offset), kind);
            return;
        }
        self.areas.insert(entry.save_area, entry.queue_id);
        let xccs = agent.sound_xccs();
        for xcc in 0..xccs {
            let size = u64::from(entry.save_area_size);
            let Some(address) = size
                .checked_mul(xcc.into())
                .and_then(|offset| entry.save_area.checked_add(offset))
            else {
                return;
            };
            let area = SaveArea {
                address,
                size,
                place: ProblemPlace::Queue {
                    queue_id: entry.queue_id,
                    xcc: (xccs > 1).then_some(xcc),
                },
                entry: entry.offset,
                is_busy: queue.is_busy(),
                hint: self.hints.host,
            };
            let walk = area.walk(self.memory, layout, self.meter, &mut self.problems);
            let part = Part {
                index,
                queue,
                agent_index,
                agent,
                layout,
                xcc,
            };
            self.add_walk(&part, &walk, area.place);
        }
    }

    /// Reads the waves of one save area.
    fn add_walk(&mut self, part: &Part<'_>, walk: &Walk, place: ProblemPlace) {
        let mut faults = Faults::default();
        for saved in &walk.waves {
            match self.words(part.layout, saved) {
                Some(words) => {
                    let leader = saved.leader.and_then(|leader| walk.waves.get(leader));
                    let wave = self.wave(part, *saved, leader, words, walk.is_unsure, &mut faults);
                    self.waves.push(wave);
                }
                None => faults.missing.count(saved.record),
            }
        }
        // The inconsistent sizes have been reported. Problems that follow from them are dropped.
        if walk.is_unsure {
            faults = Faults {
                missing: faults.missing,
                ..Faults::default()
            };
        }
        self.report(part, faults, place);
    }

    /// Returns the words of a record that identify its wave.
    fn words(&self, layout: &Layout, saved: &SavedWave) -> Option<SavedWords> {
        let blocks = layout.record.blocks(&saved.state, false);
        let read = |offset| {
            let bytes = self.memory.array::<64>(saved.record.checked_add(offset)?)?;
            let (words, _) = bytes.as_chunks::<4>();
            let mut found = [0; 16];
            for (found, word) in found.iter_mut().zip(words) {
                *found = u32::from_le_bytes(*word);
            }
            Some(found)
        };
        Some(SavedWords {
            hardware: read(blocks.hardware)?,
            ttmps: read(blocks.ttmps)?,
        })
    }

    fn wave(
        &self,
        part: &Part<'_>,
        saved: SavedWave,
        leader: Option<&SavedWave>,
        words: SavedWords,
        is_unsure: bool,
        faults: &mut Faults,
    ) -> WaveRecord {
        let context = TrapContext {
            is_set_up: self.note.header.ttmp_setup || part.agent.ttmp_setup,
            version: self.version,
        };
        let trap = words.read(part.layout, context);
        let is_aligned = trap.pc.is_multiple_of(4);
        if !is_aligned {
            faults.pc.count((saved.record, trap.pc));
        }
        let packet_id = self.packet_id(part, &trap, saved.record, faults);
        WaveRecord {
            queue: part.index,
            agent: part.agent_index,
            layout: part.layout,
            xcc: part.xcc,
            lds: leader.and_then(|leader| lds_address(part.layout, leader)),
            state: match (self.is_sure && is_aligned && !is_unsure, trap.is_stopped) {
                (false, _) => WaveState::Unsure,
                (true, true) => WaveState::Stopped,
                (true, false) => WaveState::Running,
            },
            stops: trap.stops,
            is_halted: trap.is_halted,
            pc: trap.pc,
            packet_id,
            place: trap
                .identity
                .map(|identity| (identity.workgroup, identity.wave_in_group)),
            scratch: self.scratch(part, &saved, &words, faults),
            saved,
            words,
        }
    }

    fn packet_id(
        &self,
        part: &Part<'_>,
        trap: &TrapState,
        record: u64,
        faults: &mut Faults,
    ) -> Option<u64> {
        let index = trap.identity?.packet;
        let found = part.queue.packet_id(index);
        // Problems of the whole ring have been reported for the queue.
        if found.is_none() && part.queue.knows_packets() {
            faults.packet.count((record, index));
        }
        found
    }

    fn scratch(
        &self,
        part: &Part<'_>,
        saved: &SavedWave,
        words: &SavedWords,
        faults: &mut Faults,
    ) -> Option<Scratch> {
        let is_used = part.layout.wave.has_scratch.any(saved.word);
        let seat = Seat {
            xcc: part.xcc,
            word: saved.word,
            flat_scratch: self.flat_scratch(part.layout, saved, words),
            version: self.version,
        };
        match scratch::of_wave(part.layout, part.queue.scratch?, part.agent, seat) {
            Ok(found) => {
                let found = found?;
                if is_used && !self.memory.has(found.address) {
                    faults.no_scratch.count((saved.record, found.address));
                }
                Some(found)
            }
            Err(fault) => {
                if is_used {
                    faults.scratch.count((saved.record, fault));
                }
                None
            }
        }
    }

    fn flat_scratch(&self, layout: &Layout, saved: &SavedWave, words: &SavedWords) -> Option<u64> {
        match layout.place(HardwareRegister::FlatScratch)?.words {
            Words::Hardware(_) => Some(words.pair(layout, HardwareRegister::FlatScratch)),
            Words::Alias(alias) => {
                let aliases = layout.record.aliases(saved.state.sgprs)?;
                let number = u64::from(aliases.start.checked_add(alias)?);
                let blocks = layout.record.blocks(&saved.state, false);
                let at = blocks.sgprs.checked_add(number.checked_mul(4)?)?;
                self.memory.u64(saved.record.checked_add(at)?)
            }
        }
    }

    fn report(&mut self, part: &Part<'_>, faults: Faults, place: ProblemPlace) {
        let mut add = |address: u64, kind| {
            let at = self.memory.file_offset(address);
            let at = at.or(Some(part.queue.entry.offset));
            self.problems.add(place, at, kind);
        };
        let waves = faults.missing.waves;
        if let Some(at) = faults.missing.first {
            add(at, ProblemKind::RecordsMissing { waves });
        }
        let waves = faults.pc.waves;
        if let Some((at, pc)) = faults.pc.first {
            add(at, ProblemKind::BadPc { waves, pc });
        }
        let waves = faults.packet.waves;
        if let Some((at, index)) = faults.packet.first {
            let packets = part.queue.packets.unwrap_or(0);
            let kind = ProblemKind::PacketIndex {
                waves,
                index,
                packets,
            };
            add(at, kind);
        }
        let waves = faults.scratch.waves;
        if let Some((at, fault)) = faults.scratch.first {
            add(at, fault.of_waves(waves));
        }
        let waves = faults.no_scratch.waves;
        if let Some((at, address)) = faults.no_scratch.first {
            let hint = self.hints.gpu;
            let kind = ProblemKind::ScratchMissing {
                waves,
                address,
                hint,
            };
            add(at, kind);
        }
    }

    /// Adds the dispatches of a queue: the unfinished ones, and those that launched its waves.
    fn add_dispatches(
        &mut self,
        index: usize,
        queue: &Queue,
        launched: BTreeSet<u64>,
        dispatches: &mut Vec<Dispatch>,
    ) {
        let mut ids = launched;
        ids.extend(queue.dispatch_ids(
            self.memory,
            self.hints.host,
            &self.packets,
            &mut self.problems,
        ));
        for packet_id in ids {
            if let Some(packet) = queue.packet(self.memory, packet_id) {
                dispatches.push(Dispatch {
                    queue: index,
                    packet_id,
                    packet,
                });
            }
        }
    }
}

/// Returns the LDS of a workgroup, in the record of its first wave.
fn lds_address(layout: &Layout, leader: &SavedWave) -> Option<u64> {
    let blocks = layout.record.blocks(&leader.state, true);
    leader.record.checked_add(blocks.lds)
}
