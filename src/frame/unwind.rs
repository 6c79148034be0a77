//! Unwinds a stopped wave: finds its frames, and the locations of the registers of each.
//!
//! Nothing is copied: a caller's register is a location, built from the locations in the inner frames, and is read on demand. Source: HET A.6.4.

mod call_frame;
mod correction;
mod lost;

use core::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};

use super::address::FrameAddress;
use super::index::{FrameIndex, KnownRow, RowSource};
use super::rule::RegisterRule;
use super::stop::Stopped;
use crate::arch::{CodeAddress, LoadAddress, ProcessAddress, Processor, Register};
use crate::error::{Error, ErrorKind, Result, SpecRule};
use crate::eval::{LaneFocus, Reading};
use crate::expr::Dialect;
use crate::limits::Limits;
use crate::location::{Access, Arena, Location, Storage, read_value};
use crate::meter::Meter;
use crate::wave::Wave;
pub use call_frame::CallFrame;
use call_frame::Found;
pub use correction::CorrectedRule;
pub(crate) use correction::{
    CallerExec, Correction, Corrections, Derived, LanesLeft, LostRegister,
};

/// The starting point of unwinding.
#[non_exhaustive]
#[derive(Clone, Copy)]
pub struct Unwind<'c, 'a> {
    /// The stopped wave.
    pub wave: &'c dyn Wave,
    /// The call frame information of the code object.
    cfi: &'c dyn RowSource<'a>,
    /// The load address of the code object.
    pub load_address: LoadAddress,
    /// The processor. Its calling convention is used in a tolerant reading.
    pub processor: Option<&'static Processor>,
    /// The convention for reading expressions.
    pub reading: Reading,
    /// The lane for a CFA in per-lane memory.
    pub lane: LaneFocus,
    /// The codes of heterogeneous operations.
    pub dialect: Dialect,
    /// The limits of each expression, and on the number of frames.
    pub limits: Limits,
    /// The meter for the steps of all expressions together, as in [`Context::meter`](crate::eval::Context::meter).
    pub meter: Option<&'c Meter>,
    /// The arena of locations.
    pub arena: &'a Arena<'a>,
}

impl core::fmt::Debug for Unwind<'_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Unwind")
            .field("load_address", &self.load_address)
            .finish_non_exhaustive()
    }
}

impl<'c, 'a> Unwind<'c, 'a> {
    /// Returns a strict reading, with no lane and the default limits.
    #[must_use]
    pub fn new<'f: 'a>(
        wave: &'c dyn Wave,
        cfi: &'c FrameIndex<'f>,
        load_address: LoadAddress,
        arena: &'a Arena<'a>,
    ) -> Unwind<'c, 'a> {
        Unwind {
            wave,
            cfi,
            load_address,
            processor: None,
            reading: Reading::Strict,
            lane: LaneFocus::None,
            dialect: Dialect::User,
            limits: Limits::default(),
            meter: None,
            arena,
        }
    }
}

/// The frames of a stopped wave.
#[derive(Debug)]
pub struct CallStack<'c, 'a> {
    unwind: Unwind<'c, 'a>,
    /// The source of corrections, if wrong rules are to be replaced.
    corrections: Option<Rc<dyn Corrections + 'c>>,
    frames: Vec<Activation<'a>>,
    stopped: Stopped,
    error: Option<Error>,
    found: RefCell<HashMap<(usize, Register), Option<Found<'a>>>>,
    /// True if any result since the last reset depended on EXEC having no rule.
    assumed_exec: Cell<bool>,
    /// The nesting level of evaluations.
    nesting: Cell<u16>,
}

/// The number of registers in all frames for which there is room from the start.
const USUAL_REGISTERS: usize = 32;

/// The row of a frame, and the correction that was applied to it.
type CorrectedRow<'a> = (Option<Arc<KnownRow<'a>>>, Option<Arc<Correction>>);

/// The reason why a frame has no caller, with the error, if it is one.
type End = (Stopped, Option<Error>);

/// The known facts of one frame.
#[derive(Debug)]
struct Activation<'a> {
    address: FrameAddress,
    row: Option<Arc<KnownRow<'a>>>,
    /// The correction that was applied to the row.
    correction: Option<Arc<Correction>>,
    /// True if the row was derived from the machine code.
    is_derived: bool,
    cfa: RefCell<Cfa<'a>>,
    /// The location of the return address.
    return_address: Option<Location<'a>>,
}

/// The CFA of a frame.
#[derive(Clone, Debug, Default)]
enum Cfa<'a> {
    #[default]
    NotComputed,
    /// It is being computed, so that another request for it is a cycle.
    Requested,
    Computed(Result<Location<'a>>),
}

impl<'a> Activation<'a> {
    fn new(
        address: FrameAddress,
        row: Option<Arc<KnownRow<'a>>>,
        correction: Option<Arc<Correction>>,
    ) -> Activation<'a> {
        Activation {
            address,
            row,
            correction,
            is_derived: false,
            cfa: RefCell::default(),
            return_address: None,
        }
    }
}

fn failed(error: Error) -> End {
    let stopped = match error.is_limit() {
        true => Stopped::Limit,
        false => Stopped::Error,
    };
    (stopped, Some(error))
}

/// Unwinds the call stack of a wave that is stopped at `pc`, an address of the process.
///
/// The frame at `pc` always exists. [`CallStack::stopped`] gives the reason why there are no more frames.
#[must_use]
pub fn unwind<'c, 'a>(start: Unwind<'c, 'a>, pc: impl Into<ProcessAddress>) -> CallStack<'c, 'a> {
    unwind_corrected(start, pc, None)
}

/// Unwinds as [`unwind`] does, and replaces rules that the machine code contradicts.
pub(crate) fn unwind_corrected<'c, 'a>(
    start: Unwind<'c, 'a>,
    pc: impl Into<ProcessAddress>,
    corrections: Option<Rc<dyn Corrections + 'c>>,
) -> CallStack<'c, 'a> {
    let mut stack = CallStack {
        unwind: start,
        corrections,
        frames: Vec::new(),
        stopped: Stopped::NoCfi,
        error: None,
        found: RefCell::new(HashMap::with_capacity(USUAL_REGISTERS)),
        assumed_exec: Cell::new(false),
        nesting: Cell::new(0),
    };
    let CodeAddress(mut pc) = start.load_address.to_code(pc.into());
    loop {
        match stack.push(pc) {
            Ok(next) => pc = next,
            Err((stopped, error)) => {
                stack.stopped = stopped;
                stack.error = error;
                return stack;
            }
        }
    }
}

impl<'c, 'a> CallStack<'c, 'a> {
    /// Returns the frames, innermost first.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = CallFrame<'_, 'c, 'a>> {
        (0..self.frames.len()).map(|level| CallFrame { stack: self, level })
    }

    /// Returns a frame by its level; 0 is the innermost.
    #[must_use]
    pub fn frame(&self, level: usize) -> Option<CallFrame<'_, 'c, 'a>> {
        (level < self.frames.len()).then_some(CallFrame { stack: self, level })
    }

    /// Returns the reason why there is no further frame.
    #[must_use]
    pub fn stopped(&self) -> Stopped {
        self.stopped
    }

    /// Returns the error that ended the stack, if one did.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Forgets the errors of limits. Another query may have a larger budget left.
    pub(crate) fn forget_limits(&self) {
        let mut found = self.found.borrow_mut();
        found.retain(|_, found| {
            let location = found.as_ref().map(|found| &found.location);
            !matches!(location, Some(Err(error)) if error.is_limit())
        });
        for frame in &self.frames {
            let mut cfa = frame.cfa.borrow_mut();
            if matches!(&*cfa, Cfa::Computed(Err(error)) if error.is_limit()) {
                *cfa = Cfa::NotComputed;
            }
        }
    }

    /// Replaces the rules of a row that are known to be wrong.
    fn correct(
        &self,
        address: FrameAddress,
        row: Option<Arc<KnownRow<'a>>>,
    ) -> Result<CorrectedRow<'a>> {
        let (Some(known), Some(corrections)) = (&row, &self.corrections) else {
            return Ok((row, None));
        };
        // The outermost frame has no caller whose registers could be wrong.
        let return_address = known.row.rule(known.cie.return_address_register);
        if return_address == Some(RegisterRule::Undefined) {
            return Ok((row, None));
        }
        let found = corrections.correction(address.lookup(), &known.cie)?;
        let Some(correction) = found else {
            return Ok((row, None));
        };
        let section = self.unwind.cfi.section().name();
        let corrected = correction.apply(known, section, self.unwind.arena)?;
        Ok((corrected.map(Arc::new).or(row), Some(correction)))
    }

    /// Adds the frame at `pc`, an address of the code object. Returns the return address.
    fn push(&mut self, pc: u64) -> Result<u64, End> {
        if self.frames.len() >= self.unwind.limits.frames as usize {
            return Err((Stopped::Limit, None));
        }
        let level = self.frames.len();
        let address = match level {
            0 => FrameAddress::ProgramCounter(pc),
            _ => FrameAddress::ReturnAddress(pc),
        };
        let row = (self.unwind.cfi).known_row(address.lookup(), self.unwind.meter);
        let (row, correction, error) = match row.and_then(|row| self.correct(address, row)) {
            Ok((row, correction)) => (row, correction, None),
            Err(error) => (None, None, Some(error)),
        };
        let nothing = match &row {
            _ if error.is_some() => None,
            None => Some(Stopped::NoCfi),
            Some(known) => known.row.is_empty().then_some(Stopped::NoRules),
        };
        if nothing.is_some()
            && let Some(return_address) = self.push_derived(level, address)
        {
            return return_address;
        }
        let without_caller = (correction.as_ref()).and_then(|found| found.without_caller.clone());
        self.frames.push(Activation::new(address, row, correction));
        match (error.or(without_caller), nothing) {
            (Some(error), _) => Err(failed(error)),
            (None, Some(stopped)) => Err((stopped, None)),
            (None, None) => self.return_address(level),
        }
    }

    /// Adds a frame without call frame information, if the machine code shows its caller. Returns the return address.
    fn push_derived(&mut self, level: usize, address: FrameAddress) -> Option<Result<u64, End>> {
        let corrections = self.corrections.clone()?;
        let derived = corrections.derived(address.lookup()).transpose()?;
        let arena = self.unwind.arena;
        let row = derived.and_then(|derived| {
            let row = derived.row(address.lookup(), arena)?;
            Ok((row, Arc::clone(&derived.changes)))
        });
        let (row, changes) = match row {
            Ok(row) => row,
            Err(error) => {
                self.frames.push(Activation::new(address, None, None));
                return Some(Err(failed(error)));
            }
        };
        let activation = Activation::new(address, row, Some(changes));
        self.frames.push(Activation {
            is_derived: true,
            ..activation
        });
        let found = match self.return_address(level) {
            Ok(address) => (corrections.returns_to(level, address).map_err(failed))
                .map(|returns| returns.then_some(address)),
            Err((Stopped::Limit, error)) => Err((Stopped::Limit, error)),
            Err(_) => Ok(None),
        };
        if let Some(found) = found.transpose() {
            return Some(found);
        }
        // The function has no caller, or follows another calling convention.
        self.frames.truncate(level);
        (self.found.get_mut()).retain(|(of, _), _| *of != level);
        None
    }

    /// Reads the return address of the last frame.
    fn return_address(&mut self, level: usize) -> Result<u64, End> {
        let frame = CallFrame { stack: self, level };
        let Some(column) = frame.return_address_column() else {
            return Err((Stopped::Error, Some(SpecRule::RegisterNumber.into())));
        };
        let location = frame.return_address_location(column).map_err(failed)?;
        if frame.is_repeated(&location) {
            return Err((Stopped::Cycle, None));
        }
        let undefined = location
            .places()
            .iter()
            .all(|place| matches!(place.storage, Storage::Undefined));
        if undefined {
            return Err((Stopped::ReturnAddressUndefined, None));
        }
        if let Some(activation) = self.frames.get_mut(level) {
            activation.return_address = Some(location);
        }
        let access = Access {
            wave: self.unwind.wave,
            lane: None,
            max_bits: self.unwind.limits.bits,
            meter: None,
        };
        let bits = column.size_in_bits().unwrap_or(64);
        match read_value(&location, bits, &access) {
            Ok(address) => {
                let address = ProcessAddress(u64::try_from(address).unwrap_or(u64::MAX));
                Ok(self.unwind.load_address.to_code(address).0)
            }
            Err(error) if *error.kind() == ErrorKind::UndefinedRead => {
                Err((Stopped::ReturnAddressUndefined, None))
            }
            Err(error) => Err(failed(error)),
        }
    }
}
