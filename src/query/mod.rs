//! Evaluates C expressions about a stopped wave in every lane: `p->next->x`, `a[i] + 1`, `*q`, `sizeof(T)`.
//!
//! A [`Query`] belongs to a frame. It knows the frame's variables, types, enumerators and functions, and reads the values that an expression needs.
//! Each lane has its own answer: a division by zero or a null pointer in one lane does not affect the others. `inspect` locates the values of
//! variables, and `display` formats values as text.
//!
//! The text is parsed to nodes (`parse`). The nodes are checked and converted to steps (`check`), which each lane executes in order (`lane`).
//! `spec-notes/print.md` lists the differences from C and gdb. Sources: C17 §6.3 to §6.5; gdb for `@`, `$register` and `space#address`.
//!
//! ```
//! # #[cfg(feature = "serde")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use hetdwarf::arch::Lane;
//! use hetdwarf::inspect::{Program, Stop, StopOptions};
//! use hetdwarf::{location::Arena, object::CodeObject, query::Query, wave::Snapshot};
//!
//! let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco")?;
//! let object = CodeObject::parse(&file)?;
//! let program = Program::load(&object)?;
//! let wave = Snapshot::from_json(&std::fs::read("examples/demo/stop.json")?)?;
//! let arena = Arena::new();
//! let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::loaded_at(wave.load_address), &arena);
//!
//! // `a` is the number of the lane; what divides by 0 in lane 3 does not in lane 5.
//! let mut query = Query::new(stop.frame(0).ok_or("no frame")?)?;
//! let answer = query.evaluate("100 / (a - 3)", &[Lane(3), Lane(5)])?;
//! let text = |at: usize| query.text(&answer.lanes[at], &Default::default());
//! assert_eq!((text(0), text(1).as_deref()), (None, Some("50")));
//! assert_eq!(answer.lanes[0].value.as_ref().unwrap_err().to_string(), "division by zero");
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "serde"))]
//! # fn main() {}
//! ```

mod around;
mod calculate;
mod check;
mod check_class;
mod check_name;
mod check_object;
mod check_operator;
mod check_type;
mod class;
mod derived;
mod error;
mod instance;
mod lane;
mod literal;
mod member;
mod name_level;
mod name_reader;
mod name_scope;
mod names;
mod number;
mod parse;
mod parse_type;
mod scope;
mod step;
mod syntax;
mod token;

pub use error::{QueryError, QueryErrorKind};

use typed_arena::Arena;

use crate::arch::Lane;
use crate::debug_info::type_name;
use crate::debug_info::types::{TypeId, TypeTable};
use crate::display::{self, Mark, Options, Pointee, TypedBytes};
#[cfg(feature = "serde")]
use crate::error::Error;
use crate::error::Result;
use crate::inspect::{Recovered, StopFrame, ValueStateKind, VariableValue};
use crate::limits::Limits;
use crate::location::Bits;
use crate::meter::Meter;
use crate::tree::Known;
pub use crate::tree::NoValue;
use derived::Types;
use names::Names;
use scope::Scope;

/// A query for expressions about a frame of a stopped wave.
///
/// ```
/// # #[cfg(feature = "serde")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use hetdwarf::{arch::Lane, inspect::{Program, Stop, StopOptions}, location::Arena, object::CodeObject};
/// use hetdwarf::{query::Query, wave::Snapshot};
///
/// let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco")?;
/// let object = CodeObject::parse(&file)?;
/// let program = Program::load(&object)?;
/// let wave = Snapshot::from_json(&std::fs::read("examples/demo/stop.json")?)?;
/// let arena = Arena::new();
/// let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::loaded_at(wave.load_address), &arena);
///
/// // In lane 3 `a` is 3, `x` is `g[a & 3]`, and that is 99.
/// let mut query = Query::new(stop.frame(0).ok_or("no frame")?)?;
/// let answer = query.evaluate("x * a + 7", &[Lane(3)])?;
/// assert_eq!(answer.type_name, "int");
/// assert_eq!(query.text(&answer.lanes[0], &Default::default()).as_deref(), Some("304"));
///
/// // What is wrong is data, with its place in the text.
/// let error = query.evaluate("a + z", &[Lane(3)]).unwrap_err();
/// assert_eq!((error.kind.name(), error.offset), ("unknown-name", 4));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "serde"))]
/// # fn main() {}
/// ```
#[derive(Debug)]
pub struct Query<'s, 'p, 'a> {
    scope: Scope<'s, 'p, 'a>,
    names: Names<'p, 'a>,
    types: Types,
}

/// The answer to an expression in all requested lanes.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Answer {
    /// The type. For an array whose length differs between lanes, a type without a length.
    pub ty: TypeId,
    /// The name of the type in C syntax.
    pub type_name: String,
    /// True if a value comes from a variable in memory that the function's prologue writes, and the prologue has not finished. The memory may then
    /// have old contents.
    pub is_in_prologue: bool,
    /// The lanes, in the order of the request.
    pub lanes: Vec<LaneAnswer>,
}

/// The answer to an expression in a lane.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct LaneAnswer {
    /// The lane.
    pub lane: Lane,
    /// The type in the lane.
    pub ty: TypeId,
    /// The bits, or the reason why there are none. The masks mark missing bits.
    pub value: Result<Bits, NoValue>,
    /// The size in bits, if the value is a bit-field. Its bits start at the lowest one.
    pub bit_field: Option<u64>,
    /// The targets of pointers without bits in the value.
    pointees: Vec<Pointee>,
    known: Known,
    recovered: Option<Recovered>,
}

impl LaneAnswer {
    /// Returns the sources of values that the debugging information does not locate here, like [`VariableValue::recovered`].
    #[must_use]
    pub fn recovered(&self) -> Option<&Recovered> {
        self.recovered.as_ref()
    }

    /// Returns the state of the value, as for a variable.
    #[must_use]
    pub fn state(&self) -> ValueStateKind {
        self.known.state
    }

    /// Returns additional information about the state: the reason why there is no value, or the part of it that is not understood. Returns None for
    /// lanes that do not execute in the frame.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        match (&self.value, self.known.state) {
            (Err(NoValue::Inactive | NoValue::NotInFrame), _) => None,
            (Err(reason), _) => Some(reason.to_string()),
            (Ok(_), ValueStateKind::OptimizedOut) => Some(NoValue::OptimizedOut.to_string()),
            (Ok(_), ValueStateKind::Unavailable) => Some(NoValue::Unavailable.to_string()),
            (Ok(_), _) => self.known.message.clone(),
        }
    }
}

impl<'s, 'p, 'a> Query<'s, 'p, 'a> {
    /// Creates a query for a frame. No variable is read yet.
    ///
    /// # Errors
    /// If the debugging information of the frame's function is malformed.
    pub fn new(frame: StopFrame<'s, 'p, 'a>) -> Result<Query<'s, 'p, 'a>> {
        frame.stop().reset_meter();
        Query::within(frame)
    }

    /// Does the work of [`Query::new`] as a part of a larger query, without a reset of the meter.
    pub(crate) fn within(frame: StopFrame<'s, 'p, 'a>) -> Result<Query<'s, 'p, 'a>> {
        let scope = Scope::new(frame)?;
        let names = Names::new(
            frame.stop().program().info(),
            scope.unit(),
            frame.stop().meter(),
        );
        let types = Types::default();
        Ok(Query {
            scope,
            names,
            types,
        })
    }

    /// Returns the frame.
    #[must_use]
    pub fn frame(&self) -> StopFrame<'s, 'p, 'a> {
        self.scope.tree.frame
    }

    /// Returns the types of answers.
    #[must_use]
    pub fn types(&self) -> &TypeTable {
        &self.types.table
    }

    /// Evaluates an expression in the given lanes.
    ///
    /// The answer of a lane that does not execute in the frame is [`NoValue::Inactive`]. For a lane that did not enter it, the answer is
    /// [`NoValue::NotInFrame`].
    ///
    /// # Errors
    /// If the text is not an expression, contains an unknown name, or applies an operator to operands of wrong types. An error in only one lane is in
    /// its [`LaneAnswer`].
    pub fn evaluate(&mut self, text: &str, lanes: &[Lane]) -> Result<Answer, QueryError> {
        self.scope.tree.frame.stop().reset_meter();
        self.evaluate_within(text, lanes)
    }

    /// Returns the limit that ended the search for variables early, if one was reached.
    #[cfg(feature = "serde")]
    pub(crate) fn limit(&self) -> Option<&Error> {
        self.scope.limit.as_ref()
    }

    /// Does the work of [`evaluate`](Query::evaluate) as a part of a larger query.
    pub(crate) fn evaluate_within(
        &mut self,
        text: &str,
        lanes: &[Lane],
    ) -> Result<Answer, QueryError> {
        let frame = self.scope.tree.frame;
        let (scope, names) = (&self.scope, &mut self.names);
        let spellings = Arena::new();
        let tokens = instance::join(
            text,
            token::tokens(text)?,
            &spellings,
            &mut |template, name| check_type::instance(template, name, scope, names),
        )?;
        let nodes = parse::parse(tokens, &mut |path| check_type::is_type(path, scope, names))?;
        let steps = check::check(&nodes, &mut self.scope, &mut self.names, &mut self.types)?;
        let fault = |error| QueryErrorKind::DebugInfo(error).at(steps.offset);
        let mut answers = Vec::with_capacity(lanes.len());
        for lane in lanes {
            let meter = frame.stop().meter();
            meter.work(steps.all.len() as u64).map_err(fault)?;
            let answer = self.lane(&steps, *lane);
            if let Err(NoValue::Error(error)) = &answer.value
                && answer.value.as_ref().is_err_and(lane::is_limit)
            {
                return Err(fault(error.clone()));
            }
            let bits = answer.value.as_ref().map_or(0, |bits| bits.bit_size);
            self.keep(bits).map_err(fault)?;
            answers.push(answer);
        }
        let ty = common(&answers).unwrap_or(steps.ty);
        let type_name = type_name(&self.types.table, ty);
        let is_in_prologue = self.is_in_prologue(&steps, lanes).map_err(fault)?;
        Ok(Answer {
            ty,
            type_name,
            is_in_prologue,
            lanes: answers,
        })
    }

    /// Returns true if a variable with a value in some lane may not have been written yet.
    fn is_in_prologue(&self, steps: &step::Steps<'p>, lanes: &[Lane]) -> Result<bool> {
        let frame = self.scope.tree.frame;
        let is_written = |value: &VariableValue<'p>| frame.is_written_by_prologue(value, lanes);
        Ok(steps.read_variables().any(is_written) && frame.is_in_prologue()?)
    }

    fn lane(&mut self, steps: &step::Steps<'p>, lane: Lane) -> LaneAnswer {
        let frame = self.scope.tree.frame;
        let ty = steps.ty;
        let absent = match (frame.is_active(lane), frame.has_entered(lane)) {
            (true, _) => None,
            (false, true) => Some(NoValue::Inactive),
            (false, false) => Some(NoValue::NotInFrame),
        };
        let without = |reason: NoValue| LaneAnswer {
            lane,
            ty,
            known: Known {
                state: reason.state(),
                message: None,
            },
            value: Err(reason),
            bit_field: None,
            pointees: Vec::new(),
            recovered: None,
        };
        if let Some(reason) = absent {
            return without(reason);
        }
        lane::walk(&steps.all, &mut self.types, &self.scope.tree, lane).unwrap_or_else(without)
    }

    /// Charges for bits of answers like for bits of variables.
    fn keep(&self, bits: u64) -> Result<()> {
        self.scope.tree.frame.stop().meter().hold(bits.div_ceil(8))
    }

    /// Returns the value in a lane in the format of a C debugger, or `None` if there is none.
    #[must_use]
    pub fn text(&self, answer: &LaneAnswer, options: &Options) -> Option<String> {
        let meter = Meter::new(&Limits::DEFAULT, Limits::DEFAULT.value);
        self.text_within(answer, options, &meter, None)
    }

    /// Does the work of [`Query::text`] as a part of a larger query, with its meter.
    ///
    /// * `marks`: receives the positions at which the text can be broken into lines.
    pub(crate) fn text_within(
        &self,
        answer: &LaneAnswer,
        options: &Options,
        meter: &Meter,
        marks: Option<&mut Vec<Mark>>,
    ) -> Option<String> {
        let bits = answer.value.as_ref().ok()?;
        let value = TypedBytes::of(bits);
        let value = display::Value {
            table: &self.types.table,
            id: answer.ty,
            value: &value,
            pointees: &answer.pointees,
            options,
        };
        let mut text = String::new();
        let printed = match answer.bit_field {
            Some(size) => return Some(value.bit_field_text(size, meter)),
            None => value.print(meter, &mut text, marks),
        };
        printed.is_ok().then_some(text)
    }
}

/// Returns the common type of all lanes with a value, if there is one.
fn common(answers: &[LaneAnswer]) -> Option<TypeId> {
    let mut types = answers
        .iter()
        .filter(|answer| answer.value.is_ok())
        .map(|answer| answer.ty);
    let first = types.next()?;
    types.all(|ty| ty == first).then_some(first)
}
