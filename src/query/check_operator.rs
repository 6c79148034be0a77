//! Checks the operands of operators and determines the types of results. Sources: C17 §6.5.3 to §6.5.15; gdb for `@`.

use super::check::{Checked, Checker};
use super::class::{Arithmetic, Class, INT, IntegerType, PointerType, Rank};
use super::number::Number;
use super::step::{Action, Calculation, Step, StepId};
use super::syntax::{Binary, TypeName, Unary};
use crate::arch::AddressSpace;
use crate::debug_info::types::TypeId;

/// The type `ptrdiff_t`.
const DIFFERENCE: IntegerType = IntegerType {
    rank: Rank::Long,
    bits: 64,
    signed: true,
};

impl Checker<'_, '_, '_, '_> {
    fn arithmetic(&self, step: StepId) -> Option<Arithmetic> {
        Arithmetic::promoted(self.class(step), self.field(step))
    }

    fn pointer(&self, step: StepId) -> Option<PointerType> {
        self.class(step).pointer()
    }

    /// Returns true if a step is the literal 0 or `false`, which is the null pointer of every address space.
    fn is_null(&self, step: StepId) -> bool {
        let zero = matches!(
            self.steps.get(step),
            Some(Step {
                action: Action::Calculate(Calculation::Constant(Number::Integer(0))),
                ..
            })
        );
        zero && matches!(self.class(step), Class::Integer(_))
    }

    /// Returns the address of an array's first element, or of a function. Any other step is returned unchanged.
    pub(super) fn decay(&mut self, step: StepId) -> StepId {
        let ty = self.ty(step);
        if self.class(step) == Class::Array && !self.types.is_gnu_vector(ty) {
            let space = self.space_of(step);
            if let Some(elements) = self.types.elements(ty) {
                let pointer = self.types.pointer(elements.ty, space);
                return self.value(Calculation::AddressOf(step), pointer);
            }
        }
        self.decay_function(step)
    }

    pub(super) fn decay_function(&mut self, step: StepId) -> StepId {
        if self.class(step) != Class::Function {
            return step;
        }
        let ty = self.types.pointer(self.ty(step), AddressSpace::None);
        self.value(
            Calculation::Promote {
                operand: step,
                ty: super::check::ADDRESS,
            },
            ty,
        )
    }

    pub(super) fn unary(&mut self, operator: Unary, operand: StepId) -> Checked<StepId> {
        match operator {
            Unary::AddressOf => return self.address_of(operand),
            Unary::Dereference => return self.indirect(operand),
            Unary::Not => {
                let operand = self.condition(operand)?;
                let ty = self.types.integer(INT);
                return Ok(self.value(Calculation::Not(operand), ty));
            }
            Unary::Plus | Unary::Minus | Unary::Complement => {}
        }
        let is_complement = operator == Unary::Complement;
        let arithmetic = self.arithmetic(operand);
        let arithmetic =
            arithmetic.filter(|ty| !is_complement || matches!(ty, Arithmetic::Integer(_)));
        let Some(ty) = arithmetic else {
            let (sign, text) = (operator.sign(), self.type_text(operand));
            return Err(self.type_error(format!("`{sign}` on `{text}`")));
        };
        let id = self.types.arithmetic(ty, Some(self.ty(operand)));
        let action = if operator == Unary::Plus {
            Calculation::Promote { operand, ty }
        } else {
            Calculation::Negate {
                operand,
                is_complement,
                ty,
            }
        };
        Ok(self.value(action, id))
    }

    fn address_of(&mut self, operand: StepId) -> Checked<StepId> {
        if self.class(operand) == Class::Function {
            return Ok(self.decay_function(operand));
        }
        if self.field(operand).is_some() {
            return Err(self.type_error("a bit-field has no address"));
        }
        if !self.is_object(operand) {
            return Err(self.type_error("a computed value has no address"));
        }
        if let Some(step) = self.steps.get_mut(operand)
            && let Action::Element { is_read, .. } = &mut step.action
        {
            *is_read = false;
        }
        let space = self.space_of(operand);
        let ty = self.types.pointer(self.ty(operand), space);
        Ok(self.value(Calculation::AddressOf(operand), ty))
    }

    /// Checks `*x`.
    fn indirect(&mut self, operand: StepId) -> Checked<StepId> {
        let class = self.class(operand);
        if let Class::Pointer(pointer) = class {
            self.dereference(operand, pointer)
        } else if class == Class::Array {
            self.element(operand, None)
        } else if class == Class::Function {
            Ok(operand)
        } else {
            let text = self.type_text(operand);
            Err(self.type_error(format!("`*` on `{text}`, which is not a pointer")))
        }
    }

    /// Checks that a step has a truth value.
    pub(super) fn condition(&mut self, step: StepId) -> Checked<StepId> {
        let step = self.decay(step);
        if self.arithmetic(step).is_none() && self.pointer(step).is_none() {
            let text = self.type_text(step);
            return Err(self.type_error(format!("`{text}` cannot be used as a condition")));
        }
        Ok(step)
    }

    pub(super) fn logical(&mut self, is_and: bool, left: StepId, right: StepId) -> Checked<StepId> {
        let left = self.condition(left)?;
        let right = self.condition(right)?;
        let ty = self.types.integer(INT);
        Ok(self.value(
            Calculation::Logical {
                is_and,
                left,
                right,
            },
            ty,
        ))
    }

    pub(super) fn binary(
        &mut self,
        operator: Binary,
        left: StepId,
        right: StepId,
    ) -> Checked<StepId> {
        if operator == Binary::Repeat {
            return self.repeat(left, right);
        }
        let (left, right) = (self.decay(left), self.decay(right));
        let both = self.arithmetic(left).zip(self.arithmetic(right));
        let step = match operator {
            Binary::Add | Binary::Subtract => {
                if let Some(step) = self.pointer_arithmetic(operator, left, right)? {
                    return Ok(step);
                }
                both.map(|(a, b)| self.calculate(operator, left, right, a.common(b)))
            }
            Binary::Multiply | Binary::Divide => {
                both.map(|(a, b)| self.calculate(operator, left, right, a.common(b)))
            }
            Binary::Remainder | Binary::And | Binary::Xor | Binary::Or => {
                let common = both.map(|(a, b)| a.common(b));
                let common = common.filter(|ty| matches!(ty, Arithmetic::Integer(_)));
                common.map(|ty| self.calculate(operator, left, right, ty))
            }
            Binary::ShiftLeft | Binary::ShiftRight => match both {
                Some((Arithmetic::Integer(ty), Arithmetic::Integer(_))) => {
                    let id = self.types.integer(ty);
                    Some(self.value(
                        Calculation::Shift {
                            operator,
                            left,
                            right,
                            ty,
                        },
                        id,
                    ))
                }
                _ => None,
            },
            Binary::Less
            | Binary::Greater
            | Binary::LessOrEqual
            | Binary::GreaterOrEqual
            | Binary::Equal
            | Binary::NotEqual => self.comparison(operator, left, right)?,
            Binary::Repeat => None,
        };
        step.ok_or_else(|| self.mismatch(operator, left, right))
    }

    /// Returns the error of operands with types that do not fit together.
    fn mismatch(&self, operator: Binary, left: StepId, right: StepId) -> super::error::QueryError {
        let spaces = self.pointer(left).zip(self.pointer(right));
        let spaces = spaces.filter(|(one, other)| one.space != other.space);
        let spaces = spaces.map(|(one, other)| {
            format!(" of the address spaces {} and {}", one.space, other.space)
        });
        let (sign, left, right) = (operator.sign(), self.type_text(left), self.type_text(right));
        let spaces = spaces.unwrap_or_default();
        self.type_error(format!("`{sign}` between `{left}` and `{right}`{spaces}"))
    }

    fn calculate(
        &mut self,
        operator: Binary,
        left: StepId,
        right: StepId,
        ty: Arithmetic,
    ) -> StepId {
        let of = |step| Some(self.ty(step)).filter(|_| self.arithmetic(step) == Some(ty));
        let like = of(left).or_else(|| of(right));
        let id = self.types.arithmetic(ty, like);
        self.value(
            Calculation::Arithmetic {
                operator,
                left,
                right,
                ty,
            },
            id,
        )
    }

    /// Checks `+` and `-` with a pointer operand.
    fn pointer_arithmetic(
        &mut self,
        operator: Binary,
        left: StepId,
        right: StepId,
    ) -> Checked<Option<StepId>> {
        let is_sum = operator == Binary::Add;
        let step = match (self.pointer(left), self.pointer(right)) {
            (None, None) => return Ok(None),
            (Some(one), Some(other)) if !is_sum && one.space == other.space => {
                return self.distance(left, right, one, other).map(Some);
            }
            (Some(pointer), None) if self.is_integer(right) => {
                self.move_pointer(left, right, pointer, !is_sum)?
            }
            (None, Some(pointer)) if is_sum && self.is_integer(left) => {
                self.move_pointer(right, left, pointer, false)?
            }
            (_, _) => return Err(self.mismatch(operator, left, right)),
        };
        Ok(Some(step))
    }

    fn is_integer(&self, step: StepId) -> bool {
        matches!(self.arithmetic(step), Some(Arithmetic::Integer(_)))
    }

    fn target_size(&self, pointer: PointerType) -> Checked<u64> {
        let name = || self.types.name(pointer.target);
        let size = self.types.step(pointer.target);
        size.ok_or_else(|| self.type_error(format!("the size of `{}` is unknown", name())))
    }

    fn move_pointer(
        &mut self,
        pointer: StepId,
        index: StepId,
        ty: PointerType,
        backwards: bool,
    ) -> Checked<StepId> {
        let bytes = self.target_size(ty)?;
        let id = self.ty(pointer);
        Ok(self.value(
            Calculation::MovePointer {
                pointer,
                index,
                bytes,
                backwards,
            },
            id,
        ))
    }

    fn distance(
        &mut self,
        left: StepId,
        right: StepId,
        one: PointerType,
        other: PointerType,
    ) -> Checked<StepId> {
        let bytes = self.target_size(one)?;
        if bytes != self.target_size(other)? {
            return Err(self.mismatch(Binary::Subtract, left, right));
        }
        if bytes == 0 {
            return Err(self.type_error("pointers to a type without a size cannot be subtracted"));
        }
        let ty = self.types.integer(DIFFERENCE);
        Ok(self.value(Calculation::Distance { left, right, bytes }, ty))
    }

    fn comparison(
        &mut self,
        operator: Binary,
        left: StepId,
        right: StepId,
    ) -> Checked<Option<StepId>> {
        let int = self.types.integer(INT);
        if let (Some(a), Some(b)) = (self.arithmetic(left), self.arithmetic(right)) {
            let ty = a.common(b);
            return Ok(Some(self.value(
                Calculation::Compare {
                    operator,
                    left,
                    right,
                    ty,
                },
                int,
            )));
        }
        let (left, right, space) = match (self.pointer(left), self.pointer(right)) {
            (Some(one), Some(other)) => {
                let (left, right) = self.pointers_to_common_class((left, one), (right, other))?;
                match one.space == other.space {
                    true => (left, right, one.space),
                    // The pointers are compared as generic addresses.
                    false => (left, right, AddressSpace::Generic),
                }
            }
            (Some(pointer), None) if self.is_integer(right) => {
                (left, self.address_like(right, pointer, left), pointer.space)
            }
            (None, Some(pointer)) if self.is_integer(left) => (
                self.address_like(left, pointer, right),
                right,
                pointer.space,
            ),
            (_, _) => return Ok(None),
        };
        let action = Calculation::ComparePointers {
            operator,
            left,
            right,
            space,
        };
        Ok(Some(self.value(action, int)))
    }

    /// Returns an integer as a pointer with the type of another step. The literal 0 becomes the null pointer.
    fn address_like(&mut self, integer: StepId, pointer: PointerType, like: StepId) -> StepId {
        let ty = self.ty(like);
        if self.is_null(integer) {
            return self.value(
                Calculation::Constant(Number::Integer(pointer.space.null().into())),
                ty,
            );
        }
        self.value(Calculation::Cast(integer), ty)
    }

    pub(super) fn conditional(
        &mut self,
        condition: StepId,
        then: StepId,
        otherwise: StepId,
    ) -> Checked<StepId> {
        let condition = self.condition(condition)?;
        let decays = |checker: &Self, step| checker.class(step) == Class::Array;
        let (mut then, mut otherwise) = (then, otherwise);
        // Steps after both branches can use the result of either one. A skipped branch is never evaluated.
        if decays(self, then) || decays(self, otherwise) {
            (then, otherwise) = (self.decay(then), self.decay(otherwise));
        }
        let both = self.arithmetic(then).zip(self.arithmetic(otherwise));
        let (id, ty) = match (both, self.pointer(then), self.pointer(otherwise)) {
            (Some((a, b)), _, _) => {
                let ty = a.common(b);
                (self.types.arithmetic(ty, Some(self.ty(then))), Some(ty))
            }
            (None, Some(one), Some(other))
                if one.space == other.space && self.types.is_same(one.target, other.target) =>
            {
                (self.ty(then), None)
            }
            (None, Some(pointer), None) if self.is_null(otherwise) => {
                otherwise = self.address_like(otherwise, pointer, then);
                (self.ty(then), None)
            }
            (None, None, Some(pointer)) if self.is_null(then) => {
                then = self.address_like(then, pointer, otherwise);
                (self.ty(otherwise), None)
            }
            (None, None, None) if self.types.is_same(self.ty(then), self.ty(otherwise)) => {
                (self.ty(then), None)
            }
            (None, _, _) => {
                let (one, other) = (self.type_text(then), self.type_text(otherwise));
                return Err(self.type_error(format!("`?:` between `{one}` and `{other}`")));
            }
        };
        Ok(self.value(
            Action::Conditional {
                condition,
                then,
                otherwise,
                ty,
            },
            id,
        ))
    }

    /// Checks `base[index]`, in which either operand may be the pointer.
    pub(super) fn index(&mut self, base: StepId, index: StepId) -> Checked<StepId> {
        let (base, index) = if self.is_integer(base) {
            (index, base)
        } else {
            (base, index)
        };
        if !self.is_integer(index) {
            let text = self.type_text(index);
            return Err(self.type_error(format!("an index of the type `{text}`")));
        }
        let class = self.class(base);
        if let Class::Pointer(pointer) = class {
            let moved = self.move_pointer(base, index, pointer, false)?;
            self.dereference(moved, pointer)
        } else if matches!(class, Class::Array | Class::Vector { .. }) {
            self.element(base, Some(index))
        } else {
            let text = self.type_text(base);
            Err(self.type_error(format!("`[]` on `{text}`, which has no elements")))
        }
    }

    /// Checks gdb's `first@count`.
    fn repeat(&mut self, first: StepId, count: StepId) -> Checked<StepId> {
        if !self.is_object(first) || self.field(first).is_some() {
            return Err(self.type_error("the left operand of `@` must be in memory"));
        }
        if !self.is_integer(count) {
            let text = self.type_text(count);
            return Err(self.type_error(format!(
                "the right operand of `@` must be a number, not `{text}`"
            )));
        }
        let known = match self.steps.get(count).map(|step| &step.action) {
            Some(Action::Calculate(Calculation::Constant(Number::Integer(count)))) => {
                u64::try_from(*count).ok()
            }
            _ => None,
        };
        let ty = self.types.array(self.ty(first), known);
        Ok(self.object(Action::Repeat { first, count }, ty, None))
    }

    pub(super) fn cast(&mut self, name: &TypeName<'_>, operand: StepId) -> Checked<StepId> {
        let space = match self.pointer(operand) {
            Some(pointer) => Some(pointer.space),
            None if self.class(operand) == Class::Array && self.is_object(operand) => {
                Some(self.space_of(operand))
            }
            None => None,
        };
        let to = self.type_named(name, space)?;
        let target = self.types.class(to);
        if self.types.is_same(to, self.ty(operand))
            && matches!(
                target,
                Class::Record | Class::Array | Class::Vector { .. } | Class::Other
            )
        {
            return Ok(operand);
        }
        let operand = self.decay(operand);
        let is_allowed = match (target, self.class(operand)) {
            (
                Class::Integer(_) | Class::Enumeration(_),
                Class::Integer(_) | Class::Enumeration(_) | Class::Float(_) | Class::Pointer(_),
            )
            | (Class::Float(_), Class::Integer(_) | Class::Enumeration(_) | Class::Float(_))
            | (Class::Pointer(_), Class::Integer(_) | Class::Enumeration(_) | Class::Pointer(_)) => {
                true
            }
            (_, _) => false,
        };
        if !is_allowed {
            let (from, to) = (self.type_text(operand), self.types.name(to));
            return Err(self.type_error(format!("a cast from `{from}` to `{to}`")));
        }
        if let Class::Pointer(pointer) = target
            && self.is_null(operand)
        {
            return Ok(self.null_pointer(pointer, to));
        }
        let operand = match (self.pointer(operand), target) {
            (Some(from), Class::Pointer(to)) => self.related_pointer(operand, from, to)?,
            (_, _) => operand,
        };
        Ok(self.value(Calculation::Cast(operand), to))
    }

    fn null_pointer(&mut self, pointer: PointerType, ty: TypeId) -> StepId {
        self.value(
            Calculation::Constant(Number::Integer(pointer.space.null().into())),
            ty,
        )
    }
}
