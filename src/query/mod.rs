//! Expressions of C about a stopped wave, evaluated in every lane: `p->next->x`, `a[i] + 1`, `*q`, `sizeof(T)`.
//!
//! A [`Query`] belongs to a frame. It knows the frame's variables, types, enumerators and functions, reads what
//! an expression needs of them, and answers for each lane by itself: what one lane cannot be asked, a division
//! by zero or a null pointer, costs the others nothing. Where the value of a variable is, is the business of
//! `inspect`; how a value looks as text, that of `display`.
//!
//! The text is parsed to nodes (`parse`), which are checked and become steps (`check`), which each lane takes
//! one after the other (`lane`). What differs from C and gdb is in `spec-notes/print.md`. Sources: C17 §6.3 to
//! §6.5; gdb for `@`, `$register` and `space#address`.
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

mod calculate;
mod check;
mod check_name;
mod check_object;
mod check_operator;
mod check_type;
mod class;
mod derived;
mod error;
mod lane;
mod literal;
mod member;
mod names;
mod number;
mod parse;
mod parse_type;
mod scope;
mod step;
mod syntax;
mod token;

pub use error::{QueryError, QueryErrorKind};

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

/// Expressions about a frame of a stopped wave.
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

/// The answer to an expression, in each requested lane.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Answer {
    /// The type; of an array that each lane has another length of, one without a length.
    pub ty: TypeId,
    /// Its name, as C writes it.
    pub type_name: String,
    /// True if it is made of a variable in memory that the function's prologue writes, which is not over: what is there may be left over
    /// from others.
    pub is_in_prologue: bool,
    /// The lanes, in the order in which they were asked for.
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
    /// The bits, or why there are none. Bits that are missing are in the masks.
    pub value: Result<Bits, NoValue>,
    /// The size of a bit-field in bits, if it is one. These are the bits from the lowest on.
    pub bit_field: Option<u64>,
    /// What pointers without bits stand for in it.
    pointees: Vec<Pointee>,
    known: Known,
    recovered: Option<Recovered>,
}

impl LaneAnswer {
    /// Returns where values come from that it is made of, if the debugging information does not give them here: as
    /// [`VariableValue::recovered`].
    #[must_use]
    pub fn recovered(&self) -> Option<&Recovered> {
        self.recovered.as_ref()
    }

    /// Returns the state, as for a variable.
    #[must_use]
    pub fn state(&self) -> ValueStateKind {
        self.known.state
    }

    /// What the state does not say: why there is no value, or what of it is not understood. None of lanes that do not execute in the
    /// frame.
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
    /// Prepares to answer about a frame. No variable is read yet.
    ///
    /// # Errors
    /// If the debugging information of the frame's function is malformed.
    pub fn new(frame: StopFrame<'s, 'p, 'a>) -> Result<Query<'s, 'p, 'a>> {
        frame.stop().reset_meter();
        Query::within(frame)
    }

    /// [`Query::new`] as a part of a question, whose meter goes on counting.
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

    /// Evaluates an expression in some lanes.
    ///
    /// A lane that does not execute in the frame is [`NoValue::Inactive`], one that did not enter it [`NoValue::NotInFrame`].
    ///
    /// # Errors
    /// If the text is no expression, names something that there is not, or an operator does not take its
    /// operands. What is wrong in one lane only is in its [`LaneAnswer`].
    pub fn evaluate(&mut self, text: &str, lanes: &[Lane]) -> Result<Answer, QueryError> {
        self.scope.tree.frame.stop().reset_meter();
        self.evaluate_within(text, lanes)
    }

    /// Returns the limit that was reached before all variables were found that names could mean.
    #[cfg(feature = "serde")]
    pub(crate) fn limit(&self) -> Option<&Error> {
        self.scope.limit.as_ref()
    }

    /// [`evaluate`](Query::evaluate) as a part of a question.
    pub(crate) fn evaluate_within(
        &mut self,
        text: &str,
        lanes: &[Lane],
    ) -> Result<Answer, QueryError> {
        let frame = self.scope.tree.frame;
        let (scope, names) = (&self.scope, &mut self.names);
        let nodes = parse::parse(text, &mut |path| check_type::is_type(path, scope, names))?;
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

    /// Returns true if a variable that has a value in some lane may not have been written yet.
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

    /// Pays for bits of answers, which count as those of variables do.
    fn keep(&self, bits: u64) -> Result<()> {
        self.scope.tree.frame.stop().meter().hold(bits.div_ceil(8))
    }

    /// Returns the value of a lane as a debugger of C prints it. `None` if there is none.
    #[must_use]
    pub fn text(&self, answer: &LaneAnswer, options: &Options) -> Option<String> {
        let meter = Meter::new(&Limits::DEFAULT, Limits::DEFAULT.value);
        self.text_within(answer, options, &meter, None)
    }

    /// [`Query::text`] as a part of a question, whose meter counts.
    ///
    /// * `marks`: gets the places where the text can be broken into lines.
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

/// Returns the type of all lanes that have a value, if it is one.
fn common(answers: &[LaneAnswer]) -> Option<TypeId> {
    let mut types = answers
        .iter()
        .filter(|answer| answer.value.is_ok())
        .map(|answer| answer.ty);
    let first = types.next()?;
    types.all(|ty| ty == first).then_some(first)
}
