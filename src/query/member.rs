//! Finds members by name: first in the record itself, then in its anonymous members and base classes.
//!
//! Sources: C17 §6.7.2.1 (anonymous structures), C++20 [class.member.lookup] but without its ambiguities: the nearest member is chosen.

use std::collections::{BTreeSet, VecDeque};

use crate::debug_info::DieId;
use crate::debug_info::types::{Member, Type, TypeId, TypeKind, TypeTable};
use crate::display::{payload_of, shape};
use crate::error::Result;
use crate::meter::Meter;
use crate::nearest::Nearest;

/// The maximum number of records that are searched for one name.
const RECORDS: usize = 4096;

/// The maximum number of base classes of base classes on the way to one.
const LEVELS: usize = 256;

/// A step on the way to a member.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hop {
    /// The member with this index, in the record or in the preceding variant.
    Member(usize),
    /// A variant of a variant part of the record.
    Variant { part: TypeId, number: usize },
}

/// The path to a member: the steps from the outermost record.
pub(super) type MemberPath = Vec<Hop>;

/// A base class of a class, directly or through other base classes.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub(super) ty: TypeId,
    pub(super) path: MemberPath,
    /// The distance from the start of the derived class, in bytes. `None` if the way leads through a virtual base class.
    pub(super) offset: Option<u64>,
}

/// The base classes of one type.
pub(super) enum Bases {
    None,
    One(Base),
    Several,
    /// There are too many base classes for a search.
    Unknown,
}

/// Returns the members of a structure, class or union, through typedefs and qualifiers. Empty for other types.
pub(super) fn members_of(table: &TypeTable, id: TypeId) -> &[Member] {
    if let TypeKind::Record { members, .. } = &shape::resolve(table, id).ty.kind {
        members
    } else {
        &[]
    }
}

/// Returns a member of a record, or of a variant in one of its variant parts.
pub(super) fn member_at(
    table: &TypeTable,
    record: TypeId,
    variant: Option<(TypeId, usize)>,
    index: usize,
) -> Option<&Member> {
    let Some((part, number)) = variant else {
        return members_of(table, record).get(index);
    };
    let TypeKind::Variants { variants, .. } = &table.get(part).kind else {
        return None;
    };
    variants.get(number)?.members.get(index)
}

/// Returns the entry of a constant static data member called `name`, in a record or in the nearest of its base classes.
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

/// Returns the base class of a record that has the type `base`. If none has, returns a base class that looks like it, because each unit describes
/// the classes that it uses: its name, size and members are equal.
///
/// # Errors
/// If the cost exceeds `meter`.
pub(super) fn find_bases(
    table: &TypeTable,
    record: TypeId,
    base: TypeId,
    meter: &Meter,
) -> Result<Bases> {
    let (record_type, base_type) = (
        shape::resolve(table, record).ty,
        shape::resolve(table, base).ty,
    );
    if is_alike(record_type, base_type) {
        return Ok(Bases::None);
    }
    let is_it = |ty: &Type| core::ptr::eq(ty, base_type);
    match search_bases(table, record, &is_it, meter)? {
        Bases::None => search_bases(table, record, &|ty| is_alike(ty, base_type), meter),
        found @ (Bases::One(_) | Bases::Several | Bases::Unknown) => Ok(found),
    }
}

/// Returns true if two entries describe the same class, as far as their own members show.
fn is_alike(one: &Type, other: &Type) -> bool {
    let (TypeKind::Record { members: a, .. }, TypeKind::Record { members: b, .. }) =
        (&one.kind, &other.kind)
    else {
        return core::ptr::eq(one, other);
    };
    let place = |member: &Member| (member.name.clone(), member.bit_offset, member.is_base);
    core::ptr::eq(one, other)
        || one.name.is_some()
            && (&one.name, one.byte_size) == (&other.name, other.byte_size)
            && a.iter().map(place).eq(b.iter().map(place))
}

/// Searches the base classes of a record level by level.
fn search_bases(
    table: &TypeTable,
    record: TypeId,
    is_wanted: &dyn Fn(&Type) -> bool,
    meter: &Meter,
) -> Result<Bases> {
    let mut found: Option<Base> = None;
    let mut waiting = VecDeque::from([Base {
        ty: record,
        path: MemberPath::new(),
        offset: Some(0),
    }]);
    // A virtual base class is one object, however many ways lead to it.
    let mut seen = BTreeSet::new();
    let mut records = 0;
    while let Some(derived) = waiting.pop_front() {
        for (index, member) in members_of(table, derived.ty).iter().enumerate() {
            meter.work(1)?;
            let is_virtual = member.bit_offset.is_none();
            if !member.is_base || is_virtual && !seen.insert(shape::named(table, member.ty)) {
                continue;
            }
            let own = member.bit_offset.map(|bits| bits / 8);
            let inner = Base {
                ty: member.ty,
                path: longer(&derived.path, &[Hop::Member(index)]),
                offset: derived.offset.zip(own).and_then(|(a, b)| a.checked_add(b)),
            };
            records += 1;
            if records > RECORDS || inner.path.len() > LEVELS {
                return Ok(Bases::Unknown);
            }
            match is_wanted(shape::resolve(table, inner.ty).ty) {
                true if found.is_some() => return Ok(Bases::Several),
                true => found = Some(inner),
                false => waiting.push_back(inner),
            }
        }
    }
    Ok(found.map_or(Bases::None, Bases::One))
}

/// Returns the member called `name` of a record, with its path. `nearest` receives the names of all members that were compared.
pub(super) fn find_member<'t>(
    table: &'t TypeTable,
    record: TypeId,
    name: &str,
    nearest: &mut Nearest,
) -> Option<(MemberPath, &'t Member)> {
    let mut waiting = vec![(members_of(table, record), MemberPath::new())];
    let mut seen = BTreeSet::from([record]);
    // The search proceeds level by level. Records of a malformed file may contain themselves.
    while !waiting.is_empty() {
        let mut inner = Vec::new();
        for (members, path) in waiting {
            for (index, member) in members.iter().enumerate() {
                let own = member.name.as_deref().filter(|_| !member.is_base);
                if own == Some(name) {
                    return Some((longer(&path, &[Hop::Member(index)]), member));
                }
                if let Some(own) = own {
                    nearest.consider(own);
                } else if seen.len() < RECORDS && seen.insert(member.ty) {
                    add_inner(table, index, member, &path, &mut inner);
                }
            }
        }
        waiting = inner;
    }
    None
}

/// Adds the members whose names are visible in the enclosing record. These are the members of an anonymous member, a base class or a variant, and of
/// the payload of a Rust variant.
fn add_inner<'t>(
    table: &'t TypeTable,
    index: usize,
    member: &Member,
    path: &[Hop],
    inner: &mut Vec<(&'t [Member], MemberPath)>,
) {
    let ty = member.ty;
    let TypeKind::Variants { variants, .. } = &table.get(ty).kind else {
        let path = longer(path, &[Hop::Member(index)]);
        inner.push((members_of(table, ty), path));
        return;
    };
    for (number, variant) in variants.iter().enumerate().take(RECORDS) {
        let hop = Hop::Variant { part: ty, number };
        inner.push((&variant.members, longer(path, &[hop])));
        if let Some((_, payload)) = payload_of(table, variant) {
            let path = longer(path, &[hop, Hop::Member(0)]);
            inner.push((members_of(table, payload.ty), path));
        }
    }
}

fn longer(path: &[Hop], by: &[Hop]) -> MemberPath {
    [path, by].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debug_info::types::RecordKind;
    use crate::limits::Limits;

    /// Adds a class of 16 bytes with base classes, each with its offset in bytes.
    fn class(table: &mut TypeTable, name: &str, bases: &[(TypeId, Option<u64>)]) -> TypeId {
        let members = bases.iter().map(|(ty, offset)| Member {
            bit_offset: offset.map(|bytes| bytes * 8),
            is_base: true,
            ..Member::new(None, *ty, 0)
        });
        let kind = TypeKind::Record {
            kind: RecordKind::Structure,
            members: members.collect(),
        };
        table.add(Type::new(Some(name.to_owned()), Some(16), kind))
    }

    /// Returns the offset of a base class in bytes, or `None` if there is none, there are several, or the offset is not a constant.
    fn offset(table: &TypeTable, derived: TypeId, base: TypeId) -> Option<u64> {
        let meter = Meter::new(&Limits::DEFAULT, 1000);
        match find_bases(table, derived, base, &meter).unwrap() {
            Bases::One(base) => base.offset,
            Bases::None | Bases::Several | Bases::Unknown => None,
        }
    }

    #[test]
    fn offsets_of_base_classes_are_added() {
        let mut table = TypeTable::default();
        let base = class(&mut table, "Base", &[]);
        let middle = class(&mut table, "Middle", &[(base, Some(4))]);
        let derived = class(&mut table, "Derived", &[(middle, Some(8))]);
        assert_eq!(offset(&table, derived, base), Some(12));
        assert_eq!(offset(&table, base, derived), None);
        assert_eq!(offset(&table, derived, derived), None);
    }

    /// A diamond: both ways lead to one object if the base class is virtual, otherwise to two.
    #[test]
    fn a_virtual_base_class_is_one_object() {
        for (place, is_one) in [(None, true), (Some(0), false)] {
            let mut table = TypeTable::default();
            let base = class(&mut table, "Base", &[]);
            let left = class(&mut table, "Left", &[(base, place)]);
            let right = class(&mut table, "Right", &[(base, place)]);
            let joined = class(&mut table, "Joined", &[(left, Some(0)), (right, Some(8))]);
            let meter = Meter::new(&Limits::DEFAULT, 1000);
            let found = find_bases(&table, joined, base, &meter).unwrap();
            assert_eq!(matches!(found, Bases::One(_)), is_one);
            assert_eq!(matches!(found, Bases::Several), !is_one);
        }
    }

    /// Each unit describes the class `Base` again. Another class of that name has other base classes.
    #[test]
    fn classes_of_several_units_are_alike() {
        let mut table = TypeTable::default();
        let base = class(&mut table, "Base", &[]);
        let derived = class(&mut table, "Derived", &[(base, Some(4))]);
        let again = class(&mut table, "Base", &[]);
        let other = class(&mut table, "Base", &[(again, Some(0))]);
        assert_eq!(offset(&table, derived, again), Some(4));
        assert_eq!(offset(&table, derived, other), None);
    }

    /// The names of `-gsimple-template-names`: a class and its base class, `Deep<1>` and `Deep<0>`, have equal names, sizes and members.
    #[test]
    fn a_class_is_no_base_class_of_itself() {
        let mut table = TypeTable::default();
        let empty = class(&mut table, "Empty", &[]);
        let inner = class(&mut table, "Deep", &[(empty, Some(0))]);
        let outer = class(&mut table, "Deep", &[(inner, Some(0))]);
        assert_eq!(offset(&table, outer, outer), None);
        assert_eq!(offset(&table, inner, inner), None);
    }
}
