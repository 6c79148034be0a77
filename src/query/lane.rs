//! Executes the steps of an expression in one lane.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::LaneAnswer;
use super::class::{Arithmetic, Class, IntegerType, PointerType, Rank};
use super::derived::Types;
use super::member::{Hop, member_at};
use super::number::Number;
use super::step::{Action, Calculation, Step, StepId};
use crate::arch::{AddressSpace, Lane};
use crate::debug_info::DieId;
use crate::debug_info::types::{TypeId, TypeKind};
use crate::display::{Pointee, TypedBytes, payload_of, present_variant};
use crate::inspect::{Recovered, ValueState, ValueStateKind, VariableValue, is_open_array};
use crate::location::Bits;
use crate::tree::{Known, NoValue, Node, Tree, cut};

/// The result of a step.
#[derive(Clone, Debug)]
pub(super) enum Held<'p> {
    Number(Number),
    Object(Node<'p>),
    /// A pointer that was optimised away, with a displacement in bytes.
    Moved {
        pointer: Node<'p>,
        bytes: i128,
    },
}

/// The result of a step, or the reason why there is none.
pub(super) type Given<T> = Result<T, NoValue>;

/// The execution of the steps in a lane.
pub(super) struct Walk<'w, 's, 'p, 'a> {
    pub(super) steps: &'w [Step<'p>],
    pub(super) types: &'w mut Types,
    pub(super) tree: &'w Tree<'s, 'p, 'a>,
    pub(super) lane: Lane,
    /// The result of each step. `None` for a skipped step.
    slots: Vec<Option<Given<Held<'p>>>>,
    /// The bits of variables. Each variable is read once, regardless of the number of its uses.
    variables: BTreeMap<DieId, Rc<Bits>>,
    /// The sources of variables' values that the debugging information does not locate.
    recovered: Option<Recovered>,
}

/// Executes all steps in a lane, and returns the result of the last one.
///
/// # Errors
/// The reason why there is no value. A limit in [`NoValue::Error`] concerns all lanes.
pub(super) fn walk<'p>(
    steps: &[Step<'p>],
    types: &mut Types,
    tree: &Tree<'_, 'p, '_>,
    lane: Lane,
) -> Given<LaneAnswer> {
    let mut walk = Walk {
        steps,
        types,
        tree,
        lane,
        slots: vec![None; steps.len()],
        variables: BTreeMap::new(),
        recovered: None,
    };
    let mut at = 0usize;
    while let Some(step) = steps.get(at) {
        if let Action::Guard {
            condition,
            skip_if,
            until,
        } = step.action
            && !walk.goes_on(condition, skip_if)
        {
            at = until.max(at + 1);
            continue;
        }
        let given = walk.step(step);
        if let Some(slot) = walk.slots.get_mut(at) {
            *slot = Some(given);
        }
        at += 1;
    }
    walk.answer()
}

impl<'p> Walk<'_, '_, 'p, '_> {
    /// Returns true if the steps after a guard are executed.
    fn goes_on(&self, condition: StepId, skip_if: bool) -> bool {
        matches!(self.is_true(condition), Ok(truth) if truth != skip_if)
    }

    /// Returns the result of the last step.
    fn answer(&mut self) -> Given<LaneAnswer> {
        let last = self.steps.len().saturating_sub(1);
        let object = match self.held(last)? {
            Held::Object(object) => object,
            Held::Number(_) | Held::Moved { .. } => {
                let (step, number) = (self.at(last)?, self.number(last)?);
                let (ty, bits) = (step.ty, encode(number, step.class));
                return Ok(self.answer_of(ty, bits, Vec::new()));
            }
        };
        let size = match object.field.or_else(|| self.types.bits(object.ty)) {
            Some(size) => size,
            // Only the start of the object is known.
            None if is_open_array(&mut self.types.table, object.ty) => 0,
            None => return Err(NoValue::UnknownLayout),
        };
        let bits = self.tree.read(&object, size)?;
        let pointees = self.tree.pointees(&object, &self.types.table);
        Ok(LaneAnswer {
            bit_field: object.field,
            ..self.answer_of(object.ty, bits, pointees)
        })
    }

    fn answer_of(&mut self, ty: TypeId, bits: Bits, pointees: Vec<Pointee>) -> LaneAnswer {
        let mut known = Known::of(&bits, &pointees, &mut self.types.table, ty);
        let recovered = self.recovered.filter(|_| known.state == ValueStateKind::Ok);
        if let Some(recovered) = &recovered {
            known.state = recovered.state();
        }
        LaneAnswer {
            lane: self.lane,
            ty,
            known,
            value: Ok(bits),
            bit_field: None,
            pointees,
            recovered,
        }
    }

    pub(super) fn at(&self, step: StepId) -> Given<&Step<'p>> {
        self.steps.get(step).ok_or(NoValue::UnknownLayout)
    }

    fn held(&self, step: StepId) -> Given<Held<'p>> {
        match self.slots.get(step) {
            Some(Some(given)) => given.clone(),
            // The step was skipped, so the result is never used.
            Some(None) | None => Err(NoValue::UnknownLayout),
        }
    }

    /// Returns the object that is the result of a step.
    pub(super) fn given_object(&self, step: StepId) -> Given<Node<'p>> {
        match self.held(step)? {
            Held::Object(object) => Ok(object),
            Held::Number(_) | Held::Moved { .. } => Err(NoValue::NoAddress(
                "it is a value without a place".to_owned(),
            )),
        }
    }

    /// Returns the number or address that is the result of a step. For an object, reads its value.
    pub(super) fn number(&self, id: StepId) -> Given<Number> {
        let step = self.at(id)?;
        let object = match self.held(id)? {
            Held::Number(number) => return Ok(number),
            Held::Moved { .. } => return Err(NoValue::OptimizedOut),
            Held::Object(object) => object,
        };
        let ty = representation(step.class).ok_or(NoValue::UnknownLayout)?;
        let size = step.field.or(object.field);
        let size = size.unwrap_or_else(|| width(ty).into());
        let bits = self.tree.read(&object, size)?;
        if !bits.undefined.is_empty() {
            return Err(NoValue::OptimizedOut);
        }
        if !bits.unavailable.is_empty() {
            return Err(NoValue::Unavailable);
        }
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(&bits.bytes) {
            *to = *from;
        }
        let ty = match ty {
            // A bit-field is truncated or sign-extended at its own width.
            Arithmetic::Integer(integer) => Arithmetic::Integer(IntegerType {
                bits: u32::try_from(size)
                    .unwrap_or(integer.bits)
                    .clamp(1, integer.bits),
                ..integer
            }),
            float @ Arithmetic::Float(_) => float,
        };
        Ok(Number::decode(u128::from_le_bytes(bytes), ty))
    }

    pub(super) fn integer(&self, step: StepId) -> Given<i128> {
        match self.number(step)? {
            Number::Integer(value) => Ok(value),
            Number::Float(_) => Err(NoValue::UnknownLayout),
        }
    }

    /// Returns the result of a step as a number of another type.
    pub(super) fn converted(&self, step: StepId, to: Arithmetic) -> Given<Number> {
        let from = representation(self.at(step)?.class);
        let is_wide = from.is_some_and(is_unsigned_128);
        Ok(self.number(step)?.convert(to, is_wide))
    }

    /// Returns the address that is the result of a step, and its pointer type.
    pub(super) fn address(&self, step: StepId) -> Given<(u64, PointerType)> {
        let pointer = self.at(step)?.class.target();
        let pointer = pointer.ok_or(NoValue::UnknownLayout)?;
        Ok((cut(self.integer(step)?, AddressSpace::None), pointer))
    }

    /// Returns the truth value of a step's result. A pointer is true if it is not null.
    pub(super) fn is_true(&self, step: StepId) -> Given<bool> {
        if let Class::Pointer(pointer) = self.at(step)?.class {
            let (address, _) = self.address(step)?;
            return Ok(address != null(pointer));
        }
        Ok(self.number(step)?.is_true())
    }

    /// Executes a step.
    fn step(&mut self, step: &Step<'p>) -> Given<Held<'p>> {
        match step.action {
            // A guard only marks the place at which execution continues.
            Action::Guard { .. } => Err(NoValue::UnknownLayout),
            Action::Bytes(ref bits) => {
                let object = Node::of_bits(self.lane, step.ty, Rc::clone(bits), None);
                Ok(Held::Object(object))
            }
            Action::Variable(ref value) => self.variable(value),
            Action::Registers(ref registers) => self.registers(registers, step.ty),
            Action::Dereference(pointer) => self.dereference(pointer),
            Action::Member { base, ref path } => self.member(base, path),
            Action::Element {
                base,
                index,
                is_read,
            } => self.element(base, index, is_read),
            Action::Repeat { first, count } => self.repeat(first, count),
            Action::Conditional {
                condition,
                then,
                otherwise,
                ty,
            } => {
                let chosen = if self.is_true(condition)? {
                    then
                } else {
                    otherwise
                };
                match ty {
                    Some(ty) => self.converted(chosen, ty).map(Held::Number),
                    None => self.held(chosen),
                }
            }
            Action::Calculate(calculation) => match self.move_implicit(calculation) {
                Some(moved) => moved,
                None => self.calculate(calculation, step).map(Held::Number),
            },
        }
    }

    /// Returns the error for a variable without a value.
    fn without_value(&self, value: &VariableValue<'p>, state: ValueState) -> NoValue {
        let name = value.variable.name.as_deref().unwrap_or_default();
        let why = (state == ValueState::OptimizedOut).then(|| self.tree.frame.no_location(value));
        NoValue::Variable {
            name: name.to_owned(),
            state,
            why,
        }
    }

    fn variable(&mut self, value: &Rc<VariableValue<'p>>) -> Given<Held<'p>> {
        let lane = self.lane;
        let state = value.state(lane);
        // A variable that is completely optimised away may also have a place, but no part of it has a value.
        if !state.kind().is_readable() && state != ValueState::Unavailable(None) {
            return Err(self.without_value(value, state));
        }
        if let Some(recovered) = value.recovered() {
            let earlier = self.recovered.take();
            self.recovered = Some(earlier.map_or(*recovered, |one| one.and(*recovered)));
        }
        let known = self.variables.get(&value.variable.die).cloned();
        let bits = match known {
            Some(bits) => bits,
            None => {
                let read = value.bits(lane)?.map(Rc::new);
                let bits = read.ok_or_else(|| self.without_value(value, state))?;
                let die = value.variable.die;
                self.variables.insert(die, Rc::clone(&bits));
                bits
            }
        };
        let object = Node::of_bits(lane, value.type_in(lane), bits, value.location(lane));
        Ok(Held::Object(object))
    }

    fn dereference(&mut self, step: StepId) -> Given<Held<'p>> {
        if let Some(target) = self.implicit_target(step) {
            return target.map(Held::Object);
        }
        let (address, pointer) = self.address(step)?;
        let is_null = address == null(pointer);
        let table = &mut self.types.table;
        let object = self.tree.pointee(
            self.lane,
            pointer.target,
            pointer.space,
            address,
            is_null,
            table,
        )?;
        Ok(Held::Object(object))
    }

    /// Returns the target of a pointer without bits. Returns None if the pointer has bits.
    fn implicit_target(&mut self, step: StepId) -> Option<Given<Node<'p>>> {
        let target = self.at(step).ok()?.class.target()?.target;
        let (pointer, bytes) = match self.held(step).ok()? {
            Held::Object(pointer) => (pointer, 0),
            Held::Moved { pointer, bytes } => (pointer, bytes),
            Held::Number(_) => return None,
        };
        let table = &mut self.types.table;
        let found = self.tree.implicit_target(&pointer, target, table)?;
        let moved = |found: Node<'p>| found.part(found.ty, bytes.saturating_mul(8));
        Some(found.map(moved))
    }

    /// Moves a pointer without bits. Returns None if the pointer has bits, or for any other calculation.
    fn move_implicit(&self, calculation: Calculation) -> Option<Given<Held<'p>>> {
        let Calculation::MovePointer {
            pointer,
            index,
            bytes,
            backwards,
        } = calculation
        else {
            return None;
        };
        let (pointer, before) = match self.held(pointer).ok()? {
            Held::Object(pointer) if self.tree.is_implicit(&pointer) => (pointer, 0),
            Held::Moved { pointer, bytes } => (pointer, bytes),
            Held::Object(_) | Held::Number(_) => return None,
        };
        let moved = |index: i128| {
            let distance = index.saturating_mul(bytes.into());
            let bytes = match backwards {
                true => before.saturating_sub(distance),
                false => before.saturating_add(distance),
            };
            Held::Moved { pointer, bytes }
        };
        Some(self.integer(index).map(moved))
    }

    /// Returns a member, if the lane has it.
    fn member(&mut self, base: StepId, path: &[Hop]) -> Given<Held<'p>> {
        let mut object = self.given_object(base)?;
        // The variant of the object that contains the next member.
        let mut variant = None;
        for hop in path {
            match *hop {
                Hop::Variant { part, number } => {
                    self.check_variant(&object, part, number)?;
                    variant = Some((part, number));
                }
                Hop::Member(index) => {
                    let table = &mut self.types.table;
                    let member = member_at(table, object.ty, variant.take(), index);
                    let member = member.ok_or(NoValue::UnknownLayout)?.clone();
                    object = self.tree.member(&object, &member, table)?;
                }
            }
        }
        Ok(Held::Object(object))
    }

    /// Checks that an object currently contains a variant.
    fn check_variant(&self, object: &Node<'p>, part: TypeId, number: usize) -> Given<()> {
        let table = &self.types.table;
        let size = self.types.bits(object.ty).ok_or(NoValue::UnknownLayout)?;
        let bits = self.tree.read(object, size)?;
        let value = TypedBytes::of(&bits);
        let meter = self.tree.frame.stop().meter();
        let present = present_variant(table, part, &value, meter).map_err(NoValue::NoVariant)?;
        if present == number {
            return Ok(());
        }
        let mut name = None;
        if let TypeKind::Variants { variants, .. } = &table.get(part).kind
            && let Some((found, _)) = variants.get(present).and_then(|one| payload_of(table, one))
        {
            name = Some(found.to_owned());
        }
        Err(NoValue::OtherVariant { present: name })
    }

    fn element(&mut self, base: StepId, index: Option<StepId>, is_read: bool) -> Given<Held<'p>> {
        let object = self.given_object(base)?;
        let elements = self
            .types
            .elements(object.ty)
            .ok_or(NoValue::UnknownLayout)?;
        let stride = elements.stride.ok_or(NoValue::UnknownLayout)?;
        let offset = match index {
            Some(index) if is_read => elements.offset(self.integer(index)?)?,
            Some(index) => elements.distance(self.integer(index)?, stride),
            None => 0,
        };
        let table = &mut self.types.table;
        let ty = elements.ty;
        let element = self.tree.element(&object, ty, stride, offset, table)?;
        Ok(Held::Object(element))
    }

    /// Evaluates gdb's `first@count`.
    fn repeat(&mut self, first: StepId, count: StepId) -> Given<Held<'p>> {
        let mut object = self.given_object(first)?;
        let count = self.integer(count)?;
        let Some(elements) = u64::try_from(count).ok().filter(|count| *count > 0) else {
            return Err(NoValue::ElementCount(count));
        };
        let bits = self.types.bits(object.ty).ok_or(NoValue::UnknownLayout)?;
        let bytes = u128::from(bits.div_ceil(8)) * u128::from(elements);
        self.tree.check_size(bytes)?;
        // Adjacent objects exist only in memory.
        object.address()?;
        let ty = self.types.array(object.ty, Some(elements));
        object.ty = ty;
        Ok(Held::Object(object))
    }

    /// Returns the address that is the result of a step, converted to another address space.
    pub(super) fn address_in(&self, step: StepId, space: AddressSpace) -> Given<u64> {
        let (address, pointer) = self.address(step)?;
        self.tree.convert(address, pointer.space, space)
    }
}

/// Returns the null pointer of a type.
fn null(pointer: PointerType) -> u64 {
    pointer.space.null() & u64::MAX.checked_shr(64 - pointer.bits).unwrap_or(0)
}

/// Returns an address truncated to the size of a pointer.
pub(super) fn cut_pointer(address: i128, pointer: PointerType) -> i128 {
    IntegerType {
        rank: Rank::Long,
        bits: pointer.bits,
        signed: false,
    }
    .wrap(address)
}

pub(super) fn is_unsigned_128(ty: Arithmetic) -> bool {
    matches!(
        ty,
        Arithmetic::Integer(IntegerType {
            bits: 128,
            signed: false,
            ..
        })
    )
}

/// Returns the arithmetic type by which the bits of a scalar are read. A pointer is read as an unsigned integer.
pub(super) fn representation(class: Class) -> Option<Arithmetic> {
    match class {
        Class::Integer(integer) | Class::Enumeration(integer) => Some(Arithmetic::Integer(integer)),
        Class::Float(float) => Some(Arithmetic::Float(float)),
        Class::Pointer(pointer) | Class::Reference(pointer) => {
            Some(Arithmetic::Integer(IntegerType {
                rank: Rank::Long,
                bits: pointer.bits,
                signed: false,
            }))
        }
        Class::Array
        | Class::Vector { .. }
        | Class::Record
        | Class::Function
        | Class::Void
        | Class::Other => None,
    }
}

fn width(ty: Arithmetic) -> u32 {
    match ty {
        Arithmetic::Integer(integer) => integer.bits,
        Arithmetic::Float(float) => float.bits(),
    }
}

/// Returns the bytes of a number in a type.
fn encode(number: Number, class: Class) -> Bits {
    let ty = representation(class).unwrap_or(super::check::ADDRESS);
    let bits = width(ty);
    let value = number.encode(ty) & u128::MAX.checked_shr(128 - bits).unwrap_or(0);
    let length = usize::try_from(bits.div_ceil(8)).unwrap_or(16);
    let mut bytes = value.to_le_bytes().to_vec();
    bytes.truncate(length);
    Bits {
        bytes,
        bit_size: bits.into(),
        ..Bits::default()
    }
}

/// Returns true if a reason holds for all lanes, so that the other lanes are not evaluated.
pub(super) fn is_limit(reason: &NoValue) -> bool {
    matches!(reason, NoValue::Error(error) if error.is_limit())
}
