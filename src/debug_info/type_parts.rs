//! Finds properties that a type has from its parts: unsupported parts, or run-time layouts.

use std::collections::BTreeSet;

use super::id::{DieId, UnitId};
use super::types::{HOPS, TypeId, TypeKind, TypeTable};

/// The maximum number of a type's parts that are visited.
const PARTS: usize = 4096;

impl TypeTable {
    /// Returns the name of the unsupported attribute or tag that makes all values of a type unsupported. This is the case if the type is
    /// [`TypeKind::Unsupported`] or has only a name, or is an alias or array of such a type.
    #[must_use]
    pub fn unsupported(&self, id: TypeId) -> Option<&str> {
        let mut next = id;
        // Types of a damaged file may form a cycle.
        for _ in 0..HOPS {
            next = match &self.get(next).kind {
                TypeKind::Unsupported(name) => return Some(name),
                TypeKind::Typedef(target) | TypeKind::Qualified(_, target) => *target,
                TypeKind::Array { element, .. } => *element,
                TypeKind::Enumeration { underlying, .. } => *underlying,
                TypeKind::Unspecified => {
                    let ty = self.get(next);
                    let is_opaque = ty.name.is_some() && ty.byte_size.is_none();
                    return is_opaque.then_some("DW_TAG_unspecified_type");
                }
                TypeKind::Void
                | TypeKind::Base(_)
                | TypeKind::Represented { .. }
                | TypeKind::Pointer { .. }
                | TypeKind::Record { .. }
                | TypeKind::Variants { .. }
                | TypeKind::Function { .. }
                | TypeKind::MemberPointer { .. } => return None,
            };
        }
        None
    }

    /// Returns the name of an unsupported attribute or tag in a part of the type: a member, at any depth. The target of a pointer is no part. If a
    /// type has too many parts, the rest is not visited; each part still shows its own error.
    #[must_use]
    pub fn unsupported_part(&self, id: TypeId) -> Option<&str> {
        if !self.has_unsupported {
            return None;
        }
        let mut found = None;
        self.visit_parts(id, &mut |table, part| {
            if let TypeKind::Unsupported(name) = &table.get(part).kind {
                found = Some(&**name);
            }
            found.is_none()
        });
        found
    }

    /// Visits a type, its alias targets, and its parts, each once and at most [`PARTS`], while `visit` returns true. The target of a pointer is no
    /// part. Returns the types found.
    fn visit_parts<'t>(
        &'t self,
        id: TypeId,
        visit: &mut dyn FnMut(&'t TypeTable, TypeId) -> bool,
    ) -> BTreeSet<TypeId> {
        let (mut waiting, mut seen) = (vec![id], BTreeSet::from([id]));
        while let Some(id) = waiting.pop() {
            if seen.len() > PARTS || !visit(self, id) {
                break;
            }
            let mut add = |part: TypeId| {
                if seen.insert(part) {
                    waiting.push(part);
                }
            };
            match &self.get(id).kind {
                TypeKind::Typedef(target) | TypeKind::Qualified(_, target) => add(*target),
                TypeKind::Array { element, .. } => add(*element),
                TypeKind::Enumeration { underlying, .. } => add(*underlying),
                TypeKind::Record { members, .. } => members.iter().for_each(|part| add(part.ty)),
                TypeKind::Variants {
                    discriminant,
                    variants,
                } => {
                    discriminant.iter().for_each(|part| add(part.ty));
                    let parts = variants.iter().flat_map(|variant| &variant.members);
                    parts.for_each(|part| add(part.ty));
                }
                TypeKind::Void
                | TypeKind::Base(_)
                | TypeKind::Represented { .. }
                | TypeKind::Pointer { .. }
                | TypeKind::Function { .. }
                | TypeKind::MemberPointer { .. }
                | TypeKind::Unspecified
                | TypeKind::Unsupported(_) => {}
            }
        }
        seen
    }

    /// Records that the layout of a type is determined at run time, because bounds or member offsets depend on expressions or variables.
    pub(super) fn set_computed(&mut self, id: TypeId, entry: DieId) {
        self.computed.insert(id, entry);
    }

    /// Returns the entry of a type whose own layout is determined at run time.
    pub(crate) fn computed_entry(&self, id: TypeId) -> Option<DieId> {
        self.computed.get(&id).copied()
    }

    /// Returns the unit with the entry of a type with a run-time layout, if this is the type itself, its alias target, or one of its parts. The
    /// target of a pointer is no part. If a type has too many parts, the rest is not visited.
    pub(crate) fn unit_of_computed(&mut self, id: TypeId) -> Option<UnitId> {
        // Hardly any program has such types.
        if self.computed.is_empty() {
            return None;
        }
        if let Some(known) = self.with_computed.get(&id) {
            return *known;
        }
        let mut found = None;
        let seen = self.visit_parts(id, &mut |table, part| {
            let known = table.with_computed.get(&part).copied().flatten();
            let own = table.computed_entry(part).map(|entry| entry.unit);
            found = own.or(known);
            found.is_none()
        });
        // If a type has no such part, neither has any of its parts.
        if found.is_none() && seen.len() <= PARTS {
            let parts = seen.into_iter().map(|part| (part, None));
            self.with_computed.extend(parts);
        } else {
            self.with_computed.insert(id, found);
        }
        found
    }
}
