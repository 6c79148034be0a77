//! Defines the context of an evaluation. Source: HET A.2.5.1.

use core::cell::Cell;
use core::fmt;

use super::resolver::{LocationAttribute, Resolver};
use super::value::Value;
use crate::arch::{AddressSpace, Lane, LoadAddress, ProcessAddress, Processor, Register};
use crate::error::Result;
use crate::limits::Limits;
use crate::location::{Arena, LaneSelect, Location};
use crate::meter::Meter;
use crate::wave::Wave;

/// The kind of result that is required ("current result kind").
///
/// Intentionally exhaustive: HET A.2.5.1 defines these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultKind {
    /// Any result.
    #[default]
    Any,
    /// A location; a value is converted where HET allows it.
    Location,
    /// A value; a location is converted where HET allows it.
    Value,
}

/// The result of an evaluation.
///
/// Intentionally exhaustive: HET has only these two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome<'a> {
    /// A value.
    Value(Value),
    /// A location.
    Location(Location<'a>),
}

/// The lane for which an expression is evaluated ("current lane").
///
/// Intentionally exhaustive: there is no other focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaneFocus {
    /// No lane: expressions that need a lane fail.
    #[default]
    None,
    /// One lane.
    One(Lane),
    /// All lanes at once: the result may stand for all of them.
    All,
}

impl LaneFocus {
    /// Returns the owner of memory at an address of a space.
    #[inline]
    pub(crate) const fn select(self, space: AddressSpace) -> LaneSelect {
        match self {
            _ if !space.is_lane_specific() => LaneSelect::None,
            LaneFocus::None => LaneSelect::None,
            LaneFocus::One(lane) => LaneSelect::One(lane),
            LaneFocus::All => LaneSelect::Each,
        }
    }
}

/// The convention for reading expressions where producers deviate from the specification; see `spec-notes/reading.md`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Strictly.
    #[default]
    Strict,
    /// Like gdb: `DW_OP_breg*` of a register narrower than an address zero-extends it.
    Tolerant,
}

/// A call frame ("current call frame"): the locations of its registers, and its caller.
///
/// The registers of the top frame are in the wave itself. Lower frames find them through the call frame information of the frames above.
pub trait Frame<'a> {
    /// Returns the location of `register` while this frame waits for its callee.
    ///
    /// # Errors
    /// If the call frame information does not give it.
    fn register(&self, register: Register) -> Result<Location<'a>>;

    /// Returns the location at which `register` was saved on entry to the frame (`DW_OP_LLVM_call_frame_entry_reg`).
    ///
    /// # Errors
    /// If the call frame information does not give it.
    fn entry_register(&self, register: Register) -> Result<Location<'a>>;

    /// Returns the canonical frame address.
    ///
    /// # Errors
    /// If the call frame information does not give it.
    fn cfa(&self) -> Result<Location<'a>>;

    /// Calls `visit` with the frame that called this one and the address of its call site in the code object. Returns false if there is no such
    /// frame.
    ///
    /// # Errors
    /// If the call frame information does not give it, or `visit` fails.
    fn with_caller(&self, visit: &mut dyn FnMut(&dyn Frame<'a>, u64) -> Result<()>)
    -> Result<bool>;

    /// Returns true if no rule covers `register` of the caller, so that it is assumed to be unchanged.
    fn is_assumed_in_caller(&self, register: Register) -> bool {
        let _ = register;
        false
    }
}

/// The attributes of the subprogram at the program location to which expressions refer.
///
/// Intentionally exhaustive: debuggers write it as a literal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subprogram<'a> {
    /// `DW_AT_frame_base`.
    pub frame_base: Option<LocationAttribute<'a>>,
    /// `DW_AT_LLVM_lanes`.
    pub lanes: Option<u64>,
    /// `DW_AT_LLVM_iterations`, if it is a constant.
    pub iterations: Option<u64>,
}

/// Makes a location of an offset into thread-local storage.
pub type Tls<'c, 'a> = &'c dyn Fn(u64) -> Result<Location<'a>>;

/// The context for evaluating an expression. A missing element affects only expressions that need it. Begin with [`new`](Context::new), or with a
/// context that `inspect` makes for a frame or a program, and add further elements.
///
/// ```
/// use hetdwarf::eval::{Context, ExpressionBytes, Outcome, ResultKind, Unit, evaluate};
/// use hetdwarf::expr::{Encoding, ParseOptions, parse};
/// use hetdwarf::location::Arena;
///
/// let bytes = parse("DW_OP_lit6, DW_OP_lit7, DW_OP_mul", &ParseOptions::default())?.encode(Encoding::AMDGPU)?;
/// let arena = Arena::new();
/// let expression = ExpressionBytes::alone(&bytes, Unit::unknown(Encoding::AMDGPU));
/// let Outcome::Value(value) = evaluate(&expression, ResultKind::Value, &Context::new(&arena))? else { unreachable!() };
/// assert_eq!(value.bits, 42);
///
/// // The same with an entry on the stack.
/// let start = [Outcome::Value(value)];
/// let context = Context::new(&arena).with_initial_stack(&start);
/// let bytes = [0x31, 0x22]; // DW_OP_lit1, DW_OP_plus
/// let expression = ExpressionBytes::alone(&bytes, Unit::unknown(Encoding::AMDGPU));
/// let Outcome::Value(value) = evaluate(&expression, ResultKind::Value, &context)? else { unreachable!() };
/// assert_eq!(value.bits, 43);
/// # Ok::<(), hetdwarf::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy)]
pub struct Context<'c, 'a> {
    /// The storage of composites.
    pub arena: &'a Arena<'a>,
    /// The stopped wave ("current thread").
    pub wave: Option<&'c dyn Wave>,
    /// The processor ("current target architecture"), if it matters.
    pub processor: Option<&'static Processor>,
    /// The lane in focus.
    pub lane: LaneFocus,
    /// The iteration in focus.
    pub iteration: Option<u64>,
    /// The call frame. Without one, the wave's own registers are used.
    pub frame: Option<&'c dyn Frame<'a>>,
    /// The program location, as an address of the code object.
    pub pc: Option<u64>,
    /// The load address of the code object.
    pub load_address: LoadAddress,
    /// The debugging information.
    pub resolver: Option<&'c dyn Resolver<'a>>,
    /// The subprogram at the program location.
    pub subprogram: Option<Subprogram<'a>>,
    /// The object ("current object").
    pub object: Option<Location<'a>>,
    /// The initial stack, the lowest entry first.
    pub initial_stack: &'c [Outcome<'a>],
    /// Thread-local storage.
    pub tls: Option<Tls<'c, 'a>>,
    /// The convention for reading expressions.
    pub reading: Reading,
    /// The limits on the evaluation.
    pub limits: Limits,
    /// The meter for the steps of all evaluations of one query.
    pub meter: Option<&'c Meter>,
    /// The nesting level of evaluations that must stay together below [`Limits::depth`]. A [`Frame`] begins such an evaluation while another one
    /// reads a register from it.
    pub nesting: Option<&'c Cell<u16>>,
}

impl<'c, 'a> Context<'c, 'a> {
    /// Creates an empty context.
    #[must_use]
    pub fn new(arena: &'a Arena<'a>) -> Context<'c, 'a> {
        Context {
            arena,
            wave: None,
            processor: None,
            lane: LaneFocus::None,
            iteration: None,
            frame: None,
            pc: None,
            load_address: LoadAddress(0),
            resolver: None,
            subprogram: None,
            object: None,
            initial_stack: &[],
            tls: None,
            reading: Reading::Strict,
            limits: Limits::default(),
            meter: None,
            nesting: None,
        }
    }

    /// Sets the arena for results. The contents of the context must live as long.
    #[must_use]
    pub fn with_arena(self, arena: &'a Arena<'a>) -> Context<'c, 'a> {
        Context { arena, ..self }
    }

    /// Sets the stopped wave.
    #[must_use]
    pub fn with_wave(self, wave: &'c dyn Wave) -> Context<'c, 'a> {
        Context {
            wave: Some(wave),
            ..self
        }
    }

    /// Sets the program location of a wave, without a frame.
    ///
    /// * `pc`: its program location, an address of the process.
    /// * `load_address`: the load address of the code object.
    #[must_use]
    pub fn stopped_at(
        self,
        pc: impl Into<ProcessAddress>,
        load_address: LoadAddress,
    ) -> Context<'c, 'a> {
        Context {
            pc: Some(load_address.to_code(pc.into()).0),
            load_address,
            ..self
        }
    }

    /// Sets the processor.
    #[must_use]
    pub fn with_processor(self, processor: &'static Processor) -> Context<'c, 'a> {
        Context {
            processor: Some(processor),
            ..self
        }
    }

    /// Sets the lane in focus.
    #[must_use]
    pub fn with_lane(self, lane: LaneFocus) -> Context<'c, 'a> {
        Context { lane, ..self }
    }

    /// Sets the iteration in focus.
    #[must_use]
    pub fn with_iteration(self, iteration: Option<u64>) -> Context<'c, 'a> {
        Context { iteration, ..self }
    }

    /// Sets the call frame.
    #[must_use]
    pub fn with_frame(self, frame: &'c dyn Frame<'a>) -> Context<'c, 'a> {
        Context {
            frame: Some(frame),
            ..self
        }
    }

    /// Sets the program location, an address of the code object.
    #[must_use]
    pub fn with_pc(self, pc: u64) -> Context<'c, 'a> {
        Context {
            pc: Some(pc),
            ..self
        }
    }

    /// Sets the subprogram.
    #[must_use]
    pub fn with_subprogram(self, subprogram: Subprogram<'a>) -> Context<'c, 'a> {
        Context {
            subprogram: Some(subprogram),
            ..self
        }
    }

    /// Sets the debugging information.
    #[must_use]
    pub fn with_resolver(self, resolver: &'c dyn Resolver<'a>) -> Context<'c, 'a> {
        Context {
            resolver: Some(resolver),
            ..self
        }
    }

    /// Sets the object ("current object").
    #[must_use]
    pub fn with_object(self, object: Option<Location<'a>>) -> Context<'c, 'a> {
        Context { object, ..self }
    }

    /// Sets the initial stack, the lowest entry first.
    #[must_use]
    pub fn with_initial_stack(self, initial_stack: &'c [Outcome<'a>]) -> Context<'c, 'a> {
        Context {
            initial_stack,
            ..self
        }
    }

    /// Sets the thread-local storage.
    #[must_use]
    pub fn with_tls(self, tls: Tls<'c, 'a>) -> Context<'c, 'a> {
        Context {
            tls: Some(tls),
            ..self
        }
    }

    /// Sets the convention for reading expressions.
    #[must_use]
    pub fn with_reading(self, reading: Reading) -> Context<'c, 'a> {
        Context { reading, ..self }
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Context<'c, 'a> {
        Context { limits, ..self }
    }

    /// Sets the meter for steps. Without one, each evaluation has the full budget of its limits.
    #[must_use]
    pub fn with_meter(self, meter: Option<&'c Meter>) -> Context<'c, 'a> {
        Context { meter, ..self }
    }

    /// Shares the nesting level with other evaluations: see [`Context::nesting`].
    #[must_use]
    pub fn with_nesting(self, nesting: &'c Cell<u16>) -> Context<'c, 'a> {
        Context {
            nesting: Some(nesting),
            ..self
        }
    }
}

impl fmt::Debug for Context<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("lane", &self.lane)
            .field("pc", &self.pc)
            .finish_non_exhaustive()
    }
}
