//! Determines the meaning and the type of each part of an expression. Nodes become steps that every lane can execute.
//!
//! This module looks up names, reads variables, and rejects operands of wrong types. `check_operator` checks operators, and `check_type` looks up
//! type names.

use std::rc::Rc;

use super::around::OuterVariables;
use super::class::{Arithmetic, Class, FloatType, IntegerType, Rank};
use super::derived::Types;
use super::error::{QueryError, QueryErrorKind};
use super::literal::{FloatSize, Integer};
use super::names::Names;
use super::number::Number;
use super::scope::Scope;
use super::step::{Action, Calculation, Step, StepId, Steps};
use super::syntax::{Kind, Node, NodeId};
use crate::debug_info::types::TypeId;
use crate::error::Error;
use crate::location::Bits;

pub(super) type Checked<T> = Result<T, QueryError>;

/// Converts nodes to steps.
pub(super) struct Checker<'c, 's, 'p, 'a> {
    pub(super) scope: &'c mut Scope<'s, 'p, 'a>,
    pub(super) names: &'c mut Names<'p, 'a>,
    pub(super) outer: OuterVariables<'a>,
    pub(super) types: &'c mut Types,
    void: TypeId,
    pub(super) steps: Vec<Step<'p>>,
    /// The step with the value of each node.
    values: Vec<StepId>,
    /// The first steps of the open operands of `sizeof`.
    pub(super) unevaluated: Vec<StepId>,
    /// The offset of the current node in the text.
    pub(super) offset: usize,
}

/// Returns the steps of an expression. The last one is the expression itself.
pub(super) fn check<'p, 'a>(
    nodes: &[Node<'_>],
    scope: &mut Scope<'_, 'p, 'a>,
    names: &mut Names<'p, 'a>,
    types: &mut Types,
) -> Checked<Steps<'p>> {
    let void = types.void();
    let mut checker = Checker {
        void,
        scope,
        names,
        outer: OuterVariables::default(),
        types,
        steps: Vec::new(),
        values: Vec::new(),
        unevaluated: Vec::new(),
        offset: 0,
    };
    // The first step of each node, at which guards continue.
    let mut starts = Vec::new();
    for node in nodes {
        starts.push(checker.steps.len());
        checker.offset = node.offset;
        let value = checker.node(&node.kind)?;
        checker.values.push(value);
    }
    for step in &mut checker.steps {
        if let Action::Guard { until, .. } = &mut step.action {
            *until = starts.get(*until).copied().unwrap_or(usize::MAX);
        }
    }
    checker.finish()
}

impl<'p, 'a> Checker<'_, '_, 'p, 'a> {
    /// Returns the steps, with the last one in a form that can be displayed.
    fn finish(mut self) -> Checked<Steps<'p>> {
        let last = self.values.last().copied().unwrap_or(0);
        let shown = self.decay_function(last);
        let is_variable = |step: &Step<'_>| matches!(step.action, Action::Variable(_));
        let is_variable = self.steps.get(shown).is_some_and(is_variable);
        if self.class(shown) == Class::Void && !is_variable {
            return Err(self.type_error("the expression has the type `void`, and no value"));
        }
        if shown + 1 != self.steps.len() {
            // The last step must give the value of the expression. Guards precede it.
            let step = self.steps.get(shown).cloned();
            self.steps.extend(step);
        }
        let Some(last) = self.steps.last() else {
            return Err(self.type_error("the expression has no value"));
        };
        Ok(Steps {
            ty: last.ty,
            offset: last.offset,
            all: self.steps,
        })
    }

    pub(super) fn error(&self, kind: QueryErrorKind) -> QueryError {
        kind.at(self.offset)
    }

    pub(super) fn type_error(&self, message: impl Into<String>) -> QueryError {
        self.error(QueryErrorKind::Type(message.into()))
    }

    pub(super) fn fault(&self) -> impl Fn(Error) -> QueryError + use<'p, 'a> {
        let offset = self.offset;
        move |error| QueryErrorKind::DebugInfo(error).at(offset)
    }

    pub(super) fn class(&self, step: StepId) -> Class {
        self.steps.get(step).map_or(Class::Other, |step| step.class)
    }

    pub(super) fn ty(&self, step: StepId) -> TypeId {
        self.steps.get(step).map_or(self.void, |step| step.ty)
    }

    pub(super) fn field(&self, step: StepId) -> Option<u64> {
        self.steps.get(step).and_then(|step| step.field)
    }

    pub(super) fn is_object(&self, step: StepId) -> bool {
        self.steps.get(step).is_some_and(|step| step.is_object)
    }

    /// Returns the name of a step's type for messages.
    pub(super) fn type_text(&self, step: StepId) -> String {
        self.types.name(self.ty(step))
    }

    /// Adds a step that gives a value.
    pub(super) fn value(&mut self, action: impl Into<Action<'p>>, ty: TypeId) -> StepId {
        let class = self.types.class(ty);
        let id = self.steps.len();
        self.steps.push(Step {
            action: action.into(),
            ty,
            class,
            is_object: false,
            field: None,
            offset: self.offset,
        });
        id
    }

    /// Adds a step that gives an object. For a reference, adds the step to the referenced object.
    pub(super) fn object(&mut self, action: Action<'p>, ty: TypeId, field: Option<u64>) -> StepId {
        let id = self.place(action, ty, field);
        // A reference to a reference is invalid in C++, and in a malformed file it may refer to itself.
        if let Class::Reference(reference) = self.class(id) {
            self.place(Action::Dereference(id), reference.target, None)
        } else {
            id
        }
    }

    fn place(&mut self, action: Action<'p>, ty: TypeId, field: Option<u64>) -> StepId {
        let class = self.types.class(ty);
        let id = self.steps.len();
        self.steps.push(Step {
            action,
            ty,
            class,
            is_object: true,
            field,
            offset: self.offset,
        });
        id
    }

    pub(super) fn constant(&mut self, value: i128, ty: IntegerType) -> StepId {
        let id = self.types.integer(ty);
        self.value(Calculation::Constant(Number::Integer(value)), id)
    }

    fn node(&mut self, kind: &Kind<'_>) -> Checked<StepId> {
        let at = |node: NodeId| self.values.get(node).copied().unwrap_or(usize::MAX);
        match *kind {
            Kind::Integer(integer) => Ok(self.integer(integer)),
            Kind::Float { value, size } => Ok(self.float(value, size)),
            Kind::Character(byte) => {
                let char = IntegerType {
                    rank: Rank::Char,
                    bits: 8,
                    signed: true,
                };
                Ok(self.constant(char.wrap(byte.into()), char))
            }
            Kind::Text(ref bytes) => Ok(self.text(bytes)),
            Kind::Name(ref path) => self.name(path),
            Kind::Register(name) => self.register(name),
            Kind::Address(space, address) => {
                let void = self.types.void();
                let ty = self.types.pointer(void, space);
                Ok(self.value(Calculation::Constant(Number::Integer(address.into())), ty))
            }
            Kind::Unary(operator, operand) => self.unary(operator, at(operand)),
            Kind::Binary(operator, left, right) => self.binary(operator, at(left), at(right)),
            Kind::Logical {
                is_and,
                left,
                right,
            } => self.logical(is_and, at(left), at(right)),
            Kind::Conditional {
                condition,
                then,
                otherwise,
            } => self.conditional(at(condition), at(then), at(otherwise)),
            Kind::Guard {
                condition,
                skip_if,
                until,
            } => {
                let condition = at(condition);
                self.guard(condition, skip_if, until)
            }
            Kind::Unevaluated => {
                let start = self.steps.len();
                self.unevaluated.push(start);
                Ok(start)
            }
            Kind::Member { base, name, arrow } => {
                let base = self.base_of_member(at(base), arrow)?;
                self.member(base, name)
            }
            Kind::Index { base, index } => self.index(at(base), at(index)),
            Kind::Cast { ref ty, operand } => self.cast(ty, at(operand)),
            Kind::SizeOfType(ref ty) => {
                let ty = self.type_named(ty, None)?;
                self.size_of_type(ty)
            }
            Kind::SizeOf(operand) => self.size_of(at(operand)),
        }
    }

    /// Adds a guard before nodes that end before the node `until`. The node number becomes a step number at the end.
    fn guard(&mut self, condition: StepId, skip_if: bool, until: NodeId) -> Checked<StepId> {
        let condition = self.condition(condition)?;
        let void = self.types.void();
        Ok(self.value(
            Action::Guard {
                condition,
                skip_if,
                until,
            },
            void,
        ))
    }

    /// Adds a literal with its type according to C17 §6.4.4.1. A literal that exceeds all signed types is unsigned.
    fn integer(&mut self, literal: Integer) -> StepId {
        let ranks = [(Rank::Int, 32), (Rank::Long, 64), (Rank::LongLong, 64)];
        let ranks = ranks.into_iter().skip(literal.longs.into());
        let mut candidates = ranks.flat_map(|(rank, bits)| {
            [true, false].map(|signed| IntegerType { rank, bits, signed })
        });
        let value = i128::from(literal.value);
        let fits = |ty: &IntegerType| {
            let is_allowed = if ty.signed {
                !literal.unsigned
            } else {
                literal.unsigned || !literal.decimal
            };
            is_allowed && ty.wrap(value) == value
        };
        let largest = IntegerType {
            rank: Rank::Long,
            bits: 64,
            signed: false,
        };
        let ty = candidates.find(fits).unwrap_or(largest);
        self.constant(value, ty)
    }

    fn float(&mut self, value: f64, size: FloatSize) -> StepId {
        let ty = match size {
            FloatSize::Half => FloatType::Half,
            FloatSize::Single => FloatType::Single,
            FloatSize::Double => FloatType::Double,
        };
        let value = Number::Float(value).convert(Arithmetic::Float(ty), false);
        let ty = self.types.arithmetic(Arithmetic::Float(ty), None);
        self.value(Calculation::Constant(value), ty)
    }

    fn text(&mut self, bytes: &[u8]) -> StepId {
        let mut bytes = bytes.to_vec();
        bytes.push(0);
        let count = bytes.len() as u64;
        let element = self.types.integer(IntegerType {
            rank: Rank::Char,
            bits: 8,
            signed: true,
        });
        let ty = self.types.array(element, Some(count));
        let bits = Bits {
            bytes,
            bit_size: count * 8,
            ..Bits::default()
        };
        self.value(Action::Bytes(Rc::new(bits)), ty)
    }

    fn size_of_type(&mut self, ty: TypeId) -> Checked<StepId> {
        let class = self.types.class(ty);
        let ty = match class.target() {
            Some(reference) if class.pointer().is_none() => reference.target,
            Some(_) | None => ty,
        };
        let bytes = self.types.step(ty).filter(|_| class != Class::Function);
        let Some(bytes) = bytes else {
            return Err(
                self.type_error(format!("the size of `{}` is unknown", self.types.name(ty)))
            );
        };
        Ok(self.constant(bytes.into(), SIZE))
    }

    fn size_of(&mut self, operand: StepId) -> Checked<StepId> {
        let start = self.unevaluated.pop();
        if self.field(operand).is_some() {
            return Err(self.type_error("a bit-field has no size in bytes"));
        }
        let ty = self.ty(operand);
        let is_laid_out = self.class(operand) != Class::Void
            && self.types.bits(ty).is_none()
            && self.types.table.unit_of_computed(ty).is_some();
        // C evaluates the operand only if the layout of its type is known at run time.
        if !is_laid_out {
            if let Some(start) = start {
                self.steps.truncate(start);
            }
            return self.size_of_type(ty);
        }
        let ty = self.types.integer(SIZE);
        Ok(self.value(Calculation::SizeOf(operand), ty))
    }
}

/// The type `size_t`.
const SIZE: IntegerType = IntegerType {
    rank: Rank::Long,
    bits: 64,
    signed: false,
};

/// The type of an address as a number.
pub(super) const ADDRESS: Arithmetic = Arithmetic::Integer(SIZE);
