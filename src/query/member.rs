//! Finds members by name: first in the record itself and its anonymous members, then in its base classes.
//!
//! Sources: C17 §6.7.2.1 (anonymous structures), C++20 [class.member.lookup]. Functions and types are not searched, so they hide nothing.

use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;

use crate::debug_info::DieId;
use crate::debug_info::types::{Member, Type, TypeId, TypeKind, TypeTable};
use crate::display::{payload_of, shape};
use crate::error::Result;
use crate::meter::Meter;
use crate::nearest::Nearest;

/// The maximum number of classes, and of anonymous members, that are searched for one name.
const RECORDS: usize = 4096;

/// The maximum number of records inside each other on the way to a member.
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
    /// The last virtual base class on the way, which may be this class.
    last_virtual: Option<TypeId>,
}

/// The base classes of one type.
pub(super) enum Bases {
    None,
    One(Base),
    Several,
    /// There are too many base classes for a search.
    Unknown,
}

/// The members of one name.
pub(super) enum FoundMember<'t> {
    None,
    Member(MemberPath, &'t Member),
    /// The entry of a constant static data member.
    Constant(DieId),
    /// Members of several records, none of which hides the others. For each, the types of the records on the way to it.
    Several(Vec<Vec<TypeId>>),
    /// There are too many base classes for a search.
    Unknown,
}

/// A member with the name that is searched for.
struct Candidate<'t> {
    member: FoundMember<'t>,
    /// The path to the record with the member: a class, an anonymous member of it, or the payload of a variant.
    record: MemberPath,
    /// The class with the member.
    class: Base,
}

/// The part of a search that follows a class.
enum After {
    /// Its base classes, and all others.
    Inside,
    /// All other classes.
    Beside,
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

/// Searches a record and its base classes level by level.
fn search_bases(
    table: &TypeTable,
    record: TypeId,
    is_wanted: &dyn Fn(&Type) -> bool,
    meter: &Meter,
) -> Result<Bases> {
    let mut found = Bases::None;
    let is_complete = each_class(table, record, meter, &mut |class| {
        if !is_wanted(shape::resolve(table, class.ty).ty) {
            return Ok(ControlFlow::Continue(After::Inside));
        }
        let is_first = matches!(found, Bases::None);
        found = if is_first {
            Bases::One(class.clone())
        } else {
            Bases::Several
        };
        Ok(if is_first {
            ControlFlow::Continue(After::Beside)
        } else {
            ControlFlow::Break(())
        })
    })?;
    Ok(if is_complete { found } else { Bases::Unknown })
}

/// Visits a class, its base classes and their base classes, level by level. A virtual base class is one object, which is visited once. Returns false
/// if there are too many.
fn each_class(
    table: &TypeTable,
    class: TypeId,
    meter: &Meter,
    visit: &mut dyn FnMut(&Base) -> Result<ControlFlow<(), After>>,
) -> Result<bool> {
    let mut waiting = VecDeque::from([Base {
        ty: class,
        path: MemberPath::new(),
        offset: Some(0),
        last_virtual: None,
    }]);
    let mut seen = BTreeSet::new();
    let mut records = 1;
    while let Some(derived) = waiting.pop_front() {
        match visit(&derived)? {
            ControlFlow::Break(()) => return Ok(true),
            ControlFlow::Continue(After::Beside) => continue,
            ControlFlow::Continue(After::Inside) => {}
        }
        for (index, member) in members_of(table, derived.ty).iter().enumerate() {
            meter.work(1)?;
            if !member.is_base {
                continue;
            }
            let is_virtual = member.bit_offset.is_none();
            let ty = shape::named(table, member.ty);
            if is_virtual && !seen.insert(ty) {
                continue;
            }
            records += 1;
            if records > RECORDS || derived.path.len() >= LEVELS {
                return Ok(false);
            }
            let own = member.bit_offset.map(|bits| bits / 8);
            waiting.push_back(Base {
                ty: member.ty,
                path: longer(&derived.path, &[Hop::Member(index)]),
                offset: derived.offset.zip(own).and_then(|(a, b)| a.checked_add(b)),
                last_virtual: is_virtual.then_some(ty).or(derived.last_virtual),
            });
        }
    }
    Ok(true)
}

/// Returns the member called `name` of a record. `nearest` receives the names of all members that were compared.
///
/// # Errors
/// If the cost exceeds `meter`.
pub(super) fn find_member<'t>(
    table: &'t TypeTable,
    record: TypeId,
    name: &str,
    nearest: &mut Nearest,
    meter: &Meter,
) -> Result<FoundMember<'t>> {
    let mut found = Vec::new();
    let mut records = 0;
    let mut are_all_searched = true;
    let has_all_classes = each_class(table, record, meter, &mut |class| {
        let before = found.len();
        let mut search = OwnMembers {
            table,
            name,
            meter,
            nearest: &mut *nearest,
            records: &mut records,
            found: &mut found,
        };
        are_all_searched = search.search(class)?;
        if !are_all_searched {
            return Ok(ControlFlow::Break(()));
        }
        // Members of a base class with the same name are hidden.
        Ok(ControlFlow::Continue(if found.len() > before {
            After::Beside
        } else {
            After::Inside
        }))
    })?;
    if !(has_all_classes && are_all_searched) {
        return Ok(FoundMember::Unknown);
    }
    one_of(table, record, found, meter)
}

/// Returns the candidate that no other one hides, if it is the only one.
fn one_of<'t>(
    table: &'t TypeTable,
    outer: TypeId,
    mut found: Vec<Candidate<'t>>,
    meter: &Meter,
) -> Result<FoundMember<'t>> {
    if found.len() > 1 {
        let mut is_visible = Vec::new();
        for candidate in &found {
            is_visible.push(!is_hidden(table, candidate, &found, meter)?);
        }
        let mut is_visible = is_visible.into_iter();
        found.retain(|_| is_visible.next().unwrap_or(true));
    }
    let mut rest = found.into_iter();
    let Some(first) = rest.next() else {
        return Ok(FoundMember::None);
    };
    let mut records = vec![records_on(table, outer, &first.record)];
    for other in rest {
        // A static member is one object, however many ways lead to it.
        let is_same = match (&first.member, &other.member) {
            (FoundMember::Constant(one), FoundMember::Constant(other)) => one == other,
            (_, _) => false,
        };
        if !is_same {
            records.push(records_on(table, outer, &other.record));
        }
    }
    Ok(if records.len() > 1 {
        FoundMember::Several(records)
    } else {
        first.member
    })
}

/// Returns the types of the records on a path, without the outermost one.
fn records_on(table: &TypeTable, outer: TypeId, path: &[Hop]) -> Vec<TypeId> {
    let mut records = Vec::new();
    let mut variant = None;
    for hop in path {
        match *hop {
            Hop::Variant { part, number } => variant = Some((part, number)),
            Hop::Member(index) => {
                let record = records.last().copied().unwrap_or(outer);
                let member = member_at(table, record, variant.take(), index);
                records.extend(member.map(|member| member.ty));
            }
        }
    }
    records
}

/// Returns true if the class of another candidate has the class of this one as a virtual base class, or a part of one.
fn is_hidden(
    table: &TypeTable,
    candidate: &Candidate<'_>,
    all: &[Candidate<'_>],
    meter: &Meter,
) -> Result<bool> {
    let Some(wanted) = candidate.class.last_virtual else {
        return Ok(false);
    };
    for other in all {
        let mut is_hidden = false;
        each_class(table, other.class.ty, meter, &mut |base| {
            let is_virtual = !base.path.is_empty() && base.last_virtual == Some(wanted);
            is_hidden |= is_virtual;
            Ok(if is_hidden {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(After::Inside)
            })
        })?;
        if is_hidden {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A search among the members of one class, and of its anonymous members and variants.
struct OwnMembers<'s, 't> {
    table: &'t TypeTable,
    name: &'s str,
    meter: &'s Meter,
    nearest: &'s mut Nearest,
    /// The number of anonymous members searched so far, for all classes.
    records: &'s mut usize,
    found: &'s mut Vec<Candidate<'t>>,
}

/// A list of members whose names are visible in the class around it.
struct Inner<'t> {
    members: &'t [Member],
    record: TypeId,
    path: MemberPath,
}

impl<'t> OwnMembers<'_, 't> {
    /// Adds the members with the name. Returns false if there are too many records: a record of a malformed file may contain itself.
    fn search(&mut self, class: &Base) -> Result<bool> {
        let mut waiting = vec![Inner {
            members: members_of(self.table, class.ty),
            record: class.ty,
            path: class.path.clone(),
        }];
        while let Some(inner) = waiting.pop() {
            self.meter.work(1)?;
            let record = shape::named(self.table, inner.record);
            if let Some(entry) = self.table.constant_member(record, self.name) {
                self.add(class, &inner, FoundMember::Constant(entry));
            }
            for (index, member) in inner.members.iter().enumerate() {
                self.meter.work(1)?;
                // The base classes of the class itself follow later.
                if member.is_base && inner.record == class.ty {
                    continue;
                }
                match member.name.as_deref() {
                    None => {
                        *self.records += 1;
                        if *self.records > RECORDS || inner.path.len() >= LEVELS {
                            return Ok(false);
                        }
                        waiting.extend(inner_lists(self.table, index, member, &inner));
                    }
                    Some(own) if own == self.name => {
                        let path = longer(&inner.path, &[Hop::Member(index)]);
                        self.add(class, &inner, FoundMember::Member(path, member));
                    }
                    Some(own) => self.nearest.consider(own),
                }
            }
        }
        Ok(true)
    }

    fn add(&mut self, class: &Base, inner: &Inner<'t>, member: FoundMember<'t>) {
        self.found.push(Candidate {
            member,
            record: inner.path.clone(),
            class: class.clone(),
        });
    }
}

/// Returns the members whose names are visible in the enclosing record. These are the members of an anonymous member or a variant, and of the payload
/// of a Rust variant.
fn inner_lists<'t>(
    table: &'t TypeTable,
    index: usize,
    member: &Member,
    outer: &Inner<'t>,
) -> Vec<Inner<'t>> {
    let ty = member.ty;
    let inner = |members, record, hops: &[Hop]| Inner {
        members,
        record,
        path: longer(&outer.path, hops),
    };
    let TypeKind::Variants { variants, .. } = &table.get(ty).kind else {
        return vec![inner(members_of(table, ty), ty, &[Hop::Member(index)])];
    };
    let mut lists = Vec::new();
    for (number, variant) in variants.iter().enumerate() {
        let hop = Hop::Variant { part: ty, number };
        lists.push(inner(&variant.members, outer.record, &[hop]));
        if let Some((_, payload)) = payload_of(table, variant) {
            let hops = [hop, Hop::Member(0)];
            lists.push(inner(members_of(table, payload.ty), payload.ty, &hops));
        }
    }
    lists
}

fn longer(path: &[Hop], by: &[Hop]) -> MemberPath {
    [path, by].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debug_info::types::RecordKind;
    use crate::limits::Limits;

    /// Adds a class of 16 bytes with base classes, each with its offset in bytes. `x` is the name of each, which does not count.
    fn class(table: &mut TypeTable, name: &str, bases: &[(TypeId, Option<u64>)]) -> TypeId {
        let members = bases.iter().map(|(ty, offset)| Member {
            bit_offset: offset.map(|bytes| bytes * 8),
            is_base: true,
            ..Member::new(Some("x".to_owned()), *ty, 0)
        });
        let kind = TypeKind::Record {
            kind: RecordKind::Structure,
            members: members.collect(),
        };
        table.add(Type::new(Some(name.to_owned()), Some(16), kind))
    }

    /// Adds the member `x` to a class.
    fn with_member(table: &mut TypeTable, class: TypeId) -> TypeId {
        let mut ty = table.get(class).clone();
        let TypeKind::Record { members, .. } = &mut ty.kind else {
            panic!("a class is a record");
        };
        let void = table.void();
        members.push(Member::new(Some("x".to_owned()), void, 0));
        table.set(class, ty);
        class
    }

    fn find_x(table: &TypeTable, class: TypeId) -> FoundMember<'_> {
        let meter = Meter::new(&Limits::DEFAULT, 1 << 20);
        find_member(table, class, "x", &mut Nearest::to("x"), &meter).unwrap()
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

    /// [class.member.lookup]: `x` of a virtual base class is hidden by `x` of a class with this virtual base class, and by no other.
    #[test]
    fn only_the_derived_class_hides_a_member_of_a_virtual_base_class() {
        for is_derived in [true, false] {
            let mut table = TypeTable::default();
            let base = class(&mut table, "Base", &[]);
            with_member(&mut table, base);
            let other = class(&mut table, "Other", &[]);
            let left = class(&mut table, "Left", &[(base, None)]);
            let bases = [(if is_derived { base } else { other }, None)];
            let right = class(&mut table, "Right", &bases);
            with_member(&mut table, right);
            let joined = class(&mut table, "Joined", &[(left, Some(0)), (right, Some(8))]);
            let found = find_x(&table, joined);
            assert_eq!(matches!(found, FoundMember::Member(..)), is_derived);
            assert_eq!(matches!(found, FoundMember::Several(_)), !is_derived);
        }
    }

    /// Each class has the one before it twice, so the last one has 2^12 - 2 (4,094) or 2^13 - 2 base classes.
    #[test]
    fn too_many_base_classes_are_no_missing_member() {
        for (levels, is_searched) in [(12, true), (13, false)] {
            let mut table = TypeTable::default();
            let mut last = class(&mut table, "Class", &[]);
            for _ in 1..levels {
                last = class(&mut table, "Class", &[(last, Some(0)), (last, Some(8))]);
            }
            let found = find_x(&table, last);
            assert_eq!(matches!(found, FoundMember::None), is_searched);
            assert_eq!(matches!(found, FoundMember::Unknown), !is_searched);
        }
    }

    /// A malformed record that is its own anonymous member.
    #[test]
    fn a_record_inside_itself_is_not_searched_without_end() {
        let mut table = TypeTable::default();
        let record = class(&mut table, "Record", &[]);
        let mut ty = table.get(record).clone();
        ty.kind = TypeKind::Record {
            kind: RecordKind::Structure,
            members: vec![Member::new(None, record, 0)],
        };
        table.set(record, ty);
        assert!(matches!(find_x(&table, record), FoundMember::Unknown));
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
