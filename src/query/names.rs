//! Looks up types, enumerators and functions by name in every unit.
//!
//! A unit is read once, when a name is first searched in it. The units of the frame come first. The other units are read only for names that these
//! lack. Sources: DWARF 5 §3.1 to §3.3, §5; C17 §6.2.1 and C++20 [basic.lookup.unqual] for names that are declared several times.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::rc::Rc;

use gimli::constants::{
    DW_AT_declaration, DW_AT_name, DW_LANG_Rust, DW_TAG_enumeration_type, DW_TAG_inheritance,
    DW_TAG_inlined_subroutine, DW_TAG_subprogram, DW_TAG_typedef,
};

use super::instance::without_spaces;
use super::name_level::{Bases, Distance, Level, Rank, distance};
use super::name_scope::{
    Entity, EntryScopes, Named, NamedScope, ScopeKind, ScopeNumber, UnitNames, entity_of,
    scope_kind,
};
use super::syntax::Path;
use crate::debug_info::{DebugInfo, Die, DieId, NameScopes, UnitId};
use crate::error::Result;
use crate::meter::{HeldStack, Meter};
use crate::nearest::Nearest;

/// The entities that a search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those in the scopes around the frame's code.
    Around,
    /// Those in all scopes of the program.
    Program,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// The entity that the name refers to in the frame, and its rank.
    Entity(Named, Rank),
    /// Several entities with the same rank: the names of at most [`MOST_NAMES`].
    Ambiguous(Vec<String>, Rank),
    /// No entity that is visible in the frame. Contains at most [`MOST_NAMES`] names of entities local to other functions.
    Hidden(Vec<String>),
}

impl Found {
    /// Returns true if any entity has the name, visible or not.
    pub(super) fn is_known(&self) -> bool {
        !matches!(self, Found::Hidden(names) if names.is_empty())
    }

    pub(super) fn rank(&self) -> Option<Rank> {
        match self {
            Found::Entity(_, rank) | Found::Ambiguous(_, rank) => Some(*rank),
            Found::Hidden(_) => None,
        }
    }
}

/// The steps charged for the name of a function or class in another entry.
const PER_NAME: u64 = 4;
/// The steps charged for comparing an entity with a path, for each scope around the entity.
const PER_CANDIDATE: u64 = 4;

/// The maximum number of longer names that are proposed.
pub(super) const MOST_NAMES: usize = 3;

/// The names of units.
#[derive(Debug)]
pub(super) struct Names<'d, 'a> {
    info: &'d DebugInfo<'a>,
    meter: &'d Meter,
    /// The units that were read. A malformed unit has only the names before the fault.
    units: BTreeMap<UnitId, UnitNames<'a>>,
    /// The unit that is searched first.
    first: Option<UnitId>,
    /// The scopes of the frame, once they were needed.
    levels: Option<Rc<[Level]>>,
}

/// An enclosing entry of the current one.
struct Open {
    depth: usize,
    scope: Option<ScopeNumber>,
    /// True if `scope` is the entry's own.
    is_scope: bool,
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
            levels: None,
        }
    }

    /// Returns the entity that `path` names in a frame and `wanted` accepts: the nearest one, and among these a definition.
    ///
    /// * `frame`: the scopes of the frame.
    pub(super) fn find(
        &mut self,
        path: &Path<'_>,
        frame: &NameScopes,
        reach: Reach,
        wanted: &dyn Fn(&Named) -> bool,
    ) -> Result<Found> {
        let (info, meter) = (self.info, self.meter);
        let levels = self.levels(frame)?;
        let mut best: Option<(Rank, Named)> = None;
        // The different names of the entities with the best rank.
        let mut others = Vec::new();
        let mut units = self.own_units(&levels, frame);
        let own = units.len();
        if reach == Reach::Program {
            let seen: BTreeSet<UnitId> = units.iter().copied().collect();
            units.extend(info.unit_ids().filter(|unit| !seen.contains(unit)));
        }
        for (index, unit) in (1..).zip(units) {
            let names = self.unit(unit)?;
            let candidates = names.named.get(path.name).into_iter().flatten();
            for named in candidates.filter(|named| wanted(named)) {
                // Each comparison of scopes goes through those around the entity.
                meter.work(PER_CANDIDATE.saturating_mul(1 + names.depth(named) as u64))?;
                let Some(rank) = rank(&levels, unit, named, path, names, meter)? else {
                    continue;
                };
                let least = best.as_ref().map_or(rank, |(least, _)| *least);
                if rank < least || best.is_none() {
                    best = Some((rank, named.clone()));
                    others.clear();
                }
                let is_unique = rank.is_unique(&levels) && !names.is_local(named);
                if rank <= least && !is_unique && others.len() < MOST_NAMES {
                    let lines = Some(info).filter(|_| rank.distance < Distance::OtherFunction);
                    let name = names.full_name(named, path.name, lines);
                    if !others.contains(&name) {
                        others.push(name);
                    }
                }
            }
            if best
                .as_ref()
                .is_some_and(|(rank, _)| index >= own && rank.is_final())
            {
                break;
            }
        }
        let best =
            best.filter(|(rank, _)| reach == Reach::Program || rank.distance.level().is_some());
        Ok(match best {
            Some((rank, _)) if rank.distance == Distance::OtherFunction => Found::Hidden(others),
            Some((rank, _)) if others.len() > 1 => Found::Ambiguous(others, rank),
            Some((rank, named)) => Found::Entity(named, rank),
            None => Found::Hidden(others),
        })
    }

    /// Returns the units that must be read before a name is final: of the function, of the function that it is inlined from, and of the classes.
    /// If a class is in a type unit, its types can be in any type unit.
    fn own_units(&self, levels: &[Level], frame: &NameScopes) -> Vec<UnitId> {
        // The abstract instance of a function precedes the function.
        let entries = frame.functions.iter();
        let entries = entries.flat_map(|entries| entries.iter().rev());
        let bases = levels.iter().flat_map(|level| level.bases.by_scope.keys());
        let scopes = levels.iter().filter_map(|level| level.scope.as_ref());
        let units = entries.map(|entry| entry.unit);
        let units = units.chain(scopes.chain(bases).map(|(unit, _)| *unit));
        let mut seen = BTreeSet::new();
        let mut own: Vec<UnitId> = units.filter(|unit| seen.insert(*unit)).collect();
        let is_type_unit = |unit: &UnitId| self.info.is_type_unit(*unit);
        if own.iter().any(is_type_unit) {
            let others = self.info.unit_ids().filter(|unit| !seen.contains(unit));
            own.extend(others.filter(is_type_unit));
        }
        own
    }

    /// Returns true if an entity that was found is in a scope around the frame's code that is inside the namespace or class `scope`, and so hides its
    /// names.
    pub(super) fn is_inside(&self, rank: Rank, scope: &str) -> bool {
        let mut levels = self.levels.iter().flat_map(|levels| levels.iter());
        let outer = levels.position(|level| level.name.as_deref() == Some(scope));
        let level = rank.distance.level();
        level.is_some_and(|(number, _)| outer.is_none_or(|outer| number < outer))
    }

    /// Returns true if an entity that was found hides the members of base classes of the class around the frame's code.
    pub(super) fn hides_members(&self, rank: Rank) -> bool {
        let mut levels = self.levels.iter().flat_map(|levels| levels.iter());
        let class = levels.position(|level| level.class.is_some());
        let level = rank.distance.level();
        level.is_some_and(|level| class.is_some_and(|class| level <= (class, 0)))
    }

    /// Returns the entry of a type. None is `void`, as the argument of a template.
    pub(super) fn type_entry(&self, ty: &Named) -> Option<DieId> {
        if ty.entity != Entity::TypeParameter {
            return Some(ty.die);
        }
        let parameter = self.info.die(ty.die).ok()?;
        self.info.direct_type(&parameter)
    }

    /// Returns the classes around the frame's code, the innermost first.
    pub(super) fn classes(&mut self, frame: &NameScopes) -> Result<Vec<DieId>> {
        let levels = self.levels(frame)?;
        Ok(levels.iter().filter_map(|level| level.class).collect())
    }

    /// Returns the scopes in which the frame looks up names, the innermost first.
    fn levels(&mut self, frame: &NameScopes) -> Result<Rc<[Level]>> {
        if let Some(known) = &self.levels {
            return Ok(Rc::clone(known));
        }
        let mut levels: Vec<Level> = Vec::new();
        for entries in &frame.functions {
            let found = self.scopes_of(entries)?;
            for (unit, number) in found {
                let names = self.unit(unit)?;
                let mut level = Level::new(unit, number, names);
                // Rust declares the types of a function in a namespace with the name of the function, beside it.
                let beside = names.scope_name(Some(number));
                let beside =
                    beside.filter(|_| level.is_body && names.language == Some(DW_LANG_Rust));
                level.bases = self.bases(unit, number)?;
                levels.push(level);
                levels.extend(beside.filter(|name| !name.is_empty()).map(Level::named));
            }
        }
        levels.push(Level::named(String::new()));
        let levels: Rc<[Level]> = levels.into();
        self.levels = Some(Rc::clone(&levels));
        Ok(levels)
    }

    /// Returns the scopes of a function, from the inside out: its own, then those around each of its entries.
    fn scopes_of(&mut self, entries: &[DieId]) -> Result<Vec<(UnitId, ScopeNumber)>> {
        let meter = self.meter;
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        for entry in entries {
            meter.work(PER_CANDIDATE)?;
            if let Some(scopes) = self.unit(entry.unit)?.by_entry.get(&entry.offset) {
                meter.hold_all::<Level>(2)?;
                seen.insert((entry.unit, scopes.own));
                found.push((entry.unit, scopes.own));
            }
        }
        // The scopes around a scope are visited once.
        let mut around = BTreeSet::new();
        for entry in entries {
            let names = self.unit(entry.unit)?;
            let scopes = names.by_entry.get(&entry.offset);
            let outer = scopes.and_then(|scopes| scopes.outer);
            for (number, _) in names.around(outer) {
                meter.work(PER_CANDIDATE)?;
                if !around.insert((entry.unit, number)) {
                    break;
                }
                if seen.insert((entry.unit, number)) {
                    meter.hold_all::<Level>(2)?;
                    found.push((entry.unit, number));
                }
            }
        }
        Ok(found)
    }

    /// Returns the direct and indirect base classes of a class.
    fn bases(&mut self, unit: UnitId, number: ScopeNumber) -> Result<Bases> {
        let mut found = Bases::default();
        let mut next = VecDeque::from([((unit, number), 0)]);
        while let Some(((unit, number), steps)) = next.pop_front() {
            let scope = self.unit(unit)?.scopes.get(number);
            let bases = scope.map_or(Vec::new(), |scope| scope.bases.clone());
            for base in bases {
                self.meter.work(PER_CANDIDATE)?;
                let names = self.unit(base.unit)?;
                let Some(scopes) = names.by_entry.get(&base.offset) else {
                    continue;
                };
                let name = names.scope_name(Some(scopes.own));
                let base = (base.unit, scopes.own);
                if let Entry::Vacant(entry) = found.by_scope.entry(base) {
                    self.meter.hold_all::<(UnitId, ScopeNumber, usize)>(8)?;
                    self.meter
                        .hold(name.as_ref().map_or(0, String::len) as u64)?;
                    entry.insert(steps + 1);
                    next.push_back((base, steps + 1));
                    if let Some(name) = name {
                        found.by_name.entry(name).or_insert(steps + 1);
                    }
                }
            }
        }
        Ok(found)
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
        let mut candidates = self.unit(unit)?.named.get(path.name).into_iter().flatten();
        Ok(candidates.find(|named| wanted(named)).cloned())
    }

    /// Returns the name of an instance of a template as a unit contains it. The text `name` may differ in its spaces. If only other instances of the
    /// template exist, returns the text. If none exists, returns None.
    pub(super) fn instance(
        &mut self,
        template: &str,
        name: &str,
        frame: &NameScopes,
    ) -> Result<Option<String>> {
        let (start, wanted) = (format!("{template}<"), without_spaces(name));
        let levels = self.levels(frame)?;
        let mut units = self.own_units(&levels, frame);
        units.extend(self.info.unit_ids());
        let meter = self.meter;
        let mut is_template = false;
        for unit in units {
            meter.work(1)?;
            let names = self.unit(unit)?;
            let from = (Bound::Included(start.as_str()), Bound::Unbounded);
            for (known, _) in names.named.range::<str, _>(from) {
                if !known.starts_with(&start) {
                    break;
                }
                is_template = true;
                meter.charge_bytes(known.len())?;
                if without_spaces(known) == wanted {
                    return Ok(Some(known.clone().into_owned()));
                }
            }
        }
        Ok(is_template.then(|| name.to_owned()))
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
                let is_proposed =
                    |named: &Named| !named.entity.is_template_parameter() && wanted(named);
                if all.iter().any(is_proposed) {
                    nearest.consider(name);
                }
            }
        }
    }

    fn unit(&mut self, unit: UnitId) -> Result<&UnitNames<'a>> {
        if !self.units.contains_key(&unit) {
            let mut names = UnitNames {
                language: self.info.language(unit),
                ..UnitNames::default()
            };
            self.walk(unit, &mut names)?;
            self.units.insert(unit, names);
        }
        Ok(self.units.entry(unit).or_default())
    }

    /// Adds the scope of an entry. Returns None for a namespace or class without a name, whose names belong to the enclosing scope.
    ///
    /// * `name`: the name in the entry itself. For a function or class, it may be in another entry.
    fn open(
        &self,
        die: &Die<'a>,
        kind: ScopeKind,
        name: Option<&Cow<'a, str>>,
        outer: Option<ScopeNumber>,
        names: &mut UnitNames<'a>,
    ) -> Result<Option<ScopeNumber>> {
        let is_body = kind == ScopeKind::Body;
        let name = match name.cloned() {
            None if die.tag() == DW_TAG_subprogram || kind == ScopeKind::Class => {
                self.meter.work(PER_NAME)?;
                self.info.completed_name(die.id())
            }
            name => name,
        };
        let Some(name) = name.or_else(|| is_body.then(Cow::default)) else {
            return Ok(None);
        };
        self.hold(&name)?;
        self.meter.hold_all::<NamedScope<'a>>(2)?;
        let scope = names.open(name, outer, kind, die.id());
        // The base classes of a class in a type unit are there.
        if let Some(scope) = names.scopes.get_mut(scope)
            && let Some(definition) = self.info.definition(die)
        {
            scope.bases.push(definition);
        }
        Ok(Some(scope))
    }

    /// Returns the class of a base class. It can be given as a typedef or as a declaration of a class in a type unit.
    fn base(&self, inheritance: &Die<'a>) -> Result<Option<DieId>> {
        /// The maximum number of typedefs and declarations.
        const MOST: usize = 16;
        let mut base = self.info.direct_type(inheritance);
        for _ in 0..MOST {
            self.meter.work(PER_NAME)?;
            let Some(die) = base.and_then(|base| self.info.die(base).ok()) else {
                break;
            };
            base = match self.info.definition(&die) {
                Some(definition) => Some(definition),
                None if die.tag() == DW_TAG_typedef => self.info.direct_type(&die),
                None => break,
            };
        }
        Ok(base)
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
            let entity = entity_of(tag, enumeration).filter(|entity| {
                // A template of variables or typedefs is no scope.
                !entity.is_template_parameter() || outer.is_some_and(|outer| outer.is_scope)
            });
            let kind = scope_kind(die);
            let is_scope = kind.is_some() && (die.has_children() || tag == DW_TAG_subprogram);
            let name = die
                .attribute(DW_AT_name)
                .filter(|_| entity.is_some() || is_scope);
            let name = name.and_then(|name| self.info.string_of(die, name));
            let name = name.filter(|name| !name.is_empty());
            if tag == DW_TAG_inheritance
                && let Some(class) = scope.and_then(|scope| names.scopes.get_mut(scope))
                && let Some(base) = self.base(die)?
            {
                self.meter.hold_all::<DieId>(2)?;
                class.bases.push(base);
            }
            // The code of an inlined function is inside its caller, and its source is not.
            let outer = scope.filter(|_| tag != DW_TAG_inlined_subroutine);
            let own = match kind.filter(|_| is_scope) {
                Some(kind) => self.open(die, kind, name.as_ref(), outer, names)?,
                None => None,
            };
            if let Some(own) = own {
                self.meter.hold_all::<(u64, EntryScopes)>(2)?;
                let scopes = EntryScopes { own, outer };
                names.by_entry.insert(die.id().offset, scopes);
            }
            if die.has_children() {
                let enumeration = (tag == DW_TAG_enumeration_type).then(|| die.id());
                open.push(Open {
                    depth,
                    scope: own.or(scope),
                    is_scope: own.is_some(),
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

/// Returns the rank of an entity of a unit, or None if the path names something else.
fn rank(
    levels: &[Level],
    unit: UnitId,
    named: &Named,
    path: &Path<'_>,
    names: &UnitNames<'_>,
    meter: &Meter,
) -> Result<Option<Rank>> {
    let has_keyword = matches!(named.entity, Entity::Type(Some(_)));
    let mut best = None;
    for start in names.starts(named, path) {
        let outermost = Distance::Level {
            number: levels.len().saturating_sub(1),
            steps: 0,
        };
        let (mut distance, is_by_name) = match path.is_absolute {
            true => (outermost, false),
            false => distance(levels, unit, start, names, meter)?,
        };
        // A parameter of a template is not inherited.
        if named.entity.is_template_parameter()
            && distance.level().is_none_or(|(_, steps)| steps != 0)
        {
            continue;
        }
        // A function within another one is known by its own name.
        if named.entity == Entity::Function {
            distance = distance.min(Distance::Elsewhere);
        }
        let rank = Rank {
            lacks_keyword: has_keyword && names.is_c(),
            distance,
            is_declaration: named.is_declaration,
            is_by_name,
            has_keyword,
        };
        best = Some(best.map_or(rank, |best: Rank| best.min(rank)));
    }
    Ok(best)
}
