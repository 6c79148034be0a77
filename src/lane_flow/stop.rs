//! Locates the lanes of a stopped wave in each of its frames.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::Reason;
use super::answer::{FrameLanes, LaneState, StopLanes};
use super::answers::{Answers, set};
use super::changed::Changed;
use super::contents::{Caller, Contents, Frame, Words};
use super::fuel::{Fuel, left, pay};
use super::function::{FunctionBytes, FunctionFlow, bytes_of_code};
use super::functions::Function;
use super::history::WantsSwitchOff;
use super::lane_plan::{ActiveLanes, LanePlan, PlacePlan, RangePlan};
use super::parting::forget_where_lanes_part;
use super::plan::Planning;
use super::possible::OffLane;
use super::state::{Exec, HalfAt, Section, SectionLanes};
use super::step::all_lanes;
use super::walk::Goal;
use crate::abi::Callees;
use crate::arch::{LoadAddress, ProcessAddress, Processor, Register, WaveSize};
use crate::error;
use crate::isa::{Decoder, MachineRegister};
use crate::meter::{Held, Meter};
use crate::sync::lock;
use crate::wave::Wave;

/// The most frames that are visited.
const MOST_FRAMES: usize = 256;

#[derive(Debug)]
struct Entry<'a> {
    function: Function<'a>,
    /// The facts about the function, or the reason why there are none.
    flow: Mutex<Option<Result<Arc<FunctionFlow<'a>>, Reason>>>,
}

/// The known facts about the lanes of a wave, one bit per lane.
#[derive(Clone, Copy, Debug)]
struct WaveLanes {
    exec: Option<u64>,
    /// The lanes in the inner frame, which are at the call here. `None` for the innermost frame.
    entered: Option<u64>,
    /// The lanes that may be in the inner frame.
    unsure: u64,
    /// The lanes that the dispatch started, or all lanes if it is unknown.
    started: u64,
    is_dispatch_known: bool,
}

/// A place in a function.
#[derive(Debug)]
pub(super) struct At<'a> {
    pub(super) flow: Arc<FunctionFlow<'a>>,
    pub(super) index: usize,
    pub(super) is_kernel: bool,
}

/// The lane analysis of the functions of a code object. The facts about a function are kept for all waves that stop in it.
#[derive(Debug)]
pub struct LaneFlow<'a> {
    processor: &'static Processor,
    wave_size: WaveSize,
    decoder: Option<Decoder>,
    pub(super) callees: Arc<Callees<'a>>,
    functions: BTreeMap<u64, Entry<'a>>,
    /// The number of bytes of all functions. Bytes of overlapping functions count several times.
    size: u64,
    /// The meter of the object, which holds the kept facts.
    meter: Arc<Meter>,
}

impl<'a> LaneFlow<'a> {
    /// Creates the analysis of an object. A function is decoded when a wave stops in it.
    ///
    /// * `wave_size`: the number of lanes of the waves that run the object.
    /// * `meter`: the meter of the object, which holds the kept facts.
    #[must_use]
    pub fn new(
        processor: &'static Processor,
        wave_size: WaveSize,
        functions: impl IntoIterator<Item = Function<'a>>,
        meter: &Arc<Meter>,
    ) -> LaneFlow<'a> {
        let functions: BTreeMap<u64, Entry<'a>> = (functions.into_iter())
            .map(|function| {
                let flow = Mutex::default();
                (function.address, Entry { function, flow })
            })
            .collect();
        let decoder = || Decoder::new(processor, Some(wave_size));
        let callees = functions.values().map(|entry| {
            let function = entry.function;
            (function.address, function.code)
        });
        LaneFlow {
            processor,
            wave_size,
            decoder: decoder(),
            callees: Arc::new(Callees::new(decoder(), callees)),
            size: (functions.values()).fold(0, |sum: u64, one| {
                sum.saturating_add(one.function.code.len() as u64)
            }),
            functions,
            meter: Arc::clone(meter),
        }
    }

    fn entry(&self, pc: u64) -> Option<&Entry<'a>> {
        let (address, entry) = self.functions.range(..=pc).next_back()?;
        let offset = pc.checked_sub(*address)?;
        (offset < entry.function.code.len() as u64).then_some(entry)
    }

    /// Returns the function with code at an address.
    pub(crate) fn function_with(&self, pc: u64) -> Option<Function<'a>> {
        self.entry(pc).map(|entry| entry.function)
    }

    /// Returns true if there is a call before an address.
    ///
    /// # Errors
    /// If the function is too large for the limits.
    pub(crate) fn follows_call(&self, pc: u64, meter: &Meter) -> error::Result<bool> {
        // A call that does not return may be the last instruction of a function.
        let entry = pc.checked_sub(1).and_then(|last| self.entry(last));
        match entry.map(|entry| self.flow(entry, meter)) {
            Some(Ok(flow)) => Ok(flow.code().has_call_before(pc)),
            Some(Err(Reason::Budget)) => Err(self.meter.no_steps()),
            Some(Err(_)) | None => Ok(false),
        }
    }

    /// Returns the facts about a function, or the reason why there are none.
    fn flow(&self, entry: &Entry<'a>, meter: &Meter) -> Result<Arc<FunctionFlow<'a>>, Reason> {
        let decoder = self.decoder.as_ref().ok_or(Reason::Code)?;
        let Function { address, code, .. } = entry.function;
        let fuel = Fuel::of_fact(code.len(), self.size, &self.meter);
        self.make_room_for(entry, fuel, meter)?;
        let mut kept = lock(&entry.flow);
        let find = || {
            let bytes = FunctionBytes {
                processor: self.processor,
                wave_size: self.wave_size,
                decoder,
                address,
                code,
            };
            let held = Held::new(Arc::clone(&self.meter));
            FunctionFlow::find(&bytes, &self.callees, fuel, held).map(Arc::new)
        };
        kept.get_or_insert_with(find).clone()
    }

    /// Drops the facts about other functions, if there may be too little room for a new function. They may have to be found repeatedly, so
    /// the query is charged.
    fn make_room_for(&self, entry: &Entry<'a>, fuel: Fuel, meter: &Meter) -> Result<(), Reason> {
        let bytes = bytes_of_code(entry.function.code).saturating_mul(2);
        if !self.meter.has_room(bytes) && lock(&entry.flow).is_none() {
            let paid = meter.work(fuel.steps_of_facts());
            paid.map_err(|_| Reason::Budget)?;
            self.functions.keys().for_each(|other| self.forget(*other));
        }
        Ok(())
    }

    /// Drops the kept facts about the function at an address.
    pub(crate) fn forget(&self, function: u64) {
        if let Some(entry) = self.functions.get(&function) {
            *lock(&entry.flow) = None;
        }
    }

    /// Locates the lanes of a stopped wave.
    ///
    /// * `pc`: the address in the code object at which the wave stopped.
    /// * `load_address`: the address at which the code object was loaded.
    /// * `dispatched`: the lanes that the dispatch started, one bit per lane. `None` if unknown.
    /// * `meter`: the budget. Eight instructions that a lane is followed over cost a step, even if another wave was followed there before.
    ///   Kept facts about whole functions are free.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::error::ErrorKind::Unavailable) if EXEC cannot be read;
    /// [`ErrorKind::Limit`](crate::error::ErrorKind::Limit) if the budget is exceeded.
    pub fn stop(
        &self,
        wave: &dyn Wave,
        pc: u64,
        load_address: LoadAddress,
        dispatched: Option<u64>,
        meter: &Meter,
    ) -> error::Result<StopLanes> {
        let all = all_lanes(self.wave_size);
        let mut lanes = WaveLanes {
            exec: Some(self.read_exec(wave)?),
            entered: None,
            unsure: 0,
            started: dispatched.unwrap_or(all) & all,
            is_dispatch_known: dispatched.is_some(),
        };
        let mut frames = Vec::new();
        let mut contents = Frame::Stopped(wave);
        let mut at = pc;
        loop {
            let frame = self.frame(&contents, at, lanes, meter)?;
            let others = frame.lanes_that(LaneState::is_elsewhere);
            let missing = others & lanes.started;
            lanes.unsure = frame.lanes_that(LaneState::is_unknown);
            let entered = all & !others & !lanes.unsure;
            frames.push(frame);
            if missing == 0 {
                break;
            }
            let Some((outer, address)) = self
                .caller(contents, at, entered, others, meter)?
                .filter(|_| frames.len() < MOST_FRAMES)
            else {
                self.end_without_caller(&mut frames, missing);
                break;
            };
            lanes.entered = Some(entered);
            at = load_address.to_code(ProcessAddress(address)).0;
            contents = outer;
        }
        Ok(StopLanes { frames })
    }

    /// Returns the facts about lanes at each place of the function at an address, independent of the masks of a wave. Returns `None` if
    /// there is no function, or its code cannot be decoded.
    ///
    /// * `meter`: the budget; half of the remaining steps are used. Places for which they do not suffice have [`Reason::Budget`].
    #[must_use]
    pub fn plan(&self, function: u64, meter: &Meter) -> Option<Vec<RangePlan>> {
        Some(self.plan_within(function, meter, None)?.0)
    }

    /// Returns the plan for debugging information, which states one place for each lane. Includes the switch-offs of lanes, as far as they
    /// are known and wanted, and excludes bits that no lane can have. Also returns true if the meter, and not a bound of the analysis
    /// itself, left places without an answer.
    ///
    /// * `wants_switch_off`: returns true if the switch-off is needed for a lane with a plan ([`LanePlan::Resumes`] or [`LanePlan::Ends`]).
    #[must_use]
    pub(crate) fn plan_with_switch_offs(
        &self,
        function: u64,
        meter: &Meter,
        wants_switch_off: &dyn Fn(u8, &LanePlan) -> bool,
    ) -> Option<(Vec<RangePlan>, bool)> {
        self.plan_within(function, meter, Some(wants_switch_off))
    }

    /// Returns the active lanes along a function for which [`plan`](LaneFlow::plan) was called, as far as they are known. They may be known
    /// where the places of the other lanes are not.
    #[must_use]
    pub fn active_lanes(&self, function: u64) -> Vec<(core::ops::Range<u64>, ActiveLanes)> {
        let at = self.find_known(function);
        at.map_or(Vec::new(), |at| at.flow.active_lanes())
    }

    fn plan_within(
        &self,
        function: u64,
        meter: &Meter,
        wants_switch_off: Option<&WantsSwitchOff<'_>>,
    ) -> Option<(Vec<RangePlan>, bool)> {
        let entry = self.functions.get(&function)?;
        // The other half of the budget is left to other queries.
        let half = meter.part(meter.steps_left() / 2);
        let plans = self.plan_by(entry, &half, wants_switch_off);
        meter.work(half.steps()).ok()?;
        plans
    }

    fn plan_by(
        &self,
        entry: &Entry<'a>,
        meter: &Meter,
        wants_switch_off: Option<&WantsSwitchOff<'_>>,
    ) -> Option<(Vec<RangePlan>, bool)> {
        let Function { address, code, .. } = entry.function;
        let paid = |flow: Arc<FunctionFlow<'a>>| match flow.pay_for_code(meter) {
            Ok(()) => Ok(flow),
            Err(_) => Err(Reason::Budget),
        };
        let flow = match self.flow(entry, meter).and_then(paid) {
            Ok(flow) => flow,
            Err(Reason::Budget) => {
                let range = address..address.saturating_add(code.len() as u64);
                return Some((vec![(range, Err(Reason::Budget))], true));
            }
            Err(_) => return None,
        };
        let most = left(meter);
        let planning = Planning {
            is_kernel: entry.function.is_kernel,
            wants_switch_off,
        };
        let (plans, used, is_short) = flow.plan(planning, most);
        // Facts that were found before the budget was exceeded are right.
        let _ = flow.pay_for_switches(meter).and(pay(meter, used));
        let has_gaps = plans.iter().any(|(_, plan)| *plan == Err(Reason::Budget));
        Some((plans, has_gaps && is_short))
    }

    /// Returns the registers whose contents may differ between the frame of a waiting lane and the place where it waits. The wave has gone
    /// on for other lanes, or will do so.
    ///
    /// * `wave`: the frame's program location, `waiting`: the lane's; both in the code object.
    /// * `meter`: the budget.
    ///
    /// # Errors
    /// If the budget is exceeded.
    pub fn changed_between(
        &self,
        wave: u64,
        waiting: u64,
        meter: &Meter,
    ) -> error::Result<Changed> {
        let places = [wave, waiting].map(|pc| self.find(pc, false, meter));
        Ok(match places {
            [Ok(wave), Ok(waiting)] if Arc::ptr_eq(&wave.flow, &waiting.flow) => {
                pay(meter, wave.flow.cost_of_changes())?;
                (wave.flow).changed_between(self.wave_size, waiting.index, wave.index)
            }
            [_, _] => Changed::all(),
        })
    }

    /// Returns the lanes that may be off at an address, by their switch-off. Returns `None` if they are unknown.
    ///
    /// * `plan`: the facts about that address, from [`plan`](LaneFlow::plan).
    ///
    /// # Errors
    /// If the budget is exceeded.
    pub(crate) fn possible(
        &self,
        pc: u64,
        plan: &PlacePlan,
        meter: &Meter,
    ) -> error::Result<Option<Vec<OffLane>>> {
        match self.find_known(pc) {
            Some(at) => (at.flow).possible(at.index, plan, meter),
            None => Ok(None),
        }
    }

    /// Returns true if every path to an address writes a value into a scalar register that is not a mask.
    pub(crate) fn holds_no_mask(&self, pc: u64, register: MachineRegister) -> bool {
        let at = self.find_known(pc);
        at.is_some_and(|at| at.flow.holds_no_mask(at.index, register))
    }

    fn read_exec(&self, wave: &dyn Wave) -> error::Result<u64> {
        let register = Register::exec(self.wave_size);
        let mut bytes = [0; 8];
        let size = self.wave_size.lanes();
        let length = usize::try_from(size / 8).unwrap_or(8);
        let part = bytes.get_mut(..length).unwrap_or_default();
        wave.read_register(register, 0..size, part)
            .map_err(|_| error::ErrorKind::Unavailable(error::Resource::Register(register)))?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Returns the lanes of one frame.
    fn frame(
        &self,
        contents: &Frame<'_>,
        pc: u64,
        wave: WaveLanes,
        meter: &Meter,
    ) -> error::Result<FrameLanes> {
        let entry = self.entry(pc);
        let count = usize::try_from(self.wave_size.lanes()).unwrap_or(64);
        let mut lanes = vec![LaneState::Elsewhere; count];
        match self.find(pc, wave.entered.is_some(), meter) {
            Ok(at) => self.place_lanes(contents, &at, wave, meter, &mut lanes)?,
            Err(reason) => {
                set(&mut lanes, wave.started, LaneState::Unknown(reason));
                // Without facts about the code, EXEC is taken to have the active lanes.
                let active = wave.entered.or(wave.exec);
                set(&mut lanes, active.unwrap_or(0), LaneState::Active);
            }
        }
        set(&mut lanes, wave.unsure, LaneState::Unknown(Reason::Callee));
        Ok(FrameLanes {
            pc,
            function: entry.map(|entry| entry.function.address),
            lanes,
        })
    }

    /// Returns the function and the instruction at an address, or the reason why there is none.
    pub(super) fn find(&self, pc: u64, is_caller: bool, meter: &Meter) -> Result<At<'a>, Reason> {
        let entry = self.entry(pc).ok_or(Reason::NoFunction)?;
        let flow = self.flow(entry, meter)?;
        let index = flow.index_of(pc).ok_or(Reason::NoFunction)?;
        // A call that does not return may be the last instruction of a function.
        if is_caller && !flow.is_after_call(index) {
            return Err(Reason::NoFunction);
        }
        let is_kernel = entry.function.is_kernel;
        Ok(At {
            flow,
            index,
            is_kernel,
        })
    }

    /// Returns the function that contains an address, and the index of the instruction there.
    pub(crate) fn function_at(
        &self,
        pc: u64,
        meter: &Meter,
    ) -> Option<(Arc<FunctionFlow<'a>>, usize)> {
        let at = self.find(pc, false, meter).ok()?;
        Some((at.flow, at.index))
    }

    /// Charges a query for instructions that a [companion](super::Companion) was followed over.
    ///
    /// # Errors
    /// If the budget is exceeded.
    pub(crate) fn charge(instructions: usize, meter: &Meter) -> error::Result<()> {
        pay(meter, instructions)
    }

    /// Returns the function and the instruction at an address, if the facts about the function are kept.
    pub(super) fn find_known(&self, pc: u64) -> Option<At<'a>> {
        let entry = self.entry(pc)?;
        let kept = lock(&entry.flow);
        let flow = kept.as_ref()?.clone().ok()?;
        Some(At {
            index: flow.index_of(pc)?,
            flow,
            is_kernel: entry.function.is_kernel,
        })
    }

    fn place_lanes(
        &self,
        contents: &Frame<'_>,
        at: &At<'_>,
        wave: WaveLanes,
        meter: &Meter,
        lanes: &mut [LaneState],
    ) -> error::Result<()> {
        pay(meter, at.flow.since(at.index))?;
        let active = match (wave.entered, at.flow.exec(at.index)) {
            (Some(entered), _) => Some(entered),
            (None, Exec::Active) => wave.exec,
            (None, Exec::Section(section)) => self.saved(section, wave.exec, contents),
            (None, Exec::Unknown) => None,
        };
        let Some(active) = active else {
            set(lanes, wave.started, LaneState::Unknown(Reason::WholeWave));
            return Ok(());
        };
        set(lanes, active, LaneState::Active);
        let waiting = wave.started & !active & !wave.unsure;
        let mut words = Words::of(contents, self.wave_size);
        for half in [0, 1_u8] {
            let shift = u32::from(half).saturating_mul(32);
            let part = waiting.checked_shr(shift).unwrap_or(0) & u64::from(u32::MAX);
            let part = u32::try_from(part).unwrap_or(0);
            if part == 0 {
                continue;
            }
            let mut answers = Answers {
                words: &mut words,
                lanes,
                shift,
                goal: Goal::On,
                is_kernel: at.is_kernel,
                is_dispatch_known: wave.is_dispatch_known,
            };
            let place = HalfAt {
                index: at.index,
                half,
            };
            (at.flow).ask(place, part, &mut answers, meter)?;
            let open = self.find_following(at, half, answers.lanes);
            answers.goal = Goal::Acting;
            (at.flow).ask(place, open, &mut answers, meter)?;
            self.find_left(&mut words, &at.flow, place, meter, lanes)?;
        }
        forget_where_lanes_part(lanes);
        Ok(())
    }

    /// Finds the instruction that switched off each waiting lane of one half.
    fn find_left(
        &self,
        words: &mut Words<'_, '_>,
        flow: &FunctionFlow<'_>,
        at: HalfAt,
        meter: &Meter,
        lanes: &mut [LaneState],
    ) -> error::Result<()> {
        let switches = flow.switches(at, meter)?;
        pay(meter, switches.iter().map(|one| one.bits.len()).sum())?;
        let possible: Vec<(u64, u32)> = (switches.iter())
            .map(|switch| {
                let (mut lanes, mut at) = (u32::MAX, 0);
                for (place, bit) in &switch.bits {
                    let word = words.next(&mut at, *place);
                    // A word that cannot be read contradicts nothing.
                    lanes &= word.map_or(u32::MAX, |word| if *bit { word } else { !word });
                }
                (switch.address, lanes)
            })
            .collect();
        let first = usize::from(at.half).saturating_mul(32);
        for (n, lane) in (0_u32..32).zip(lanes.iter_mut().skip(first)) {
            let bit = 1_u32.checked_shl(n).unwrap_or(0);
            let mut switches = possible.iter().filter(|(_, lanes)| lanes & bit != 0);
            if let LaneState::Waiting { left, .. } = lane {
                *left = match (switches.next(), switches.next()) {
                    (Some((address, _)), None) => Some(*address),
                    (_, _) => None,
                };
            }
        }
        Ok(())
    }

    /// Returns the active lanes within a section of other lanes.
    fn saved(&self, section: Section, exec: Option<u64>, contents: &Frame<'_>) -> Option<u64> {
        let all = all_lanes(self.wave_size);
        match (section.saved, section.lanes) {
            (Some(register), _) => {
                let low = u64::from(contents.scalar(register)?);
                match self.wave_size {
                    WaveSize::Wave32 => Some(low),
                    WaveSize::Wave64 => {
                        let high = u64::from(contents.scalar(register.plus(1)?)?);
                        Some(low | high << 32)
                    }
                }
            }
            (None, SectionLanes::Inactive) => Some(!exec? & all),
            (None, SectionLanes::All | SectionLanes::Mask(_)) => None,
        }
    }

    /// Returns the registers of the caller's frame, and the return address.
    fn caller<'w>(
        &self,
        contents: Frame<'w>,
        pc: u64,
        entered: u64,
        others: u64,
        meter: &Meter,
    ) -> error::Result<Option<(Frame<'w>, u64)>> {
        let at = self.find_known(pc).filter(|at| !at.is_kernel);
        let returned = match at {
            Some(at) => at.flow.returned(at.index, meter)?,
            None => None,
        };
        let Some(returned) = returned else {
            return Ok(None);
        };
        let outer = Frame::Caller(Box::new(Caller {
            returned,
            inner: contents,
            entered,
            others,
            wave_size: self.wave_size,
        }));
        let Frame::Caller(caller) = &outer else {
            return Ok(None);
        };
        let address = caller.returned.address.map(|half| caller.word(half));
        let [Some(low), Some(high)] = address else {
            return Ok(None);
        };
        let address = u64::from(low) | u64::from(high) << 32;
        Ok(Some((outer, address)))
    }

    /// Marks the missing lanes as unknown, if the outermost known frame is not a kernel.
    fn end_without_caller(&self, frames: &mut [FrameLanes], missing: u64) {
        let Some(last) = frames.last_mut() else {
            return;
        };
        let is_kernel = (self.entry(last.pc)).is_some_and(|entry| entry.function.is_kernel);
        if !is_kernel {
            set(&mut last.lanes, missing, LaneState::Unknown(Reason::Caller));
        }
    }
}
