//! Checks parts of objects: members, elements, targets of pointers, and their address spaces.
//!
//! Sources: C17 §6.5.2.1 to §6.5.2.3, §6.5.3.2; OpenCL C §6.3 for the components of vectors.

use super::check::{ADDRESS, Checked, Checker};
use super::class::{Class, INT, PointerType};
use super::error::QueryErrorKind;
use super::member::{find_constant, find_member};
use super::step::{Action, Calculation, StepId};
use crate::arch::AddressSpace;
use crate::location::{Location, Storage};
use crate::nearest::Nearest;

impl Checker<'_, '_, '_, '_> {
    /// Checks the operand before `.` or `->`.
    pub(super) fn base_of_member(&mut self, base: StepId, arrow: bool) -> Checked<StepId> {
        let is_pointer = self.class(base).pointer().is_some();
        if !arrow && is_pointer {
            let text = self.type_text(base);
            return Err(self.type_error(format!("`{text}` is a pointer: use `->`")));
        }
        if !arrow {
            return Ok(base);
        }
        let base = self.decay(base);
        match self.class(base).pointer() {
            Some(pointer) => self.dereference(base, pointer),
            None => {
                let text = self.type_text(base);
                Err(self.type_error(format!("`->` on `{text}`, which is not a pointer")))
            }
        }
    }

    pub(super) fn member(&mut self, base: StepId, name: &str) -> Checked<StepId> {
        let ty = self.ty(base);
        if let Class::Vector { .. } = self.class(base) {
            return self.component(base, name);
        }
        if self.types.is_gnu_vector(ty) {
            return self.component(base, name);
        }
        if self.class(base) != Class::Record {
            let message = format!("`{}` has no members", self.type_text(base));
            return Err(self.type_error(message));
        }
        let mut nearest = Nearest::to(name);
        let found = find_member(&self.types.table, ty, name, &mut nearest);
        let Some((path, member)) = found else {
            if let Some(constant) = find_constant(&self.types.table, ty, name) {
                return self.constant_member(constant);
            }
            let (name, ty) = (name.to_owned(), self.type_text(base));
            let nearest = nearest.names();
            return Err(self.error(QueryErrorKind::UnknownMember { name, ty, nearest }));
        };
        let (ty, field) = (member.ty, member.bit_size);
        Ok(self.object(Action::Member { base, path }, ty, field))
    }

    /// Returns a component of a vector: `x`, `y`, `z`, `w`, or `s` and a hexadecimal digit, as in OpenCL.
    pub(super) fn component(&mut self, base: StepId, name: &str) -> Checked<StepId> {
        let count = self.types.count(self.ty(base)).unwrap_or(0);
        let mut letters = name.chars();
        let index = match (letters.next(), letters.next(), letters.next()) {
            (Some(letter), None, _) => "xyzw".find(letter),
            (Some('s' | 'S'), Some(digit), None) => digit.to_digit(16).map(|digit| digit as usize),
            _ => None,
        };
        let Some(index) = index.filter(|index| (*index as u64) < count) else {
            let (name, ty) = (name.to_owned(), self.type_text(base));
            return Err(self.error(QueryErrorKind::UnknownMember {
                name,
                ty,
                nearest: Vec::new(),
            }));
        };
        let index = self.constant(i128::try_from(index).unwrap_or(0), INT);
        self.element(base, Some(index))
    }

    /// Returns an element of an array or vector.
    pub(super) fn element(&mut self, base: StepId, index: Option<StepId>) -> Checked<StepId> {
        let Some(elements) = self.types.elements(self.ty(base)) else {
            let message = format!("`{}` has no elements", self.type_text(base));
            return Err(self.type_error(message));
        };
        let action = Action::Element {
            base,
            index,
            is_read: true,
        };
        Ok(self.object(action, elements.ty, None))
    }

    pub(super) fn dereference(&mut self, pointer: StepId, ty: PointerType) -> Checked<StepId> {
        let class = self.types.class(ty.target);
        if class == Class::Void {
            let text = self.type_text(pointer);
            return Err(self.type_error(format!("the target of `{text}` has no known type")));
        }
        if class == Class::Function {
            // The value of a function is its start address.
            let (operand, ty_of_address) = (pointer, ADDRESS);
            let action = Calculation::Promote {
                operand,
                ty: ty_of_address,
            };
            return Ok(self.value(action, ty.target));
        }
        Ok(self.object(Action::Dereference(pointer), ty.target, None))
    }

    /// Returns the address space of an object. It is the space of the pointer to it, or of the variable's location in the first lane with a location
    /// in memory.
    pub(super) fn space_of(&self, object: StepId) -> AddressSpace {
        let mut next = object;
        // Operands precede their users, so the loop ends.
        while let Some(step) = self.steps.get(next) {
            #[expect(
                clippy::wildcard_enum_match_arm,
                reason = "all other steps give values, which lie nowhere"
            )]
            match &step.action {
                Action::Member { base, .. } | Action::Element { base, .. } => next = *base,
                Action::Repeat { first, .. } => next = *first,
                Action::Conditional { then, .. } => next = *then,
                Action::Dereference(pointer) => {
                    let target = self.class(*pointer).target();
                    return target.map_or(AddressSpace::None, |target| target.space);
                }
                Action::Variable(value) => {
                    let mut lanes = self.scope.tree.frame.wave_size().all_lanes();
                    let space = lanes.find_map(|lane| memory_of(&value.location(lane)?));
                    return space.unwrap_or(AddressSpace::None);
                }
                _ => return AddressSpace::None,
            }
        }
        AddressSpace::None
    }
}

/// Returns the address space of a location in memory. Returns `None` if it is not in memory, or in several places.
fn memory_of(location: &Location<'_>) -> Option<AddressSpace> {
    if let Storage::Memory { space, .. } = location.single()?.storage {
        Some(space)
    } else {
        None
    }
}
