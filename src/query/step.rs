//! Defines a checked expression: steps that a lane executes in order, each with the type of its result.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::class::{Arithmetic, Class, IntegerType};
use super::member::MemberPath;
use super::number::Number;
use super::syntax::Binary;
use crate::arch::{AddressSpace, Register, UnnumberedRegister};
use crate::debug_info::types::TypeId;
use crate::inspect::VariableValue;
use crate::location::Bits;

/// The index of a step.
pub(super) type StepId = usize;

/// The steps of an expression.
#[derive(Clone, Debug)]
pub(super) struct Steps<'p> {
    pub(super) all: Vec<Step<'p>>,
    /// The type of the result in all lanes without a type of their own.
    pub(super) ty: TypeId,
    /// The offset of the last step in the text.
    pub(super) offset: usize,
}

impl<'p> Steps<'p> {
    /// Returns the variables whose values are needed, and not only their addresses or sizes.
    pub(super) fn read_variables(&self) -> impl Iterator<Item = &VariableValue<'p>> {
        let mut places = BTreeSet::new();
        for step in &self.all {
            if let Action::Calculate(Calculation::AddressOf(object) | Calculation::SizeOf(object)) =
                step.action
            {
                places.insert(self.root(object));
            }
        }
        let steps = self.all.iter().enumerate();
        let read = steps.filter(move |(id, _)| !places.contains(id));
        read.filter_map(|(_, step)| {
            if let Action::Variable(value) = &step.action {
                Some(&**value)
            } else {
                None
            }
        })
    }

    /// Returns the object that contains another one as a part.
    fn root(&self, object: StepId) -> StepId {
        let mut root = object;
        // Operands precede their users, so the loop ends.
        while let Some(Action::Member { base, .. } | Action::Element { base, .. }) =
            self.all.get(root).map(|step| &step.action)
        {
            root = *base;
        }
        root
    }
}

/// A register with or without a DWARF number.
#[derive(Clone, Copy, Debug)]
pub(super) enum AnyRegister {
    Numbered(Register),
    Unnumbered(UnnumberedRegister),
}

/// A step, with the facts about its result that hold in every lane.
#[derive(Clone, Debug)]
pub(super) struct Step<'p> {
    pub(super) action: Action<'p>,
    pub(super) ty: TypeId,
    pub(super) class: Class,
    /// True if the result is an object with a place, instead of a value.
    pub(super) is_object: bool,
    /// The size of a bit-field, in bits.
    pub(super) field: Option<u64>,
    /// The offset of the step in the text.
    pub(super) offset: usize,
}

/// The action of a step. Its operands are earlier steps.
#[derive(Clone, Debug)]
pub(super) enum Action<'p> {
    /// Continues at `until` if the condition is `skip_if` or has no value.
    Guard {
        condition: StepId,
        skip_if: bool,
        until: StepId,
    },
    /// A string.
    Bytes(Rc<Bits>),
    Variable(Rc<VariableValue<'p>>),
    /// Consecutive registers, or the lane's part of each.
    Registers(Rc<[AnyRegister]>),
    Dereference(StepId),
    Member {
        base: StepId,
        path: MemberPath,
    },
    /// An element of an array or vector. Without an index, the first element.
    Element {
        base: StepId,
        index: Option<StepId>,
        /// True if the element must exist. False if only its address is needed.
        is_read: bool,
    },
    Repeat {
        first: StepId,
        count: StepId,
    },
    /// One of two results, unchanged or converted to an arithmetic type.
    Conditional {
        condition: StepId,
        then: StepId,
        otherwise: StepId,
        ty: Option<Arithmetic>,
    },
    Calculate(Calculation),
}

impl From<Calculation> for Action<'_> {
    fn from(calculation: Calculation) -> Self {
        Action::Calculate(calculation)
    }
}

/// A calculation of a number or an address.
#[derive(Clone, Copy, Debug)]
pub(super) enum Calculation {
    Constant(Number),
    /// A register or the lane's part of it, shifted right.
    Register {
        register: Register,
        shift: u32,
    },
    /// A register without a DWARF number.
    Unnumbered(UnnumberedRegister),
    /// EXEC, about which a frame knows more than the register.
    Exec,
    /// The number of the lane.
    Lane,
    /// The address of an object, or of an array's first element.
    AddressOf(StepId),
    /// The size of an object whose type is laid out at run time.
    SizeOf(StepId),
    /// A conversion to the step's own type.
    Cast(StepId),
    /// A conversion between arithmetic types.
    Promote {
        operand: StepId,
        ty: Arithmetic,
    },
    /// The operator `-` or `~`, in an arithmetic type.
    Negate {
        operand: StepId,
        is_complement: bool,
        ty: Arithmetic,
    },
    Not(StepId),
    Arithmetic {
        operator: Binary,
        left: StepId,
        right: StepId,
        ty: Arithmetic,
    },
    Shift {
        operator: Binary,
        left: StepId,
        right: StepId,
        ty: IntegerType,
    },
    Compare {
        operator: Binary,
        left: StepId,
        right: StepId,
        ty: Arithmetic,
    },
    /// A comparison of addresses, in the address space `space`.
    ComparePointers {
        operator: Binary,
        left: StepId,
        right: StepId,
        space: AddressSpace,
    },
    /// A pointer that is moved forwards or backwards by an index times `bytes`.
    MovePointer {
        pointer: StepId,
        index: StepId,
        bytes: u64,
        backwards: bool,
    },
    /// The distance between two pointers, in elements of `bytes` bytes.
    Distance {
        left: StepId,
        right: StepId,
        bytes: u64,
    },
    Logical {
        is_and: bool,
        left: StepId,
        right: StepId,
    },
}
