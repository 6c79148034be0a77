//! Reads the save area of a queue: its header, the control stack, and the place of each wave's record.
//!
//! Records have no markers. Only the sizes in the control stack locate them, from the end of the wave area downwards. The walk must therefore end
//! exactly at the start of the area. If it does not, all its waves are uncertain. Sources: the kernel's `kfd_context_save_area_header`; AMD's
//! ROCdbgapi (`queue.cpp`, `architecture.cpp`).

use super::layout::{Layout, State, bit};
use super::memory::ProcessMemory;
use super::problem::{
    CONTROL_STACK, Counted, FileOffset, ProblemKind, ProblemPlace, Problems, SAVE_AREA,
};
use crate::meter::Meter;

/// The save area of one XCC.
#[derive(Clone, Copy, Debug)]
pub(super) struct SaveArea {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) place: ProblemPlace,
    /// The offset of the entry in the note, for problems with bytes that are in no file.
    pub(super) entry: FileOffset,
    /// True if there are packets whose waves should be in the area.
    pub(super) is_busy: bool,
    /// The file that would contain it.
    pub(super) hint: &'static str,
}

/// A wave in the control stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct SavedWave {
    /// The word.
    pub(super) word: u32,
    pub(super) state: State,
    /// The address of its record.
    pub(super) record: u64,
    /// The number, from 0 in this area, of the first wave of its workgroup.
    pub(super) leader: Option<usize>,
}

/// The waves found in an area.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The waves, in the order of the control stack.
    pub(super) waves: Vec<SavedWave>,
    /// True if the sizes are inconsistent, so that the place of every record is uncertain.
    pub(super) is_unsure: bool,
}

/// The words at the start of a control stack that are not entries.
const PACKETS: u32 = 2;
const WORD: u64 = 4;

/// The offsets in the header of an area, as addresses.
struct Bounds {
    stack: u64,
    stack_words: u32,
    waves: u64,
    end: u64,
    is_sound: bool,
}

impl SaveArea {
    /// Finds the waves, and charges for the entries of control stacks.
    pub(super) fn walk(
        &self,
        memory: &ProcessMemory<'_>,
        layout: &Layout,
        meter: &Meter,
        problems: &mut Problems,
    ) -> Walk {
        let Some(bounds) = self.bounds(memory, problems) else {
            return Walk::default();
        };
        let mut walk = Walk {
            waves: Vec::new(),
            is_unsure: !bounds.is_sound,
        };
        let mut cursor = Cursor {
            at: bounds.end,
            state: None,
            leader: None,
            lost: Counted::default(),
        };
        let mut entries = Entries {
            memory,
            next: bounds.stack,
            words: bounds.stack_words,
        };
        // The packets are not read, so missing ones do not matter.
        entries.skip(PACKETS);
        let ended = loop {
            if let Err(error) = meter.work(1).and(meter.hold_all::<SavedWave>(1)) {
                break Err(Ended::Limit(ProblemKind::of_limit(&error)));
            }
            let at = entries.next;
            match cursor.step(&mut entries, layout, &mut walk.waves) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(ended) => {
                    let place = memory.file_offset(at).or(Some(self.entry));
                    problems.add(self.place, place, ended.problem(at, self.hint));
                    break Err(ended);
                }
            }
            if cursor.at < bounds.waves {
                break Ok(());
            }
        };
        self.finish(&bounds, &cursor, ended, &mut walk, memory, problems);
        walk
    }

    /// Checks the end of the walk.
    fn finish(
        &self,
        bounds: &Bounds,
        cursor: &Cursor,
        ended: Result<(), Ended>,
        walk: &mut Walk,
        memory: &ProcessMemory<'_>,
        problems: &mut Problems,
    ) {
        let waves = cursor.lost.waves;
        if let Some(at) = cursor.lost.first {
            let kind = ProblemKind::NoLeader { waves };
            problems.add(self.place, memory.file_offset(at), kind);
        }
        match ended {
            Ok(()) if cursor.at != bounds.waves => {
                let offset = cursor.at.wrapping_sub(bounds.waves).cast_signed();
                let place = memory.file_offset(self.address);
                problems.add(self.place, place, ProblemKind::WalkEnd { offset });
                walk.is_unsure = true;
            }
            Ok(()) => {}
            // Entries before missing bytes are valid, but entries before an invalid one may not be.
            Err(Ended::Gap) => {}
            Err(Ended::Limit(kind)) => {
                problems.add(self.place, memory.file_offset(self.address), kind);
            }
            Err(Ended::Damage(_)) => walk.is_unsure = true,
        }
        // A record that would start before the area is not one.
        if cursor.at < bounds.waves {
            walk.waves.pop();
        }
    }

    /// Reads the header. Returns `None` if there are no waves, or none can be found.
    fn bounds(&self, memory: &ProcessMemory<'_>, problems: &mut Problems) -> Option<Bounds> {
        let Some(header) = memory.array::<16>(self.address) else {
            let kind = ProblemKind::NotInFile {
                what: SAVE_AREA,
                address: self.address,
                hint: self.hint,
            };
            problems.add(self.place, Some(self.entry), kind);
            return None;
        };
        let at = memory.file_offset(self.address);
        let field = |offset| crate::object::bytes::u32_at(&header, offset).unwrap_or(0);
        let (stack, stack_bytes, end, wave_bytes) = (field(0), field(4), field(8), field(12));
        if stack_bytes == 0 {
            if header == [0; 16] && self.is_busy {
                problems.add(self.place, at, ProblemKind::NeverSaved);
            }
            return None;
        }
        let mut bad = |reason| {
            problems.add(self.place, at, ProblemKind::SaveAreaHeader { reason });
        };
        if !stack_bytes.is_multiple_of(4) {
            bad("the control stack is not a whole number of words");
            return None;
        }
        let (stack, stack_end) = (
            u64::from(stack),
            u64::from(stack).saturating_add(stack_bytes.into()),
        );
        let (end, start) = (
            u64::from(end),
            u64::from(end).checked_sub(wave_bytes.into()),
        );
        if stack_end > self.size || end > self.size {
            bad("it refers to bytes beyond the end of the save area");
            return None;
        }
        let Some(start) = start else {
            bad("the waves have more bytes than there are before their end");
            return None;
        };
        let is_sound = stack_end == start;
        if !is_sound {
            bad("the control stack does not end where the waves start");
        }
        Some(Bounds {
            stack: self.address.checked_add(stack)?,
            stack_words: stack_bytes / 4,
            waves: self.address.checked_add(start)?,
            end: self.address.checked_add(end)?,
            is_sound,
        })
    }
}

/// The reason why a walk ended before the end of the control stack.
enum Ended {
    /// The next word is not in the files.
    Gap,
    /// The next entry is invalid.
    Damage(ProblemKind),
    /// The limit on entries is reached.
    Limit(ProblemKind),
}

impl Ended {
    /// Returns the problem with the entry at an address.
    fn problem(&self, address: u64, hint: &'static str) -> ProblemKind {
        match self {
            Ended::Gap => ProblemKind::NotInFile {
                what: CONTROL_STACK,
                address,
                hint,
            },
            Ended::Damage(kind) | Ended::Limit(kind) => kind.clone(),
        }
    }
}

/// The remaining words of a control stack.
struct Entries<'m, 'data> {
    memory: &'m ProcessMemory<'data>,
    next: u64,
    words: u32,
}

impl Entries<'_, '_> {
    fn skip(&mut self, words: u32) {
        self.words = self.words.saturating_sub(words);
        self.next = self
            .next
            .saturating_add(u64::from(words).saturating_mul(WORD));
    }

    fn word(&mut self) -> Result<u32, Ended> {
        let word = self.memory.u32(self.next).ok_or(Ended::Gap)?;
        self.skip(1);
        Ok(word)
    }
}

/// The position of the walk.
struct Cursor {
    /// The end of the next wave's record.
    at: u64,
    state: Option<State>,
    leader: Option<usize>,
    /// The waves without a leader, with the addresses of their words.
    lost: Counted<u64>,
}

/// The bit that marks a word as an event, regardless of other bits.
const EVENT: u32 = 30;
/// The bit that marks a word as a state, unless it is an event.
const STATE: u32 = 31;

impl Cursor {
    /// Takes the next entry. Returns false if there is none.
    fn step(
        &mut self,
        entries: &mut Entries<'_, '_>,
        layout: &Layout,
        waves: &mut Vec<SavedWave>,
    ) -> Result<bool, Ended> {
        if entries.words == 0 {
            return Ok(false);
        }
        let at = entries.next;
        let word = entries.word()?;
        if bit(EVENT).any(word) {
            return Ok(true);
        }
        if bit(STATE).any(word) {
            if layout.state.has_second_word {
                if entries.words == 0 {
                    return Err(Ended::Damage(ProblemKind::StackCut));
                }
                entries.skip(1);
            }
            let state = layout.state.read(word);
            let impossible = Ended::Damage(ProblemKind::StateWord { word });
            self.state = Some(state.ok_or(impossible)?);
            return Ok(true);
        }
        let state = self.state.ok_or(Ended::Damage(ProblemKind::NoState))?;
        let is_first = layout.wave.is_first.any(word);
        if is_first {
            self.leader = Some(waves.len());
        } else if self.leader.is_none() {
            self.lost.count(at);
        }
        let size = layout.record.blocks(&state, is_first).end;
        // A negative address is before every area.
        self.at = self.at.saturating_sub(size);
        waves.push(SavedWave {
            word,
            state,
            record: self.at,
            leader: self.leader,
        });
        if layout.wave.is_last.any(word) {
            self.leader = None;
        }
        Ok(true)
    }
}
