//! Where the toy back end keeps masks: in scalar registers, in lanes of vector registers, in scratch;
//! and how they move from one to another.

use core::ops::Range;

use hetdwarf::arch::WaveSize;
use hetdwarf::lane_pc::{Label, MaskPlace};

use super::machine::{FIRST_VGPR, Half, Instruction, SIZE, Scalar};
use super::random::Random;

/// Scalar registers for masks: few, so that others are used too.
const SCALARS: Range<u16> = 4..20;
/// Vector registers whose lanes hold masks.
const VGPRS: Range<u16> = FIRST_VGPR..FIRST_VGPR + 2;
/// Masks in scratch.
const SCRATCH_SLOTS: u64 = 40;
/// Scalar registers for masks while they are used.
pub const TEMPORARY: [Scalar; 2] = [Scalar::Register(50), Scalar::Register(52)];

/// Where a mask is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a scalar register and, of 64 lanes, the next.
    Scalar(u16),
    /// In a lane of a vector register and, of 64 lanes, the next lane.
    VectorLane(u16, u8),
    /// In scratch, so many bytes after the base.
    Scratch(u64),
    /// Known when the program is compiled.
    Constant(u64),
}

/// The number of a mask.
pub type MaskId = usize;

#[derive(Clone, Debug)]
struct Mask {
    /// Where it is from an address onwards.
    history: Vec<(u64, Place)>,
    is_live: bool,
}

/// The code so far, and the masks in it.
#[derive(Debug)]
pub struct Code {
    /// For lanes of how many.
    pub wave_size: WaveSize,
    /// The choices.
    pub random: Random,
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// Addresses of labels.
    pub labels: Vec<u64>,
    masks: Vec<Mask>,
    /// Where masks must be again when the wave comes to where paths meet.
    pinned: Vec<Vec<(MaskId, Place)>>,
    /// Places that nobody needed any more, when they were put here.
    released: Vec<Place>,
}

impl Code {
    /// No code yet.
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

    /// The address of the next instruction.
    #[must_use]
    pub fn here(&self) -> u64 {
        u64::try_from(self.instructions.len()).unwrap() * SIZE
    }

    /// Appends an instruction.
    pub fn emit(&mut self, instruction: Instruction) {
        self.instructions.push(instruction);
    }

    /// A label whose place comes later.
    pub fn label(&mut self) -> usize {
        self.labels.push(u64::MAX);
        self.labels.len() - 1
    }

    /// Puts a label here.
    pub fn place(&mut self, label: usize) {
        self.labels[label] = self.here();
    }

    /// A new mask with the contents of a scalar.
    pub fn save(&mut self, from: Scalar) -> MaskId {
        let place = self.free_place();
        self.write(place, from);
        self.keep(place)
    }

    /// A mask that is known.
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

    /// A mask is not needed any more. Its place may soon contain something else.
    pub fn release(&mut self, mask: MaskId) {
        self.masks[mask].is_live = false;
        self.released.push(self.place_of(mask));
    }

    /// The mask as something that instructions can use; it may be a copy.
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

    /// Changes a mask where it is.
    pub fn update(&mut self, mask: MaskId, change: impl FnOnce(Scalar) -> Instruction) {
        let [temporary, _] = TEMPORARY;
        let loaded = self.load(mask, temporary);
        self.emit(change(loaded));
        let place = self.place_of(mask);
        if !matches!(place, Place::Scalar(_)) {
            self.write(place, loaded);
        }
    }

    /// Perhaps moves a mask, or spoils what nobody needs.
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

    /// Moves a mask, to anywhere.
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

    /// Masks must be where they are now when paths meet: at the end of what is skipped, or at the start of
    /// the next iteration.
    pub fn pin(&mut self) {
        let now = (0..self.masks.len())
            .filter(|mask| self.masks[*mask].is_live)
            .map(|mask| (mask, self.place_of(mask)))
            .collect();
        self.pinned.push(now);
    }

    /// Moves masks back to where they were.
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

    /// Where a mask is in a range of code.
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

    /// The halves of a mask, with their numbers.
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

    /// Writes something else into a place.
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

    /// Places are pairs, or single registers, that do not overlap.
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
                // As many as the wave has lanes.
                let lane = step * u16::try_from(self.random.below(32)).unwrap();
                Place::VectorLane(vgpr, u8::try_from(lane).unwrap())
            }
            _ => {
                let slot = self.random.below(usize::try_from(SCRATCH_SLOTS).unwrap());
                Place::Scratch(8 * u64::try_from(slot).unwrap())
            }
        }
    }

    /// Returns true if nothing is in a place; it may be waited for.
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

/// A range as labels.
#[must_use]
pub fn labels(range: Range<u64>) -> Range<Label> {
    range.start.into()..range.end.into()
}
