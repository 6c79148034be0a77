//! What holds of a type because of what it is made of: that it is not understood, or that its layout is found out at run time.

use std::collections::BTreeSet;

use super::id::{DieId, UnitId};
use super::types::{HOPS, TypeId, TypeKind, TypeTable};

/// How many parts of a type are looked at.
const PARTS: usize = 4096;

impl TypeTable {
    /// What of a type is not understood: the name of an attribute or tag, if values of the type are
    /// unsupported as a whole because it is one that [`TypeKind::Unsupported`] names or that has nothing but a
    /// name, another name for one, or an array of one.
    #[must_use]
    pub fn unsupported(&self, id: TypeId) -> Option<&str> {
        let mut next = id;
        // Types of a damaged file may name each other in a circle.
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

    /// Returns the same for a part of the type's values: a member, at any depth. What a pointer points to is no part.
    /// Of a type of very many parts not all are looked at; each says in its place what is not understood.
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

    /// Visits a type, what it is another name for, and its parts, each once and at most [`PARTS`], as long as `visit` returns true. What a
    /// pointer points to is no part. Returns those that are known of.
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

    /// Notes that the layout of a type is found out at run time: bounds of arrays and places of members that expressions and variables
    /// say.
    pub(super) fn set_computed(&mut self, id: TypeId, entry: DieId) {
        self.computed.insert(id, entry);
    }

    /// Returns the entry of a type whose own layout is found out at run time.
    pub(crate) fn computed_entry(&self, id: TypeId) -> Option<DieId> {
        self.computed.get(&id).copied()
    }

    /// Returns the unit of the entry of a type whose layout is found out at run time, if that is this type, what it is another name for,
    /// or one of its parts. What a pointer points to is no part. Of a type of very many parts not all are looked at.
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
        // Of what has no such part no part has one.
        if found.is_none() && seen.len() <= PARTS {
            let parts = seen.into_iter().map(|part| (part, None));
            self.with_computed.extend(parts);
        } else {
            self.with_computed.insert(id, found);
        }
        found
    }
}
