//! A stopped wave: its call frames and where they are in the source.

use core::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::frame_lanes::FrameLanes;
use super::frame_list::{FrameList, Part};
use super::program::Program;
use super::trap::stopped_at;
use crate::arch::{CodeAddress, Lane, LoadAddress, ProcessAddress, Register, WaveSize};
use crate::debug_info::{Function, InlinedCall, SourceLine};
use crate::error::Result;
use crate::eval::{Frame, LaneFocus, Reading};
use crate::frame::{CallFrame, CallStack, Stopped, Unwind, unwind};
use crate::lane_flow::{Changed, StopLanes};
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
    /// Strictly, or as real producers need it: then also the locations of LLVM without the extensions
    /// are read as they are meant.
    pub reading: Reading,
    /// Read only values that the debugging information gives: none from arguments of kernels, or from the machine code
    /// ([`VariableValue::recovered`](super::VariableValue::recovered)). Implied by [`Reading::Strict`].
    pub only_dwarf: bool,
}

impl Default for StopOptions {
    /// Loaded at address 0, and tolerant.
    fn default() -> StopOptions {
        StopOptions {
            load_address: LoadAddress(0),
            reading: Reading::Tolerant,
            only_dwarf: false,
        }
    }
}

impl StopOptions {
    /// Returns the defaults, for a code object that is loaded at an address.
    #[must_use]
    pub fn loaded_at(load_address: LoadAddress) -> StopOptions {
        StopOptions {
            load_address,
            ..StopOptions::default()
        }
    }

    /// Returns the same for a code object that is loaded at another address.
    #[must_use]
    pub fn at(self, load_address: LoadAddress) -> StopOptions {
        StopOptions {
            load_address,
            ..self
        }
    }

    /// Returns the same with another reading.
    #[must_use]
    pub fn reading(self, reading: Reading) -> StopOptions {
        StopOptions { reading, ..self }
    }

    /// Returns the same without values that the debugging information does not give, or with them.
    #[must_use]
    pub fn only_dwarf(self, only_dwarf: bool) -> StopOptions {
        StopOptions { only_dwarf, ..self }
    }

    /// Returns true if values are shown that the debugging information does not give.
    pub(super) fn recovers_values(&self) -> bool {
        self.reading == Reading::Tolerant && !self.only_dwarf
    }
}

/// A stopped wave in a program.
///
/// Its frames are numbered with inlined calls ([`frames`](Stop::frames)); the call frames among them are the machine's
/// ([`call_frames`](Stop::call_frames)).
#[derive(Debug)]
pub struct Stop<'p, 'a>(Rc<StopCore<'p, 'a>>);

/// The parts of a stop. Values that were read from it share them, to find the states of lanes on demand.
#[derive(Debug)]
pub(super) struct StopCore<'p, 'a> {
    program: &'p Program<'a>,
    options: StopOptions,
    stack: CallStack<'p, 'p>,
    wave: WaveRef<'p>,
    arena: &'p Arena<'p>,
    /// The places of the lanes by the machine code, computed on first use.
    recovered: OnceCell<Result<StopLanes>>,
    /// The registers that have changed for lanes that wait, by the program locations of the frame and of the lanes.
    changed: RefCell<BTreeMap<(u64, u64), Rc<Changed>>>,
    /// The numbering of the frames.
    pub(super) frames: OnceCell<FrameList>,
    /// The lanes of call frames, by level, as far as they have been asked for.
    pub(super) lanes: RefCell<BTreeMap<usize, FrameLanes>>,
    meter: &'p Meter,
}

/// A wave, which need not say anything about itself.
#[derive(Clone, Copy)]
pub(super) struct WaveRef<'p>(pub(super) &'p dyn Wave);

impl core::fmt::Debug for WaveRef<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("WaveRef").finish_non_exhaustive()
    }
}

impl<'p, 'a> Stop<'p, 'a> {
    /// Stops a wave at `pc`, an address of the process. A wave that stopped at an `s_trap`, as far as is known, is at the trap:
    /// see [`Wave::stop_reasons`].
    #[must_use]
    pub fn new(
        program: &'p Program<'a>,
        wave: &'p dyn Wave,
        pc: impl Into<ProcessAddress>,
        options: StopOptions,
        arena: &'p Arena<'p>,
    ) -> Stop<'p, 'a> {
        let meter = arena.meter(program.object().meter().question());
        Stop::within(program, wave, pc.into(), options, arena, meter)
    }

    /// Returns the same as a part of another question.
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
        let stack = unwind(start, stopped_at(program, wave, pc, options.load_address));
        Stop(Rc::new(StopCore {
            program,
            options,
            stack,
            wave: WaveRef(wave),
            arena,
            recovered: OnceCell::new(),
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

    /// Returns the limits of each expression, and of all together: those of the program.
    #[must_use]
    pub fn limits(&self) -> &'p Limits {
        self.0.program.limits()
    }

    /// Returns how the wave is read.
    #[must_use]
    pub fn options(&self) -> &StopOptions {
        &self.0.options
    }

    /// Why there is no frame after the last. Code that is in no function has no call frame information
    /// either; that it is in none says more.
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

    /// The call stack, with the reason why it ends.
    #[must_use]
    pub fn stack(&self) -> &CallStack<'p, 'p> {
        &self.0.stack
    }

    /// Returns the meter of the last question. Questions are: the call stack with all its registers, the variables of a frame,
    /// the lanes of a frame.
    #[must_use]
    pub fn meter(&self) -> &'p Meter {
        self.0.meter
    }

    /// Returns what a location is read with, for one lane or for the whole wave.
    pub(crate) fn access(&self, lane: Option<Lane>) -> Access<'p> {
        Access {
            wave: self.wave(),
            lane,
            max_bits: self.limits().bits,
            meter: Some(self.meter()),
        }
    }

    /// Starts to count for another question.
    pub(crate) fn reset_meter(&self) {
        self.0.meter.reset();
    }

    /// Returns the arena that composites of the stop are kept in.
    #[must_use]
    pub fn arena(&self) -> &'p Arena<'p> {
        self.0.arena
    }

    /// The places of the lanes by the machine code, computed on first use.
    pub(super) fn recovered_cell(&self) -> &OnceCell<Result<StopLanes>> {
        &self.0.recovered
    }

    /// Returns the registers that have changed for lanes that wait, as far as that has been asked for.
    pub(super) fn changed(&self) -> &RefCell<BTreeMap<(u64, u64), Rc<Changed>>> {
        &self.0.changed
    }

    /// Returns the frames of the machine, the innermost first, each with all that is inlined in it.
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

/// A frame of a stop, and where it is in the source: one of [`Stop::frames`], or a call frame with all that is inlined in it
/// ([`Stop::call_frames`]).
#[derive(Clone, Copy, Debug)]
pub struct StopFrame<'s, 'p, 'a> {
    pub(super) stop: &'s Stop<'p, 'a>,
    /// The call frame that it is, or is inlined in.
    pub(super) frame: CallFrame<'s, 'p, 'p>,
    pub(super) part: Part,
    /// Set if it is seen from where lanes of it wait.
    pub(super) waiting: Option<Waiting>,
}

/// Lanes of a frame that wait in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// The address in the code object.
    pub(super) address: u64,
    /// The lanes, a bit each.
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

    /// The same call frame as lanes see it that wait in it at `pc`, an address of the process: with the line, the scopes and the
    /// locations of variables there. What is in registers is what the frame has; scalar registers that the wave may have
    /// written since are undefined.
    ///
    /// * `lanes`: which lanes, a bit each: they count as those that execute.
    #[must_use]
    pub fn for_waiting(&self, pc: ProcessAddress, lanes: u64) -> StopFrame<'s, 'p, 'a> {
        let CodeAddress(address) = self.stop.options().load_address.to_code(pc);
        StopFrame {
            part: Part::Whole,
            waiting: Some(Waiting { address, lanes }),
            ..*self
        }
    }

    /// Returns the frame seen from where the wave is: of a frame as waiting lanes see it the whole call frame, of others itself.
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

    /// Returns the program location, in the process: the frame's, or that of the waiting lanes.
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

    /// Returns true if it is [seen from where lanes wait](Self::for_waiting).
    #[must_use]
    pub fn is_of_waiting_lanes(&self) -> bool {
        self.waiting.is_some()
    }

    /// Returns the address in the code object with which the program location is looked up.
    pub(super) fn lookup_address(&self) -> u64 {
        match self.waiting {
            Some(waiting) => waiting.address,
            None => self.frame.lookup_address(),
        }
    }

    /// Returns the stop that it belongs to.
    #[must_use]
    pub fn stop(&self) -> &'s Stop<'p, 'a> {
        self.stop
    }

    /// The call frame: its program location, registers and CFA.
    #[must_use]
    pub fn call_frame(&self) -> CallFrame<'s, 'p, 'p> {
        self.frame
    }

    /// Returns the function, not an inlined one. `None` if there is no debugging information for it.
    ///
    /// # Errors
    /// If the debugging information is malformed.
    pub fn function(&self) -> Result<Option<Function<'a>>> {
        self.stop
            .program()
            .info()
            .find_function(self.lookup_address())
    }

    /// The inlined calls that contain the program location, the innermost first.
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

    /// Returns the lanes that execute, as a mask: EXEC in this frame.
    ///
    /// Nothing if it is not available, or if the frame is a caller's and no rule says what EXEC was there:
    /// lanes that have diverged since were active at the call. By the letter EXEC is then the same.
    #[must_use]
    pub fn exec(&self) -> Option<u64> {
        if let Some(waiting) = self.waiting {
            return Some(waiting.lanes);
        }
        let wave = self.stop.wave();
        let exec = Register::exec(wave.wave_size());
        let location = match self.frame.callee() {
            None => self.frame.register(exec).ok()?,
            Some(callee) => {
                let (location, assumed) = callee.recovered(exec).ok()?;
                if assumed && self.stop.options().reading == Reading::Tolerant {
                    return None;
                }
                location
            }
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

    /// Lanes that are known to execute, as a mask: EXEC in this frame, or where that is not known in the
    /// nearest frame called from here where it is. There may be others, which diverged after the call.
    #[must_use]
    pub fn surely_active(&self) -> Option<u64> {
        (0..=self.frame.level())
            .rev()
            .find_map(|level| self.stop.call_frame(level)?.exec())
    }

    /// Returns the lanes that have values in this frame: those that execute in it, or were in the call of a frame further in. All
    /// lanes if EXEC is not available.
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

    /// Returns how many lanes the wave has.
    #[must_use]
    pub fn wave_size(&self) -> WaveSize {
        self.stop.wave().wave_size()
    }
}

/// Returns true if a lane is in a mask; every lane is in one that is not known.
pub(super) fn is_active(mask: Option<u64>, lane: Lane) -> bool {
    mask.is_none_or(|mask| {
        mask.checked_shr(lane.0.into())
            .is_some_and(|mask| mask & 1 == 1)
    })
}
