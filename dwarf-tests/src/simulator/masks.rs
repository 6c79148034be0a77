//! Allocates the toy back end's masks in scalar registers, in lanes of vector registers and in scratch, and moves them between these.

use core::ops::Range;

use hetdwarf::arch::WaveSize;
use hetdwarf::lane_pc::{Label, MaskPlace};

use super::machine::{FIRST_VGPR, Half, Instruction, SIZE, Scalar};
use super::random::Random;

/// The scalar registers for masks. They are few, so that the other storage is used too.
const SCALARS: Range<u16> = 4..20;
/// The vector registers whose lanes hold masks.
const VGPRS: Range<u16> = FIRST_VGPR..FIRST_VGPR + 2;
/// The slots for masks in scratch.
const SCRATCH_SLOTS: u64 = 40;
/// The scalar registers that hold masks during use.
pub const TEMPORARY: [Scalar; 2] = [Scalar::Register(50), Scalar::Register(52)];

/// The storage of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A scalar register and, for 64 lanes, the next one.
    Scalar(u16),
    /// A lane of a vector register and, for 64 lanes, the next lane.
    VectorLane(u16, u8),
    /// An offset in scratch, in bytes from the base.
    Scratch(u64),
    /// A constant of the program.
    Constant(u64),
}

/// The number of a mask.
pub type MaskId = usize;

#[derive(Clone, Debug)]
struct Mask {
    /// The start addresses and storage of the mask over time.
    history: Vec<(u64, Place)>,
    is_live: bool,
}

/// The code generated so far, with its masks.
#[derive(Debug)]
pub struct Code {
    /// The wave size of the code.
    pub wave_size: WaveSize,
    /// The source of the choices.
    pub random: Random,
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// The addresses of labels.
    pub labels: Vec<u64>,
    masks: Vec<Mask>,
    /// The storage that masks must have again at each pending control-flow join.
    pinned: Vec<Vec<(MaskId, Place)>>,
    /// The storage of masks that were no longer needed when they were added.
    released: Vec<Place>,
}

impl Code {
    /// Returns empty code.
    #[must_use]
    pub fn new(wave_size: WaveSize, random: Random) -> Code {
        Code {
            wave_size,
            random,
            instructions: Vec::new(),
            labels: Vec::new(),
            masks: Vec::new(),
            pinned: Vec::new(),
            released: Vec::new(),
        }
    }

    /// Returns the address of the next instruction.
    #[must_use]
    pub fn here(&self) -> u64 {
        u64::try_from(self.instructions.len()).unwrap() * SIZE
    }

    /// Appends an instruction.
    pub fn emit(&mut self, instruction: Instruction) {
        self.instructions.push(instruction);
    }

    /// Creates a label that is placed later.
    pub fn label(&mut self) -> usize {
        self.labels.push(u64::MAX);
        self.labels.len() - 1
    }

    /// Places a label at the next instruction.
    pub fn place(&mut self, label: usize) {
        self.labels[label] = self.here();
    }

    /// Creates a mask with the contents of a scalar.
    pub fn save(&mut self, from: Scalar) -> MaskId {
        let place = self.free_place();
        self.write(place, from);
        self.keep(place)
    }

    /// Creates a mask with a constant value.
    pub fn constant(&mut self, mask: u64) -> MaskId {
        self.keep(Place::Constant(mask))
    }

    fn keep(&mut self, place: Place) -> MaskId {
        self.masks.push(Mask {
            history: vec![(self.here(), place)],
            is_live: true,
        });
        self.masks.len() - 1
    }

    /// Releases a mask. Its storage may be reused soon.
    pub fn release(&mut self, mask: MaskId) {
        self.masks[mask].is_live = false;
        self.released.push(self.place_of(mask));
    }

    /// Returns an operand with the contents of the mask, which may be a copy.
    pub fn load(&mut self, mask: MaskId, temporary: Scalar) -> Scalar {
        match self.place_of(mask) {
            Place::Scalar(register) => Scalar::Register(register),
            Place::Constant(mask) => Scalar::Number(mask),
            Place::VectorLane(vgpr, lane) => {
                for (half, number) in self.halves() {
                    self.emit(Instruction::ReadLane(temporary, half, vgpr, lane + number));
                }
                temporary
            }
            Place::Scratch(offset) => {
                for (half, number) in self.halves() {
                    let offset = offset + 4 * u64::from(number);
                    self.emit(Instruction::Load(temporary, half, offset));
                }
                temporary
            }
        }
    }

    /// Changes a mask in its storage.
    pub fn update(&mut self, mask: MaskId, change: impl FnOnce(Scalar) -> Instruction) {
        let [temporary, _] = TEMPORARY;
        let loaded = self.load(mask, temporary);
        self.emit(change(loaded));
        let place = self.place_of(mask);
        if !matches!(place, Place::Scalar(_)) {
            self.write(place, loaded);
        }
    }

    /// Moves a mask, or overwrites released storage, at random.
    pub fn shuffle(&mut self) {
        if self.random.percent(20) {
            let live: Vec<MaskId> = (0..self.masks.len())
                .filter(|mask| self.masks[*mask].is_live)
                .filter(|mask| !matches!(self.place_of(*mask), Place::Constant(_)))
                .collect();
            if !live.is_empty() {
                let mask = live[self.random.below(live.len())];
                let place = self.free_place();
                self.move_to(mask, place);
            }
        }
        if self.random.percent(30)
            && let Some(place) = self.released.pop()
            && self.is_free(place)
        {
            self.spoil(place);
        }
    }

    /// Moves a mask to random storage.
    pub fn move_anywhere(&mut self, mask: MaskId) {
        let place = self.free_place();
        self.move_to(mask, place);
    }

    fn move_to(&mut self, mask: MaskId, place: Place) {
        let [temporary, _] = TEMPORARY;
        let loaded = self.load(mask, temporary);
        self.write(place, loaded);
        let old = self.place_of(mask);
        let here = self.here();
        self.masks[mask].history.push((here, place));
        if self.random.percent(50) {
            self.spoil(old);
        }
    }

    /// Records the storage of all masks. They must have it again at the coming control-flow join: the end of a skipped block, or the start
    /// of the next iteration.
    pub fn pin(&mut self) {
        let now = (0..self.masks.len())
            .filter(|mask| self.masks[*mask].is_live)
            .map(|mask| (mask, self.place_of(mask)))
            .collect();
        self.pinned.push(now);
    }

    /// Moves masks back to the storage recorded by `pin`.
    pub fn reconcile(&mut self) {
        let before = self.pinned.pop().expect("every pin is reconciled once");
        self.pinned.push(before.clone());
        for (mask, place) in before {
            if self.place_of(mask) != place {
                self.move_to(mask, place);
            }
        }
        self.pinned.pop();
    }

    /// Returns the storage of a mask over a range of code.
    #[must_use]
    pub fn places(&self, mask: MaskId, range: &Range<u64>) -> Vec<(Range<u64>, MaskPlace)> {
        let history = &self.masks[mask].history;
        let ends = history.iter().skip(1).map(|(from, _)| *from);
        history
            .iter()
            .zip(ends.chain([u64::MAX]))
            .map(|((from, place), end)| {
                let range = (*from).max(range.start)..end.min(range.end);
                (range, place.described())
            })
            .filter(|(range, _)| !range.is_empty())
            .collect()
    }

    fn place_of(&self, mask: MaskId) -> Place {
        let (_, place) = self.masks[mask].history.last().expect("it is somewhere");
        *place
    }

    /// Returns the halves of a mask, with their numbers.
    fn halves(&self) -> Vec<(Half, u8)> {
        match self.wave_size {
            WaveSize::Wave32 => vec![(Half::Low, 0)],
            WaveSize::Wave64 => vec![(Half::Low, 0), (Half::High, 1)],
        }
    }

    fn write(&mut self, place: Place, from: Scalar) {
        match place {
            Place::Scalar(register) => {
                self.emit(Instruction::Copy(Scalar::Register(register), from));
            }
            Place::VectorLane(vgpr, lane) => {
                for (half, number) in self.halves() {
                    self.emit(Instruction::WriteLane(vgpr, lane + number, from, half));
                }
            }
            Place::Scratch(offset) => {
                for (half, number) in self.halves() {
                    let offset = offset + 4 * u64::from(number);
                    self.emit(Instruction::Store(offset, from, half));
                }
            }
            Place::Constant(_) => panic!("a constant does not change"),
        }
    }

    /// Overwrites storage with another value.
    fn spoil(&mut self, place: Place) {
        if !matches!(place, Place::Constant(_)) {
            let junk = Scalar::Number(self.random.number());
            self.write(place, junk);
        }
    }

    fn free_place(&mut self) -> Place {
        loop {
            let place = self.any_place();
            let is_pinned = self
                .pinned
                .iter()
                .flatten()
                .any(|(_, known)| *known == place);
            if self.is_free(place) && !is_pinned {
                return place;
            }
        }
    }

    /// Returns random storage. Different storage never overlaps.
    fn any_place(&mut self) -> Place {
        let step = match self.wave_size {
            WaveSize::Wave32 => 1,
            WaveSize::Wave64 => 2,
        };
        match self.random.below(4) {
            0 | 1 => {
                let count = usize::from((SCALARS.end - SCALARS.start) / step);
                let number = u16::try_from(self.random.below(count)).unwrap();
                Place::Scalar(SCALARS.start + step * number)
            }
            2 => {
                let vgprs = usize::from(VGPRS.end - VGPRS.start);
                let vgpr = VGPRS.start + u16::try_from(self.random.below(vgprs)).unwrap();
                // The vector register has as many lanes as the wave.
                let lane = step * u16::try_from(self.random.below(32)).unwrap();
                Place::VectorLane(vgpr, u8::try_from(lane).unwrap())
            }
            _ => {
                let slot = self.random.below(usize::try_from(SCRATCH_SLOTS).unwrap());
                Place::Scratch(8 * u64::try_from(slot).unwrap())
            }
        }
    }

    /// Returns true if storage is unused, and no pending join needs it.
    fn is_free(&self, place: Place) -> bool {
        let mut live = (0..self.masks.len()).filter(|mask| self.masks[*mask].is_live);
        !live.any(|mask| self.place_of(mask) == place)
    }
}

impl Place {
    fn described(self) -> MaskPlace {
        match self {
            Place::Scalar(register) => MaskPlace::Scalar(register),
            Place::VectorLane(vgpr, lane) => MaskPlace::VectorLane { vgpr, lane },
            Place::Scratch(offset) => MaskPlace::Scratch {
                base: super::machine::BASE,
                offset,
            },
            Place::Constant(mask) => MaskPlace::Constant(mask),
        }
    }
}

/// Converts a range to labels.
#[must_use]
pub fn labels(range: Range<u64>) -> Range<Label> {
    range.start.into()..range.end.into()
}
