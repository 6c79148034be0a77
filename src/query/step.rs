//! A checked expression: steps that a lane takes one after the other, each with the type of what it gives.

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

/// The steps of an expression, and what the last one gives.
#[derive(Clone, Debug)]
pub(super) struct Steps<'p> {
    pub(super) all: Vec<Step<'p>>,
    /// The type that all lanes have whose value has no other.
    pub(super) ty: TypeId,
    /// Where in the text the last one stands.
    pub(super) offset: usize,
}

impl<'p> Steps<'p> {
    /// Returns the variables whose values are asked for, not just their addresses or sizes.
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

    /// Returns the object that another one is a part of.
    fn root(&self, object: StepId) -> StepId {
        let mut root = object;
        // Operands stand before what uses them, so that this ends.
        while let Some(Action::Member { base, .. } | Action::Element { base, .. }) =
            self.all.get(root).map(|step| &step.action)
        {
            root = *base;
        }
        root
    }
}

/// A register with a number in DWARF or without one.
#[derive(Clone, Copy, Debug)]
pub(super) enum AnyRegister {
    Numbered(Register),
    Unnumbered(UnnumberedRegister),
}

/// A step, and what is known of what it gives, in every lane.
#[derive(Clone, Debug)]
pub(super) struct Step<'p> {
    pub(super) action: Action<'p>,
    pub(super) ty: TypeId,
    pub(super) class: Class,
    /// True if it gives an object, which has a place, and not a value.
    pub(super) is_object: bool,
    /// The size of a bit-field, in bits.
    pub(super) field: Option<u64>,
    /// Where in the text it stands.
    pub(super) offset: usize,
}

/// What a step does. Operands are steps before it.
#[derive(Clone, Debug)]
pub(super) enum Action<'p> {
    /// Goes on at `until` if the condition is `skip_if`, or has no value; always, if there is no condition.
    Guard {
        condition: Option<StepId>,
        skip_if: bool,
        until: StepId,
    },
    /// A string.
    Bytes(Rc<Bits>),
    Variable(Rc<VariableValue<'p>>),
    /// Registers, or a lane's part of each, one after the other.
    Registers(Rc<[AnyRegister]>),
    Dereference(StepId),
    Member {
        base: StepId,
        path: MemberPath,
    },
    /// An element of an array or vector; the first, if no index is given.
    Element {
        base: StepId,
        index: Option<StepId>,
        /// True if it has to be there: not if only its address is asked for.
        is_read: bool,
    },
    Repeat {
        first: StepId,
        count: StepId,
    },
    /// One of two, as it is, or as a number of a type.
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

/// What gives a number or an address.
#[derive(Clone, Copy, Debug)]
pub(super) enum Calculation {
    Constant(Number),
    /// A register, or a lane's part of it; divided by a power of two.
    Register {
        register: Register,
        shift: u32,
    },
    /// A register that DWARF has no number for.
    Unnumbered(UnnumberedRegister),
    /// EXEC, of which frames know more than the register says.
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
    /// `-` or `~`, in a type.
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
    /// Addresses, in the address space of `space`.
    ComparePointers {
        operator: Binary,
        left: StepId,
        right: StepId,
        space: AddressSpace,
    },
    /// A pointer moved by an index times so many bytes, forwards or backwards.
    MovePointer {
        pointer: StepId,
        index: StepId,
        bytes: u64,
        backwards: bool,
    },
    /// The distance of two pointers, in elements of this size.
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
