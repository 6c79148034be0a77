//! Checks parts of objects: members, elements, targets of pointers, and their address spaces.
//!
//! Sources: C17 §6.5.2.1 to §6.5.2.3, §6.5.3.2; OpenCL C §6.3 for the components of vectors.

use super::check::{ADDRESS, Checked, Checker};
use super::class::{Class, INT, PointerType};
use super::error::{QueryError, QueryErrorKind, ambiguous};
use super::member::{FoundMember, find_member};
use super::names::MOST_NAMES;
use super::step::{Action, Calculation, StepId};
use crate::arch::AddressSpace;
use crate::debug_info::types::TypeId;
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
        match self.find_member(ty, name, &mut nearest)? {
            FoundMember::Member(path, member) => {
                let (ty, field) = (member.ty, member.bit_size);
                Ok(self.object(Action::Member { base, path }, ty, field))
            }
            FoundMember::Constant(entry) => self.constant_member(entry),
            FoundMember::Several(records) => Err(self.ambiguous_member(name, &records)),
            FoundMember::Unknown => Err(self.too_many_classes(name, ty)),
            FoundMember::None => {
                let (name, ty) = (name.to_owned(), self.type_text(base));
                let nearest = nearest.names();
                Err(self.error(QueryErrorKind::UnknownMember { name, ty, nearest }))
            }
        }
    }

    /// Returns the member of a record with this name. `nearest` receives the names of all members that were compared.
    pub(super) fn find_member(
        &self,
        record: TypeId,
        name: &str,
        nearest: &mut Nearest,
    ) -> Checked<FoundMember<'_>> {
        let meter = self.scope.tree.frame.stop().meter();
        find_member(&self.types.table, record, name, nearest, meter).map_err(self.fault())
    }

    /// Returns the error of a name that members of several records have.
    ///
    /// * `records`: for each, the records on the way to the member.
    pub(super) fn ambiguous_member(&self, name: &str, records: &[Vec<TypeId>]) -> QueryError {
        let label = |records: &Vec<TypeId>| {
            let has_name = |ty: &&TypeId| self.types.table.get(**ty).name.is_some();
            let named = records.iter().filter(has_name);
            let mut path: Vec<String> = named.map(|ty| self.types.name(*ty)).collect();
            path.push(name.to_owned());
            path.join("::")
        };
        let candidates = records.iter().take(MOST_NAMES).map(label).collect();
        self.error(ambiguous(name, candidates))
    }

    pub(super) fn too_many_classes(&self, name: &str, record: TypeId) -> QueryError {
        let record = self.types.name(record);
        let message = format!("`{record}` has too many base classes to search them for `{name}`");
        self.type_error(message)
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
