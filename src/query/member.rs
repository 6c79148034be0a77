//! Members by their names: those of the record itself, then those of anonymous members and of base classes.
//!
//! Sources: C17 §6.7.2.1 (anonymous structures), C++20 [class.member.lookup] without its ambiguities: the nearest
//! member wins.

use std::collections::BTreeSet;

use crate::debug_info::DieId;
use crate::debug_info::types::{Member, TypeId, TypeKind, TypeTable};
use crate::display::shape;
use crate::nearest::Nearest;

/// How many records are searched for one name.
const RECORDS: usize = 4096;

/// Where a member is: its index in each record from the outermost to its own.
pub(super) type MemberPath = Vec<usize>;

/// The members of a structure, class or union under any of its names; nothing of other types.
pub(super) fn members_of(table: &TypeTable, id: TypeId) -> &[Member] {
    if let TypeKind::Record { members, .. } = &shape::resolve(table, id).ty.kind {
        members
    } else {
        &[]
    }
}

/// The entry of the static data member called `name` of a record that is a constant, or of the nearest of its base classes.
pub(super) fn find_constant(table: &TypeTable, record: TypeId, name: &str) -> Option<DieId> {
    let mut waiting = vec![record];
    let mut seen = BTreeSet::from([record]);
    while !waiting.is_empty() {
        let mut inner = Vec::new();
        for record in waiting {
            let record = shape::named(table, record);
            if let Some(entry) = table.constant_member(record, name) {
                return Some(entry);
            }
            for member in members_of(table, record) {
                if member.is_base && seen.len() < RECORDS && seen.insert(member.ty) {
                    inner.push(member.ty);
                }
            }
        }
        waiting = inner;
    }
    None
}

/// The member called `name` of a record, with its path. `nearest` gets the names of all that were looked at.
pub(super) fn find_member<'t>(
    table: &'t TypeTable,
    record: TypeId,
    name: &str,
    nearest: &mut Nearest,
) -> Option<(MemberPath, &'t Member)> {
    let mut waiting = vec![(record, MemberPath::new())];
    let mut seen = BTreeSet::from([record]);
    // Level by level; records of a damaged file may contain themselves.
    while !waiting.is_empty() {
        let mut inner = Vec::new();
        for (record, path) in waiting {
            for (index, member) in members_of(table, record).iter().enumerate() {
                let mut path = path.clone();
                path.push(index);
                match &member.name {
                    Some(own) if !member.is_base => {
                        if own == name {
                            return Some((path, member));
                        }
                        nearest.consider(own);
                    }
                    Some(_) | None => {
                        if seen.len() < RECORDS && seen.insert(member.ty) {
                            inner.push((member.ty, path));
                        }
                    }
                }
            }
        }
        waiting = inner;
    }
    None
}
