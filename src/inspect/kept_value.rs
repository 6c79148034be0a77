//! Reads values without a location at a stop that registers or the stack still hold.
//!
//! `value_flow` finds their places, once for all waves that stop at an address.

use std::sync::{Arc, OnceLock};

use super::given::Given;
use super::kernel_entry::{descriptor_of, initial_value};
use super::plan::{FramePlan, KeptAt, KeptPlans};
use super::prologue::entry_range;
use super::recovered::{Recovered, RecoveredFrom};
use super::stop::StopFrame;
use super::value::Contents;
use crate::arch::{AddressSpace, CodeAddress, Lane, WaveSize};
use crate::debug_info::types::TypeTable;
use crate::debug_info::{DieId, Function};
use crate::error::Result;
use crate::eval::Frame as _;
use crate::isa::MachineRegister;
use crate::lane_flow::{LaneFlow, Slot};
use crate::location::{
    Bits, LaneBits, LaneSelect, Location, Place, Storage, read_lanes, read_value,
};
use crate::value_flow::{Cell, KeptValue, Recipe, Step};

impl<'p, 'a> StopFrame<'_, 'p, 'a> {
    /// Finds the values of the frame's variables that registers and the stack keep. Returns `None` if that is unknown: for the frame of waiting
    /// lanes, and for code that cannot be followed.
    ///
    /// # Errors
    /// If the cost exceeds the limit.
    pub(super) fn kept_values(&self, function: &Function<'a>) -> Result<Option<KeptPlans<'a>>> {
        if self.is_of_waiting_lanes() || !self.stop.options().recovers_values() {
            return Ok(None);
        }
        let Some(own) = self.kept_within(function)? else {
            return Ok(None);
        };
        let caller = self.kept_by_caller(&own)?;
        Ok(Some(KeptPlans { own, caller }))
    }

    /// Finds [`kept_values`](StopFrame::kept_values) except those kept by the caller.
    fn kept_within(&self, function: &Function<'a>) -> Result<Option<Arc<FramePlan<'a>>>> {
        let Some(plan) = self.shared_plan()? else {
            return Ok(None);
        };
        let find = || {
            let found = self.find_kept(&plan, function);
            found.unwrap_or_default()
        };
        let known = self.kept_at(&plan).get_or_init(find);
        self.stop.meter().work(known.steps)?;
        Ok(Some(plan))
    }

    /// Returns the cell of a plan for this frame.
    fn kept_at<'f>(&self, plan: &'f FramePlan<'a>) -> &'f OnceLock<KeptAt> {
        plan.kept(self.wave_size(), self.frame.level() != 0)
    }

    /// Finds the values kept by the caller, if a plan may need them.
    fn kept_by_caller(&self, plan: &FramePlan<'a>) -> Result<Option<Arc<FramePlan<'a>>>> {
        let kept = self.kept_at(plan).get().map(|known| &known.kept);
        let values = kept
            .iter()
            .flat_map(|kept| kept.halves.iter().flatten().flatten());
        let mut dwords = values.flat_map(|value| &value.dwords);
        let is_asked = dwords.any(Recipe::has_argument);
        let level = self.frame.level().checked_add(1).filter(|_| is_asked);
        let Some(caller) = level.and_then(|level| self.stop.call_frame(level)) else {
            return Ok(None);
        };
        match caller.function()? {
            Some(function) => caller.kept_within(&function),
            None => Ok(None),
        }
    }

    /// Finds the kept values. It has a separate budget, so that the result does not depend on the query. Its charge does not depend on earlier
    /// results.
    fn find_kept(&self, plan: &FramePlan<'a>, function: &Function<'a>) -> Option<KeptAt> {
        let program = self.stop.program();
        let query = || program.object().meter().for_query();
        let (reading, following) = (&query(), &query());
        let lane_flow = program.lane_flow(self.wave_size());
        let (flow, index) = lane_flow.function_at(self.frame.code_address(), reading)?;
        let calls = self.inlined(function).ok()?;
        let mut given = Given::new(program, self.wave_size(), function, reading);
        // It has separate types, since known types would cost nothing.
        let mut types = TypeTable::default();
        let mut watched = given.watched(plan, &calls, &mut types).ok()?;
        watched.push(given.kernarg_pointer());
        let kept = crate::value_flow::find(&flow, index, &watched, given.kernel(), following);
        LaneFlow::charge(kept.instructions, following).ok()?;
        Some(KeptAt {
            steps: given.steps().saturating_add(following.steps()),
            kept,
        })
    }

    /// Reads the kept value of a variable in every lane, if there is one.
    ///
    /// * `plans`: the result of [`kept_values`](StopFrame::kept_values).
    /// * `bytes`: the size of the variable.
    pub(super) fn read_kept(
        &self,
        plans: &KeptPlans<'a>,
        variable: DieId,
        bytes: u64,
    ) -> Option<(Contents<'p>, Recovered)> {
        let kept = &self.kept_at(&plans.own).get()?.kept;
        let index = (plans.own.variables)
            .iter()
            .position(|one| one.variable.die == variable)?;
        let of_half = |half: usize| kept.halves.get(half)?.get(index)?.as_ref();
        let first = of_half(0)?;
        let halves = [
            Some(first),
            of_half(1).filter(|one| one.as_of == first.as_of),
        ];
        let recovered = Recovered {
            from: from_of(first),
            as_of: first
                .as_of
                .map(|pc| self.stop.options().load_address.to_process(CodeAddress(pc))),
        };
        let words = halves.map(|half| half.and_then(|kept| self.kept_words(plans, kept)));
        if let Some(bits) = uniform(&words, self.wave_size(), bytes) {
            return Some((Contents::Constant(bits), recovered));
        }
        let of_lane = |lane: Lane| {
            let half = words.get(usize::from(lane.0 / 32));
            half.and_then(Option::as_deref)
        };
        let lanes = || self.wave_size().all_lanes();
        let mut all = Vec::new();
        let is_known = lanes().all(|lane| {
            let words = of_lane(lane);
            words.is_some_and(|words| put_bytes(words, lane, bytes, &mut all).is_some())
        });
        if is_known {
            let size = usize::try_from(bytes).ok()?;
            let bits = LaneBits::complete(all, size, lanes().count());
            let location = Location::UNDEFINED;
            return Some((Contents::Lanes { bits, location }, recovered));
        }
        let contents = lanes().map(|lane| {
            let bits = of_lane(lane).and_then(|words| bits_of(words, lane, bytes));
            Ok((
                bits.unwrap_or_else(|| undefined(bytes)),
                Location::UNDEFINED,
            ))
        });
        Some((Contents::Each(contents.collect()), recovered))
    }

    /// Reads the address of a kernel's arguments, if registers still have it.
    pub(super) fn read_kernarg_pointer(&self, plans: &KeptPlans<'a>) -> Option<u64> {
        let kept = &self.kept_at(&plans.own).get()?.kept;
        // It is after the variables.
        let index = plans.own.variables.len();
        let pointer = kept.halves.first()?.get(index)?.as_ref()?;
        let bits = bits_of(&self.kept_words(plans, pointer)?, Lane(0), 8)?;
        Some(u64::from_le_bytes(bits.bytes.try_into().ok()?))
    }

    /// Reads the dwords of a value, each in all lanes at once.
    fn kept_words(&self, plans: &KeptPlans<'a>, kept: &KeptValue) -> Option<Vec<Word>> {
        let argument = |register| self.argument(plans, register);
        let word = |dword| self.word(&plans.own, dword, argument);
        let words = kept.dwords.iter().map(word);
        words.collect()
    }

    /// Reads a vector register at the call of the function, if the caller still keeps its value, and it is the same in all lanes.
    fn argument(&self, plans: &KeptPlans<'a>, register: u16) -> Option<Word> {
        let caller = self.stop.call_frame(self.frame.level().checked_add(1)?)?;
        let plan = plans.caller.as_deref()?;
        let kept = caller.kept_at(plan).get()?;
        let entry = entry_range(&plans.own.function)?.start;
        if kept.kept.callee != Some(entry) {
            return None;
        }
        let mut halves = kept.kept.arguments.iter();
        let of_half =
            |half: &'_ Vec<Option<Recipe>>| half.get(usize::from(register)).cloned().flatten();
        let recipe = of_half(halves.next()?)?;
        let is_same = halves.all(|half| of_half(half).as_ref() == Some(&recipe));
        // The caller's caller is not searched: the method for that is not known here.
        is_same
            .then(|| caller.word(plan, &recipe, |_| None))
            .flatten()
    }

    /// Reads a dword by its recipe.
    ///
    /// * `plan`: the plan of the frame.
    /// * `argument`: reads a vector register on entry to the function.
    fn word(
        &self,
        plan: &FramePlan<'a>,
        recipe: &Recipe,
        argument: impl Fn(u16) -> Option<Word>,
    ) -> Option<Word> {
        let mut stack: Vec<Word> = Vec::new();
        for step in &recipe.0 {
            let word = match *step {
                Step::Word(word) => Word::Constant(word),
                Step::Register(cell @ (Cell::Scalar(_) | Cell::Lane { .. })) => {
                    let value =
                        read_value(&self.location_of(plan, cell)?, 32, &self.stop.access(None));
                    Word::Constant(u32::try_from(value.ok()?).ok()?)
                }
                Step::Register(cell) => self.word_at(&self.location_of(plan, cell)?)?,
                Step::Row(slot) => self.word_at(&self.location_of_row(plan, slot)?)?,
                Step::Argument(register) => argument(register)?,
                Step::Initial(cell) => self.initial_word(cell)?,
                Step::Apply(operation) => {
                    let (b, a) = (stack.pop()?, stack.pop()?);
                    if let (Word::Constant(a), Word::Constant(b)) = (&a, &b) {
                        stack.push(Word::Constant(operation.apply(*a, *b)));
                        continue;
                    }
                    Word::Each(
                        self.wave_size()
                            .all_lanes()
                            .map(|lane| Some(operation.apply(a.in_lane(lane)?, b.in_lane(lane)?)))
                            .collect(),
                    )
                }
            };
            stack.push(word);
        }
        stack.pop()
    }

    /// Returns the initial value of a register, computed from the dispatch.
    fn initial_word(&self, cell: Cell) -> Option<Word> {
        let function = self.function().ok()??;
        let descriptor = descriptor_of(self.stop.program(), &function)?;
        let registers = descriptor.initial_registers();
        let (dispatch, size) = (self.stop.wave().dispatch()?, self.wave_size());
        let of_lane = |lane| initial_value(&registers, cell, &dispatch, lane, size);
        Some(Word::Each(size.all_lanes().map(of_lane).collect()))
    }

    fn word_at(&self, location: &Location<'p>) -> Option<Word> {
        let bits = read_lanes(location, 32, &self.stop.access(None)).ok()?;
        Some(Word::Read(bits))
    }

    /// Returns the place of a dword of a register in the frame, in all lanes.
    fn location_of(&self, plan: &FramePlan<'a>, cell: Cell) -> Option<Location<'p>> {
        let (register, lane, lane_step) = match cell {
            Cell::Scalar(register) => (register, 0, 0),
            Cell::Own(register) => (register, 0, 32),
            Cell::Lane { register, lane } => (register, lane, 0),
            Cell::Row(_) => return None,
        };
        let whole = self.register(plan, register)?;
        let (_, is_upper) = register.dwarf(self.wave_size())?;
        let place = whole.single()?;
        let dword = u128::from(lane).checked_add(u128::from(is_upper))?;
        let bit_offset = place.bit_offset.checked_add(dword.checked_mul(32)?)?;
        Some(Location::One(Place {
            lane_step,
            ..Place::new(place.storage, bit_offset)
        }))
    }

    /// Returns the place of a whole register in the frame. If call frame information gives it up, but the callee is known not to write it, it is
    /// unchanged.
    fn register(&self, plan: &FramePlan<'a>, machine: MachineRegister) -> Option<Location<'p>> {
        let (register, _) = machine.dwarf(self.wave_size())?;
        let whole = self.frame.register(register).ok()?;
        if !matches!(whole.single()?.storage, Storage::Undefined) {
            return Some(whole);
        }
        let inner = self.stop.call_frame(self.frame.level().checked_sub(1)?)?;
        let kept = &self.kept_at(plan).get()?.kept;
        let called = inner.function().ok()??;
        let is_callee = kept.callee == entry_range(&called).map(|range| range.start);
        let is_left_alone = is_callee && kept.left_alone.contains(&machine);
        let innermost = self.stop.call_frame(0).filter(|_| is_left_alone)?;
        innermost.frame.register(register).ok()
    }

    /// Returns the place of each lane's dword of a row of scratch.
    fn location_of_row(&self, plan: &FramePlan<'a>, slot: Slot) -> Option<Location<'p>> {
        let base = match slot.base {
            Some(register) => self.scalar(plan, register)?,
            None => 0,
        };
        let start = slot.addressing.lane_address(base, self.wave_size());
        let address = i64::from(start).checked_add(slot.offset)?;
        let storage = Storage::Memory {
            space: AddressSpace::PrivateLane,
            lane: LaneSelect::Each,
        };
        let bit_offset = u128::try_from(address).ok()?.checked_mul(8)?;
        Some(Location::One(Place::new(storage, bit_offset)))
    }

    /// Reads a scalar register of 32 bits.
    fn scalar(&self, plan: &FramePlan<'a>, register: MachineRegister) -> Option<u32> {
        let location = self.register(plan, register)?;
        let value = read_value(&location, 32, &self.stop.access(None)).ok()?;
        u32::try_from(value).ok()
    }
}

/// A dword of a value, in all lanes.
#[derive(Debug)]
enum Word {
    Constant(u32),
    /// As read.
    Read(LaneBits),
    /// Computed in each lane, with `None` if that is not possible.
    Each(Vec<Option<u32>>),
}

impl Word {
    /// Returns the dword in a lane, if it is completely known.
    fn in_lane(&self, lane: Lane) -> Option<u32> {
        match self {
            Word::Constant(word) => Some(*word),
            Word::Read(bits) => {
                let is_known = bits.undefined(lane).is_empty() && bits.unavailable(lane).is_empty();
                let bytes: [u8; 4] = bits.bytes(lane).try_into().ok().filter(|_| is_known)?;
                Some(u32::from_le_bytes(bytes))
            }
            Word::Each(words) => words.get(usize::from(lane.0)).copied().flatten(),
        }
    }
}

/// Appends the bytes of a value in a lane, if they are all known.
fn put_bytes(words: &[Word], lane: Lane, bytes: u64, all: &mut Vec<u8>) -> Option<()> {
    let end = all.len().checked_add(usize::try_from(bytes).ok()?)?;
    for word in words {
        all.extend(word.in_lane(lane)?.to_le_bytes());
    }
    all.truncate(end);
    (all.len() == end).then_some(())
}

/// Returns the bits of a value, if it is known to be the same in all lanes.
///
/// * `halves`: the words of each half of the wave.
fn uniform(halves: &[Option<Vec<Word>>], wave_size: WaveSize, bytes: u64) -> Option<Bits> {
    let count = match wave_size {
        WaveSize::Wave32 => 1,
        WaveSize::Wave64 => 2,
    };
    let halves = halves.get(..count)?;
    let constants = |words: &Option<Vec<Word>>| {
        let constant = |word: &Word| match word {
            Word::Constant(word) => Some(*word),
            Word::Read(_) | Word::Each(_) => None,
        };
        words
            .as_ref()?
            .iter()
            .map(constant)
            .collect::<Option<Vec<u32>>>()
    };
    let first = constants(halves.first()?)?;
    let mut others = halves.iter().skip(1);
    let is_same = others.all(|other| constants(other).as_ref() == Some(&first));
    let words = halves.first()?.as_ref().filter(|_| is_same)?;
    bits_of(words, Lane(0), bytes)
}

/// Returns the bits of a value in a lane, if they are all known.
fn bits_of(words: &[Word], lane: Lane, bytes: u64) -> Option<Bits> {
    let mut all = Vec::new();
    put_bytes(words, lane, bytes, &mut all)?;
    Some(Bits {
        bytes: all,
        bit_size: bytes.saturating_mul(8),
        ..Bits::default()
    })
}

/// Returns the keeper of a value.
fn from_of(kept: &KeptValue) -> RecoveredFrom {
    let from = |dword: &Recipe| match dword.0.as_slice() {
        _ if dword.has_argument() => RecoveredFrom::CallSite,
        [Step::Register(_)] => RecoveredFrom::Register,
        [Step::Row(_)] => RecoveredFrom::Slot,
        _ => RecoveredFrom::Computed,
    };
    let mut all = kept.dwords.iter().map(from);
    let first = all.next().unwrap_or(RecoveredFrom::Computed);
    match all.all(|other| other == first) {
        true => first,
        false => RecoveredFrom::Computed,
    }
}

/// Returns bits that are all unknown.
fn undefined(bytes: u64) -> Bits {
    let mut bits = Bits {
        bytes: vec![0; usize::try_from(bytes).unwrap_or(0)],
        bit_size: bytes.saturating_mul(8),
        ..Bits::default()
    };
    bits.undefined.insert(0..bits.bit_size);
    bits
}
