//! Represents a stopped wave: its call frames and their source positions.

use core::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::frame_lanes::FrameLanes;
use super::frame_list::{FrameList, Part};
use super::program::Program;
use super::stop_code::{StopCode, WaveRef};
use super::trap::stopped_at;
use crate::arch::{CodeAddress, Lane, LoadAddress, ProcessAddress, Register, WaveSize};
use crate::debug_info::{Function, InlinedCall, SourceLine};
use crate::error::Result;
use crate::eval::{Frame, LaneFocus, Reading};
use crate::frame::{CallFrame, CallStack, Corrections, Stopped, Unwind, unwind_corrected};
use crate::lane_flow::Changed;
use crate::limits::Limits;
use crate::location::{Access, Arena, read_value};
use crate::meter::Meter;
use crate::wave::Wave;

/// Options for reading a stopped wave.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct StopOptions {
    /// The load address of the code object.
    pub load_address: LoadAddress,
    /// The reading: strict, or tolerant, which also translates LLVM's locations without the extensions.
    pub reading: Reading,
    /// True to read only values that the debugging information gives, and none from kernel arguments or the machine code
    /// ([`VariableValue::recovered`](super::VariableValue::recovered)). [`Reading::Strict`] implies this.
    pub only_dwarf: bool,
}

impl Default for StopOptions {
    /// Returns options for load address 0, and a tolerant reading.
    fn default() -> StopOptions {
        StopOptions {
            load_address: LoadAddress(0),
            reading: Reading::Tolerant,
            only_dwarf: false,
        }
    }
}

impl StopOptions {
    /// Returns the default options for a code object at a load address.
    #[must_use]
    pub fn loaded_at(load_address: LoadAddress) -> StopOptions {
        StopOptions {
            load_address,
            ..StopOptions::default()
        }
    }

    /// Sets the load address.
    #[must_use]
    pub fn at(self, load_address: LoadAddress) -> StopOptions {
        StopOptions {
            load_address,
            ..self
        }
    }

    /// Sets the reading.
    #[must_use]
    pub fn reading(self, reading: Reading) -> StopOptions {
        StopOptions { reading, ..self }
    }

    /// Sets whether to omit values that the debugging information does not give.
    #[must_use]
    pub fn only_dwarf(self, only_dwarf: bool) -> StopOptions {
        StopOptions { only_dwarf, ..self }
    }

    /// Returns true if values that the debugging information does not give are shown.
    pub(super) fn recovers_values(&self) -> bool {
        self.reading == Reading::Tolerant && !self.only_dwarf
    }
}

/// A stopped wave in a program.
///
/// Its frames include inlined calls ([`frames`](Stop::frames)). The call frames among them are the machine's ([`call_frames`](Stop::call_frames)).
#[derive(Debug)]
pub struct Stop<'p, 'a>(Rc<StopCore<'p, 'a>>);

/// The shared parts of a stop. Values read from it keep them, to find the states of lanes on demand.
#[derive(Debug)]
pub(super) struct StopCore<'p, 'a> {
    program: &'p Program<'a>,
    options: StopOptions,
    stack: CallStack<'p, 'p>,
    wave: WaveRef<'p>,
    arena: &'p Arena<'p>,
    code: Rc<StopCode<'p, 'a>>,
    /// The changed registers of waiting lanes, by the program locations of the frame and of the lanes.
    changed: RefCell<BTreeMap<(u64, u64), Rc<Changed>>>,
    /// The numbering of the frames.
    pub(super) frames: OnceCell<FrameList>,
    /// The lanes of call frames, by level, computed on demand.
    pub(super) lanes: RefCell<BTreeMap<usize, FrameLanes>>,
    meter: &'p Meter,
}

impl<'p, 'a> Stop<'p, 'a> {
    /// Stops a wave at `pc`, an address of the process. A wave that stopped at an `s_trap`, if known, is moved back to the trap: see
    /// [`Wave::stop_reasons`].
    #[must_use]
    pub fn new(
        program: &'p Program<'a>,
        wave: &'p dyn Wave,
        pc: impl Into<ProcessAddress>,
        options: StopOptions,
        arena: &'p Arena<'p>,
    ) -> Stop<'p, 'a> {
        let meter = arena.meter(program.object().meter().for_query());
        Stop::within(program, wave, pc.into(), options, arena, meter)
    }

    /// Stops a wave as part of another query.
    pub(crate) fn within(
        program: &'p Program<'a>,
        wave: &'p dyn Wave,
        pc: ProcessAddress,
        options: StopOptions,
        arena: &'p Arena<'p>,
        meter: &'p Meter,
    ) -> Stop<'p, 'a> {
        let mut start = Unwind::new(wave, program.cfi(), options.load_address, arena);
        start.processor = Some(program.processor());
        start.reading = options.reading;
        start.limits = *program.limits();
        start.meter = Some(meter);
        start.lane = LaneFocus::All;
        start.dialect = program.dialect();
        let pc = stopped_at(program, wave, pc, options.load_address);
        let code = StopCode::new(program, WaveRef(wave), pc, options.load_address, meter);
        let code = Rc::new(code);
        let corrections: Rc<dyn Corrections + 'p> = Rc::clone(&code) as Rc<_>;
        let corrections = options.recovers_values().then_some(corrections);
        let stack = unwind_corrected(start, pc, corrections);
        Stop(Rc::new(StopCore {
            program,
            options,
            stack,
            wave: WaveRef(wave),
            arena,
            code,
            changed: RefCell::default(),
            frames: OnceCell::new(),
            lanes: RefCell::default(),
            meter,
        }))
    }

    pub(super) fn of_core(core: Rc<StopCore<'p, 'a>>) -> Stop<'p, 'a> {
        Stop(core)
    }

    pub(super) fn core(&self) -> &StopCore<'p, 'a> {
        &self.0
    }

    pub(super) fn share(&self) -> Rc<StopCore<'p, 'a>> {
        Rc::clone(&self.0)
    }

    /// Returns the program.
    #[must_use]
    pub fn program(&self) -> &'p Program<'a> {
        self.0.program
    }

    /// Returns the limits on each expression, and on all together, from the program.
    #[must_use]
    pub fn limits(&self) -> &'p Limits {
        self.0.program.limits()
    }

    /// Returns the options for reading the wave.
    #[must_use]
    pub fn options(&self) -> &StopOptions {
        &self.0.options
    }

    /// Returns the reason why there is no frame after the last. If the code is in no function, this is preferred to the lack of call frame
    /// information, because it is more specific.
    #[must_use]
    pub fn stopped(&self) -> Stopped {
        let last = self.call_frames().last();
        let outside = last.is_some_and(|frame| {
            frame.frame.row().is_none() && frame.function().is_ok_and(|found| found.is_none())
        });
        let stopped = self.0.stack.stopped();
        if outside && stopped == Stopped::NoCfi {
            return Stopped::NoFunction;
        }
        stopped
    }

    /// Returns the wave.
    #[must_use]
    pub fn wave(&self) -> &'p dyn Wave {
        self.0.wave.0
    }

    /// Returns the call stack, with the reason why it ends.
    #[must_use]
    pub fn stack(&self) -> &CallStack<'p, 'p> {
        &self.0.stack
    }

    /// Returns the meter of the last query. A query is the call stack with all its registers, the variables of a frame, or the lanes of a frame.
    #[must_use]
    pub fn meter(&self) -> &'p Meter {
        self.0.meter
    }

    /// Returns the access for reading a location, for one lane or for the whole wave.
    pub(crate) fn access(&self, lane: Option<Lane>) -> Access<'p> {
        Access {
            wave: self.wave(),
            lane,
            max_bits: self.limits().bits,
            meter: Some(self.meter()),
        }
    }

    /// Resets the meter for another query.
    pub(crate) fn reset_meter(&self) {
        if self.0.meter.refused().is_some() {
            self.0.stack.forget_limits();
        }
        self.0.meter.reset();
    }

    /// Returns the arena for composites of the stop.
    #[must_use]
    pub fn arena(&self) -> &'p Arena<'p> {
        self.0.arena
    }

    /// Returns the machine code at the stop.
    pub(super) fn code(&self) -> &StopCode<'p, 'a> {
        &self.0.code
    }

    /// Returns the changed registers of waiting lanes found so far.
    pub(super) fn changed(&self) -> &RefCell<BTreeMap<(u64, u64), Rc<Changed>>> {
        &self.0.changed
    }

    /// Returns the frames of the machine, innermost first, each with all its inlined calls.
    pub fn call_frames(&self) -> impl ExactSizeIterator<Item = StopFrame<'_, 'p, 'a>> {
        self.0
            .stack
            .frames()
            .map(|frame| StopFrame::new(self, frame))
    }

    /// Returns a frame of the machine by its level; 0 is the innermost.
    #[must_use]
    pub fn call_frame(&self, level: usize) -> Option<StopFrame<'_, 'p, 'a>> {
        self.0
            .stack
            .frame(level)
            .map(|frame| StopFrame::new(self, frame))
    }
}

/// A frame of a stop, with its source position: one of [`Stop::frames`], or a call frame with all its inlined calls ([`Stop::call_frames`]).
#[derive(Clone, Copy, Debug)]
pub struct StopFrame<'s, 'p, 'a> {
    pub(super) stop: &'s Stop<'p, 'a>,
    /// The call frame that it is, or that contains it.
    pub(super) frame: CallFrame<'s, 'p, 'p>,
    pub(super) part: Part,
    /// The waiting lanes from which it is seen, if any.
    pub(super) waiting: Option<Waiting>,
}

/// Lanes of a frame that wait at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// The address in the code object.
    pub(super) address: u64,
    /// The lanes, as a mask.
    pub(super) lanes: u64,
}

impl<'s, 'p, 'a> StopFrame<'s, 'p, 'a> {
    fn new(stop: &'s Stop<'p, 'a>, frame: CallFrame<'s, 'p, 'p>) -> StopFrame<'s, 'p, 'a> {
        StopFrame {
            stop,
            frame,
            part: Part::Whole,
            waiting: None,
        }
    }

    /// Returns the call frame as seen by lanes that wait in it at `pc`, an address of the process, with the line, scopes and variable locations
    /// there. Registers have the frame's contents, but scalar registers that the wave may have written since are undefined.
    ///
    /// * `lanes`: the mask of the waiting lanes, which count as executing.
    #[must_use]
    pub fn for_waiting(&self, pc: ProcessAddress, lanes: u64) -> StopFrame<'s, 'p, 'a> {
        let CodeAddress(address) = self.stop.options().load_address.to_code(pc);
        StopFrame {
            part: Part::Whole,
            waiting: Some(Waiting { address, lanes }),
            ..*self
        }
    }

    /// Returns the frame as seen by the wave: the whole call frame for a frame of waiting lanes, otherwise the frame itself.
    #[must_use]
    pub fn for_wave(&self) -> StopFrame<'s, 'p, 'a> {
        match self.waiting {
            Some(_) => StopFrame::new(self.stop, self.frame),
            None => *self,
        }
    }

    /// Returns the program location, in the code object.
    pub(super) fn code_address(&self) -> u64 {
        match self.waiting {
            Some(waiting) => waiting.address,
            None => self.frame.code_address(),
        }
    }

    /// Returns the program location in the process, of the frame or of the waiting lanes.
    #[must_use]
    pub fn pc(&self) -> ProcessAddress {
        match self.waiting {
            Some(waiting) => {
                let address = CodeAddress(waiting.address);
                self.stop.options().load_address.to_process(address)
            }
            None => self.frame.pc(),
        }
    }

    /// Returns true if it is [seen by waiting lanes](Self::for_waiting).
    #[must_use]
    pub fn is_of_waiting_lanes(&self) -> bool {
        self.waiting.is_some()
    }

    /// Returns the address in the code object for looking up the program location.
    pub(super) fn lookup_address(&self) -> u64 {
        match self.waiting {
            Some(waiting) => waiting.address,
            None => self.frame.lookup_address(),
        }
    }

    /// Returns its stop.
    #[must_use]
    pub fn stop(&self) -> &'s Stop<'p, 'a> {
        self.stop
    }

    /// Returns the call frame: its program location, registers and CFA.
    #[must_use]
    pub fn call_frame(&self) -> CallFrame<'s, 'p, 'p> {
        self.frame
    }

    /// Returns the function, not an inlined one, or `None` if there is no debugging information for it.
    ///
    /// # Errors
    /// If the debugging information is malformed.
    pub fn function(&self) -> Result<Option<Function<'a>>> {
        self.stop
            .program()
            .info()
            .find_function(self.lookup_address())
    }

    /// Returns the inlined calls that contain the program location, innermost first.
    ///
    /// # Errors
    /// If the debugging information is malformed.
    pub fn inlined(&self, function: &Function<'a>) -> Result<Vec<InlinedCall<'a>>> {
        let info = self.stop.program().info();
        info.inlined_chain(function, self.lookup_address(), self.stop.meter())
    }

    /// Returns the source line.
    ///
    /// # Errors
    /// If the line table is malformed.
    pub fn line(&self) -> Result<Option<SourceLine>> {
        self.stop.program().info().line_at(self.lookup_address())
    }

    /// Returns the mask of executing lanes: EXEC in this frame.
    ///
    /// Returns `None` if it is not available, or for a caller without a rule for EXEC: lanes that have diverged since were active at the call. Read
    /// strictly, EXEC is then unchanged.
    #[must_use]
    pub fn exec(&self) -> Option<u64> {
        if let Some(waiting) = self.waiting {
            return Some(waiting.lanes);
        }
        let wave = self.stop.wave();
        let exec = Register::exec(wave.wave_size());
        let location = match self.frame.callee() {
            None => self.frame.register(exec).ok()?,
            // The machine code is followed only for rules that need EXEC, because nearly every query asks for the mask of a frame.
            Some(callee)
                if callee.is_assumed_in_caller(exec)
                    && self.stop.options().reading == Reading::Tolerant =>
            {
                return None;
            }
            Some(callee) => callee.entry_register(exec).ok()?,
        };
        let access = Access {
            wave,
            lane: None,
            max_bits: 64,
            meter: None,
        };
        let mask = read_value(&location, exec.size_in_bits()?, &access).ok()?;
        u64::try_from(mask).ok()
    }

    /// Returns the mask of lanes known to execute: EXEC in this frame, or if unknown, in the nearest inner frame that has it. Lanes that diverged
    /// after the call may execute too.
    #[must_use]
    pub fn surely_active(&self) -> Option<u64> {
        (0..=self.frame.level())
            .rev()
            .find_map(|level| self.stop.call_frame(level)?.exec())
    }

    /// Returns the lanes that have values in this frame: lanes that execute in it, or were in the call of an inner frame. Returns all lanes if EXEC
    /// is not available.
    #[must_use]
    pub fn readable_lanes(&self) -> Vec<Lane> {
        let active = self.lanes().active;
        let lanes = self.wave_size().all_lanes();
        lanes
            .filter(|lane| is_active(Some(active), *lane))
            .collect()
    }

    /// Returns true if a lane executes in this frame; see [`readable_lanes`](StopFrame::readable_lanes).
    #[must_use]
    pub fn is_active(&self, lane: Lane) -> bool {
        is_active(Some(self.lanes().active), lane)
    }

    /// Returns true if a lane entered the function of this frame, or may have.
    #[must_use]
    pub fn has_entered(&self, lane: Lane) -> bool {
        !is_active(Some(self.lanes().absent), lane)
    }

    /// Returns the number of lanes of the wave.
    #[must_use]
    pub fn wave_size(&self) -> WaveSize {
        self.stop.wave().wave_size()
    }
}

/// Returns true if a lane is in a mask. An unknown mask has all lanes.
pub(super) fn is_active(mask: Option<u64>, lane: Lane) -> bool {
    mask.is_none_or(|mask| {
        mask.checked_shr(lane.0.into())
            .is_some_and(|mask| mask & 1 == 1)
    })
}
