//! Checks conversions between pointers to a class and to its base class, which move the address to the other object.
//!
//! Source: C++20 [conv.ptr], [expr.static.cast], [class.member.lookup].

use super::check::{Checked, Checker};
use super::class::{INT, PointerType};
use super::member::{Base, Bases, find_bases};
use super::step::{Action, Calculation, StepId};

impl Checker<'_, '_, '_, '_> {
    /// Returns a pointer to the base class `to` of a pointer's target, or to the class `to` that has the target as a base class. Any other pointer
    /// is returned unchanged.
    pub(super) fn related_pointer(
        &mut self,
        pointer: StepId,
        from: PointerType,
        to: PointerType,
    ) -> Checked<StepId> {
        if let Some(base) = self.base(from, to)? {
            return self.base_pointer(pointer, from, base);
        }
        match self.base(to, from)? {
            Some(base) => self.derived_pointer(pointer, to, &base),
            None => Ok(pointer),
        }
    }

    /// Returns the two pointers of a comparison. If one class is a base of the other, both are pointers to the base class.
    pub(super) fn pointers_to_common_class(
        &mut self,
        (left, one): (StepId, PointerType),
        (right, other): (StepId, PointerType),
    ) -> Checked<(StepId, StepId)> {
        if let Some(base) = self.base(one, other)? {
            return Ok((self.base_pointer(left, one, base)?, right));
        }
        match self.base(other, one)? {
            Some(base) => Ok((left, self.base_pointer(right, other, base)?)),
            None => Ok((left, right)),
        }
    }

    /// Returns the path from the target of `derived` to its base class, which is the target of `base`. Returns `None` if it is not a base class.
    fn base(&self, derived: PointerType, base: PointerType) -> Checked<Option<Base>> {
        let (derived, base) = (derived.target, base.target);
        let meter = self.scope.tree.frame.stop().meter();
        let found = find_bases(&self.types.table, derived, base, meter);
        let what = match found.map_err(self.fault())? {
            Bases::None => return Ok(None),
            Bases::One(base) => return Ok(Some(base)),
            Bases::Several => "several base classes",
            Bases::Unknown => "too many base classes to search them for",
        };
        let (base, derived) = (self.types.name(base), self.types.name(derived));
        Err(self.type_error(format!("`{derived}` has {what} `{base}`")))
    }

    fn base_pointer(&mut self, pointer: StepId, from: PointerType, base: Base) -> Checked<StepId> {
        let object = self.dereference(pointer, from)?;
        let path = base.path;
        let action = Action::Member { base: object, path };
        let object = self.object(action, base.ty, None);
        let ty = self.types.pointer(base.ty, from.space);
        let moved = self.value(Calculation::AddressOf(object), ty);
        Ok(self.unless_null(pointer, moved))
    }

    fn derived_pointer(
        &mut self,
        pointer: StepId,
        to: PointerType,
        base: &Base,
    ) -> Checked<StepId> {
        let Some(bytes) = base.offset else {
            let name = self.types.name(base.ty);
            return Err(self.type_error(format!(
                "a pointer to the virtual base class `{name}` does not lead to the derived class"
            )));
        };
        let index = self.constant(1, INT);
        let space = self
            .class(pointer)
            .pointer()
            .map_or(to.space, |own| own.space);
        let ty = self.types.pointer(to.target, space);
        let action = Calculation::MovePointer {
            pointer,
            index,
            bytes,
            backwards: true,
        };
        let moved = self.value(action, ty);
        Ok(self.unless_null(pointer, moved))
    }

    /// Returns the moved pointer, or the null pointer if the original one is null.
    fn unless_null(&mut self, pointer: StepId, moved: StepId) -> StepId {
        let ty = self.ty(moved);
        let null = self.value(Calculation::Cast(pointer), ty);
        let action = Action::Conditional {
            condition: pointer,
            then: moved,
            otherwise: null,
            ty: None,
        };
        self.value(action, ty)
    }
}
