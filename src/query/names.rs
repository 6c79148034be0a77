//! Looks up types, enumerators and functions by name in every unit.
//!
//! A unit is read once, when a name is first searched in it. The units of the frame come first. The other units are read only for names that these
//! lack. Sources: DWARF 5 §3.1 to §3.3, §5; C17 §6.2.1 and C++20 [basic.lookup.unqual] for names that are declared several times.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use gimli::DwTag;
use gimli::constants::{
    DW_AT_declaration, DW_AT_export_symbols, DW_AT_name, DW_TAG_base_type, DW_TAG_class_type,
    DW_TAG_enumeration_type, DW_TAG_enumerator, DW_TAG_inlined_subroutine, DW_TAG_namespace,
    DW_TAG_structure_type, DW_TAG_subprogram, DW_TAG_template_alias, DW_TAG_typedef,
    DW_TAG_union_type, DW_TAG_unspecified_type,
};

use super::name_scope::{
    Distance, Entity, Named, NamedScope, Rank, ScopeNumber, UnitNames, scopes_around,
};
use super::syntax::{Path, Tag};
use crate::debug_info::{DebugInfo, DieId, NameScopes, UnitId, is_block};
use crate::error::Result;
use crate::meter::{HeldStack, Meter};
use crate::nearest::Nearest;

/// The result of a search.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// The entity that the name refers to in the frame.
    Entity(Named),
    /// Several entities, none of which is nearer to the frame: the names of at most [`MOST_NAMES`].
    Ambiguous(Vec<String>),
    /// No entity that is visible in the frame. Contains at most [`MOST_NAMES`] names of entities local to other functions.
    Hidden(Vec<String>),
}

impl Found {
    /// Returns the entity that the name refers to.
    pub(super) fn entity(self) -> Option<Named> {
        match self {
            Found::Entity(named) => Some(named),
            Found::Ambiguous(_) | Found::Hidden(_) => None,
        }
    }

    /// Returns true if any entity has the name, visible or not.
    pub(super) fn is_known(&self) -> bool {
        !matches!(self, Found::Hidden(names) if names.is_empty())
    }
}

/// The steps charged for the name of a function whose declaration is another entry.
const PER_NAME: u64 = 4;

/// The maximum number of longer names that are proposed.
const MOST_NAMES: usize = 3;

/// The names of units.
#[derive(Debug)]
pub(super) struct Names<'d, 'a> {
    info: &'d DebugInfo<'a>,
    meter: &'d Meter,
    /// The units that were read. A malformed unit has only the names before the fault.
    units: BTreeMap<UnitId, UnitNames<'a>>,
    /// The unit that is searched first.
    first: Option<UnitId>,
}

/// An enclosing entry of the current one.
struct Open {
    depth: usize,
    scope: Option<ScopeNumber>,
    enumeration: Option<DieId>,
}

impl<'d, 'a> Names<'d, 'a> {
    /// Creates an empty collection. No unit is read yet.
    pub(super) fn new(
        info: &'d DebugInfo<'a>,
        first: Option<UnitId>,
        meter: &'d Meter,
    ) -> Names<'d, 'a> {
        Names {
            info,
            meter,
            units: BTreeMap::new(),
            first,
        }
    }

    /// Returns the entity that `path` names in a frame and `wanted` accepts: the nearest one, and among these a definition.
    ///
    /// * `frame`: the scopes of the frame.
    pub(super) fn find(
        &mut self,
        path: &Path<'_>,
        frame: &NameScopes,
        wanted: &dyn Fn(&Named) -> bool,
    ) -> Result<Found> {
        let meter = self.meter;
        let around = scopes_around(path, frame);
        let mut best: Option<(Rank, Named)> = None;
        // The different names of the entities with the best rank.
        let mut others = Vec::new();
        // The units of the function, and of the function that it is inlined from.
        let own: BTreeSet<UnitId> = frame.entries.iter().map(|entry| entry.unit).collect();
        let rest = self.order().into_iter().filter(|unit| !own.contains(unit));
        for (index, unit) in (1..).zip(own.iter().copied().chain(rest)) {
            let info = self.info;
            let names = self.unit(unit)?;
            for named in names.at(path).filter(|named| wanted(named)) {
                meter.work(1 + around.len() as u64)?;
                let rank = Rank {
                    distance: names.distance(named, path, frame, &around, meter)?,
                    is_declaration: named.is_declaration,
                    has_keyword: matches!(named.entity, Entity::Type(Some(_))),
                };
                let least = best.as_ref().map_or(rank, |(least, _)| *least);
                if rank < least || best.is_none() {
                    best = Some((rank, named.clone()));
                    others.clear();
                }
                if rank <= least && !rank.is_around() && others.len() < MOST_NAMES {
                    let name = names.full_name(named, path.name, rank.distance, info);
                    if !others.contains(&name) {
                        others.push(name);
                    }
                }
            }
            if best
                .as_ref()
                .is_some_and(|(rank, _)| index >= own.len() && rank.is_final())
            {
                break;
            }
        }
        Ok(match best {
            Some((rank, _)) if rank.distance == Distance::OtherFunction => Found::Hidden(others),
            Some(_) if others.len() > 1 => Found::Ambiguous(others),
            Some((_, named)) => Found::Entity(named),
            None => Found::Hidden(others),
        })
    }

    /// Does the work of [`find`](Self::find) in the first unit only, for names that exist in every unit.
    pub(super) fn find_first(
        &mut self,
        path: &Path<'_>,
        wanted: &dyn Fn(&Named) -> bool,
    ) -> Result<Option<Named>> {
        let Some(unit) = self.first else {
            return Ok(None);
        };
        let names = self.unit(unit)?;
        let found = names.at(path).find(|named| wanted(named));
        Ok(found.cloned())
    }

    /// Returns true if a unit has a function with the name of a path.
    pub(super) fn has(&mut self, unit: UnitId, path: &Path<'_>) -> Result<bool> {
        let names = self.unit(unit)?;
        let mut found = names.named.get(path.name).into_iter().flatten();
        Ok(found.any(|named| named.entity == Entity::Function))
    }

    /// Proposes all names that `wanted` accepts, in the units that were read.
    pub(super) fn propose(&self, nearest: &mut Nearest, wanted: &dyn Fn(&Named) -> bool) {
        for names in self.units.values() {
            for (name, all) in &names.named {
                if all.iter().any(wanted) {
                    nearest.consider(name);
                }
            }
        }
    }

    /// Returns the units in the order of the search.
    pub(super) fn order(&self) -> Vec<UnitId> {
        let others = self
            .info
            .unit_ids()
            .filter(|unit| Some(*unit) != self.first);
        self.first.into_iter().chain(others).collect()
    }

    fn unit(&mut self, unit: UnitId) -> Result<&UnitNames<'a>> {
        if !self.units.contains_key(&unit) {
            let mut names = UnitNames::default();
            self.walk(unit, &mut names)?;
            self.units.insert(unit, names);
        }
        Ok(self.units.entry(unit).or_default())
    }

    /// Charges for a name that is not a part of the file.
    #[expect(clippy::ptr_arg, reason = "what is borrowed costs nothing")]
    fn hold(&self, name: &Cow<'a, str>) -> Result<()> {
        match name {
            Cow::Borrowed(_) => Ok(()),
            Cow::Owned(name) => self.meter.hold(name.len() as u64),
        }
    }

    /// Records the names of a unit, up to the first unreadable entry.
    ///
    /// # Errors
    /// If the budget is exhausted.
    fn walk(&mut self, unit: UnitId, names: &mut UnitNames<'a>) -> Result<()> {
        let Ok(mut dies) = self.info.dies(unit) else {
            return Ok(());
        };
        let mut open: HeldStack<'_, Open> = HeldStack::new(self.meter);
        while let Ok(Some(die)) = dies.next_ref() {
            self.meter.work(1)?;
            if die.is_null() {
                continue;
            }
            let (depth, tag) = (die.depth(), die.tag());
            open.pop_while(|outer| outer.depth >= depth);
            let outer = open.last();
            let scope = outer.and_then(|outer| outer.scope);
            let enumeration = outer.and_then(|outer| outer.enumeration);
            let entity = entity(tag, enumeration);
            let is_scope = opens_scope(tag) && die.has_children();
            let name = if entity.is_some() || is_scope {
                let name = die.attribute(DW_AT_name);
                name.and_then(|name| self.info.string_of(die, name))
            } else {
                None
            };
            if die.has_children() {
                let inner = match &name {
                    Some(name) if is_scope => {
                        self.hold(name)?;
                        self.meter.hold_all::<NamedScope<'a>>(2)?;
                        let is_inline = tag == DW_TAG_namespace && die.flag(DW_AT_export_symbols);
                        Some(names.open(name.clone(), scope, is_inline, None))
                    }
                    _ if is_body(tag) => {
                        let name = match &name {
                            Some(name) => name.clone(),
                            None if tag == DW_TAG_subprogram => {
                                self.meter.work(PER_NAME)?;
                                self.info.completed_name(die.id()).unwrap_or_default()
                            }
                            None => Cow::default(),
                        };
                        self.hold(&name)?;
                        self.meter.hold_all::<NamedScope<'a>>(2)?;
                        Some(names.open(name, scope, false, Some(die.id())))
                    }
                    _ => scope,
                };
                let enumeration = (tag == DW_TAG_enumeration_type).then(|| die.id());
                open.push(Open {
                    depth,
                    scope: inner,
                    enumeration,
                })?;
            }
            if let (Some(entity), Some(name)) = (entity, name) {
                self.meter.charge_bytes(name.len())?;
                self.hold(&name)?;
                self.meter.hold_all::<Named>(2)?;
                let is_declaration = die.flag(DW_AT_declaration);
                let named = Named {
                    die: die.id(),
                    entity,
                    scope,
                    is_declaration,
                };
                names.named.entry(name).or_default().push(named);
            }
        }
        Ok(())
    }
}

fn entity(tag: DwTag, enumeration: Option<DieId>) -> Option<Entity> {
    if tag == DW_TAG_enumerator {
        return enumeration.map(|enumeration| Entity::Enumerator { enumeration });
    }
    if tag == DW_TAG_subprogram {
        return Some(Entity::Function);
    }
    let plain = [
        DW_TAG_base_type,
        DW_TAG_typedef,
        DW_TAG_template_alias,
        DW_TAG_unspecified_type,
    ];
    if plain.contains(&tag) {
        return Some(Entity::Type(None));
    }
    let tags = [
        (DW_TAG_structure_type, Tag::Record),
        (DW_TAG_class_type, Tag::Record),
        (DW_TAG_union_type, Tag::Union),
        (DW_TAG_enumeration_type, Tag::Enumeration),
    ];
    let known = tags.iter().find(|(known, _)| *known == tag);
    known.map(|(_, tag)| Entity::Type(Some(*tag)))
}

/// Returns true if names of an entry's children are local: functions and blocks.
fn is_body(tag: DwTag) -> bool {
    tag == DW_TAG_subprogram || is_block(tag) || tag == DW_TAG_inlined_subroutine
}

/// Returns true if an entry qualifies the names of its children.
fn opens_scope(tag: DwTag) -> bool {
    [
        DW_TAG_namespace,
        DW_TAG_structure_type,
        DW_TAG_class_type,
        DW_TAG_union_type,
        DW_TAG_enumeration_type,
    ]
    .contains(&tag)
}
