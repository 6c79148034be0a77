//! Looks up names that are not local to a function in every unit, and types everywhere.
//!
//! A unit is read once, when a name is first searched in it. The units of the frame come first. The other units are read only for names that these
//! lack. Sources: DWARF 5 §3.1 to §3.3, §5; C17 §6.2.1 and C++20 [basic.lookup.unqual] for names that are declared several times.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::rc::Rc;

use gimli::constants::{DW_AT_declaration, DW_LANG_Rust};

use super::instance::without_spaces;
use super::name_level::{Bases, Distance, Level, Rank, distance};
use super::name_reader::NameReader;
use super::name_scope::{Entity, Named, ScopeKind, ScopeNumber, UnitNames};
use super::syntax::Path;
use crate::debug_info::{DebugInfo, DieId, NameScopes, UnitId};
use crate::error::Result;
use crate::meter::Meter;
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

/// The steps charged for another entry of a function.
const PER_ENTRY: u64 = 4;
/// The steps charged for comparing an entity with a path, for each scope around the entity.
const PER_CANDIDATE: u64 = 4;

/// The maximum number of longer names that are proposed.
pub(super) const MOST_NAMES: usize = 3;

/// The names of units.
#[derive(Debug)]
pub(super) struct Names<'d, 'a> {
    pub(super) info: &'d DebugInfo<'a>,
    pub(super) meter: &'d Meter,
    /// The units that were read. A malformed unit has only the names before the fault.
    units: BTreeMap<UnitId, UnitNames<'a>>,
    /// The unit of the frame's function.
    first: Option<UnitId>,
    /// The scopes of the frame, once they were needed.
    levels: Option<Rc<[Level]>>,
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
        let mut others: Vec<Label<'a>> = Vec::new();
        let source = self.source_unit(frame);
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
                let is_elsewhere = Some(unit) != source;
                let Some(rank) = rank(&levels, (unit, is_elsewhere), named, path, names, meter)?
                else {
                    continue;
                };
                let least = best.as_ref().map_or(rank, |(least, _)| *least);
                if rank < least || best.is_none() {
                    best = Some((rank, named.clone()));
                    others.clear();
                }
                // Variables of one scope can differ in their linkage names only, like the instances of a template.
                let is_unique = rank.is_unique(&levels)
                    && !names.is_local(named)
                    && named.entity != Entity::Variable;
                if rank <= least && !is_unique && others.len() < MOST_NAMES {
                    let lines = Some(info).filter(|_| rank.distance < Distance::OtherFunction);
                    let mut name = names.full_name(named, path.name, lines);
                    if named.is_static && is_elsewhere {
                        let file = info.unit_info(unit).ok().and_then(|unit| unit.name);
                        name.extend(file.map(|file| format!(" ({file})")));
                    }
                    let is_variable = named.entity == Entity::Variable;
                    let label = Label {
                        name,
                        linkage_name: is_variable
                            .then(|| info.linkage_name_of(named.die))
                            .flatten(),
                    };
                    if !others.contains(&label) {
                        others.push(label);
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
        if let Some((rank, named)) = &best
            && named.entity.is_template_parameter()
            && let Some((number, _)) = rank.distance.level()
        {
            // A member of a base class hides the parameter, unless the base class depends on a parameter (C++20 [temp.local]), which DWARF does not tell.
            let is_other = |named: &Named| wanted(named) && !named.entity.is_template_parameter();
            let other = self.find(path, frame, Reach::Around, &is_other)?;
            let level = other.rank().and_then(|rank| rank.distance.level());
            if level.is_some_and(|(other, _)| other == number)
                && let Some(other) = self.described(&other, path)
            {
                let parameter = format!("{} (a parameter of the template)", path.name);
                return Ok(Found::Ambiguous(vec![parameter, other], *rank));
            }
        }
        Ok(match best {
            Some((rank, _)) if rank.distance == Distance::OtherFunction => {
                Found::Hidden(texts(others))
            }
            Some((rank, _)) if others.len() > 1 => Found::Ambiguous(texts(others), rank),
            Some((rank, named)) => Found::Entity(named, rank),
            None => Found::Hidden(texts(others)),
        })
    }

    /// Returns the entry of the class that a member belongs to.
    pub(super) fn class_of(&mut self, named: &Named) -> Result<Option<DieId>> {
        Ok(self.unit(named.die.unit)?.class_of(named))
    }

    /// Returns the full name of an entity that was found.
    pub(super) fn described(&mut self, found: &Found, path: &Path<'_>) -> Option<String> {
        let Found::Entity(named, _) = found else {
            return None;
        };
        let names = self.unit(named.die.unit).ok()?;
        Some(names.full_name(named, path.name, None))
    }

    /// Returns the unit with the source of the frame's function: of its definition, not of a declaration in a class.
    fn source_unit(&self, frame: &NameScopes) -> Option<UnitId> {
        let mut entries = frame.functions.first()?.iter().rev();
        let is_definition = |entry: &&DieId| {
            let die = self.info.die(**entry);
            die.is_ok_and(|die| !die.flag(DW_AT_declaration))
        };
        entries.find(is_definition).map(|entry| entry.unit)
    }

    /// Returns the units that must be read before a name is final: of the function, of the function that it is inlined from, and of the classes.
    /// If a class is in a type unit, its types can be in any type unit. A class that is only declared is defined in any unit.
    fn own_units(&self, levels: &[Level], frame: &NameScopes) -> Vec<UnitId> {
        // The abstract instance of a function precedes the function.
        let entries = frame.functions.iter();
        let entries = entries.flat_map(|entries| entries.iter().rev());
        let bases = levels.iter().flat_map(|level| level.bases.by_scope.keys());
        let scopes = levels.iter().filter_map(|level| level.scope.as_ref());
        let units = entries.map(|entry| entry.unit);
        let units = self.source_unit(frame).into_iter().chain(units);
        let units = units.chain(scopes.chain(bases).map(|(unit, _)| *unit));
        let mut seen = BTreeSet::new();
        let mut own: Vec<UnitId> = units.filter(|unit| seen.insert(*unit)).collect();
        let is_type_unit = |unit: &UnitId| self.info.is_type_unit(*unit);
        let has_type_unit = own.iter().any(is_type_unit);
        // A class is declared without its members if its virtual functions are in another unit.
        let is_incomplete = levels.iter().any(|level| level.is_declaration);
        if has_type_unit || is_incomplete {
            let others = self.info.unit_ids().filter(|unit| !seen.contains(unit));
            own.extend(others.filter(|unit| is_incomplete || is_type_unit(unit)));
        }
        own
    }

    /// Returns the entry of a type. None is `void`, as the argument of a template.
    pub(super) fn type_entry(&self, ty: &Named) -> Option<DieId> {
        if ty.entity != Entity::TypeParameter {
            return Some(ty.die);
        }
        let parameter = self.info.die(ty.die).ok()?;
        self.info.direct_type(&parameter)
    }

    /// Returns the scopes in which the frame looks up names, the innermost first.
    pub(super) fn levels(&mut self, frame: &NameScopes) -> Result<Rc<[Level]>> {
        if let Some(known) = &self.levels {
            return Ok(Rc::clone(known));
        }
        let mut levels: Vec<Level> = Vec::new();
        for entries in &frame.functions {
            for (unit, number) in self.scopes_of(entries)? {
                let level = self.level(unit, number)?;
                let names = self.unit(unit)?;
                // Rust declares the types of a function in a namespace with the name of the function, beside it.
                let is_beside = level.is_body && names.language == Some(DW_LANG_Rust);
                let beside = names.scope_name(Some(number)).filter(|_| is_beside);
                levels.push(level);
                levels.extend(beside.filter(|name| !name.is_empty()).map(Level::named));
            }
        }
        levels.push(Level::named(String::new()));
        let levels: Rc<[Level]> = levels.into();
        self.levels = Some(Rc::clone(&levels));
        Ok(levels)
    }

    /// Describes a scope of a unit, with the base classes of a class. If the unit only declares the class, its definition has them.
    fn level(&mut self, unit: UnitId, number: ScopeNumber) -> Result<Level> {
        let names = self.unit(unit)?;
        let mut level = Level::new(unit, number, names);
        let class = names.scopes.get(number).filter(|_| !level.is_body);
        let class = class.map(|class| (class.entry, class.name.clone()));
        let mut own = (unit, number);
        if let Some((entry, name)) = class
            && let Ok(class) = self.info.die(entry)
        {
            let is_declared = class.flag(DW_AT_declaration);
            level.is_declaration = is_declared && self.info.definition(&class).is_none();
            if level.is_declaration {
                own = self.defined_class(&level, &name)?.unwrap_or(own);
            }
        }
        level.bases = self.bases(own.0, own.1)?;
        Ok(level)
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
            let mut next = Vec::from([(entry.unit, scopes.and_then(|scopes| scopes.outer))]);
            while let Some((unit, outer)) = next.pop() {
                let mut bodies = Vec::new();
                for (number, scope) in self.unit(unit)?.around(outer) {
                    meter.work(PER_CANDIDATE)?;
                    if !around.insert((unit, number)) {
                        break;
                    }
                    if seen.insert((unit, number)) {
                        meter.hold_all::<Level>(2)?;
                        found.push((unit, number));
                    }
                    if scope.kind == ScopeKind::Body {
                        bodies.push(scope.entry);
                    }
                }
                // A function around a class or lambda can complete a declaration in other scopes.
                for body in bodies {
                    for entry in self.info.completed_entries(body) {
                        meter.work(PER_ENTRY)?;
                        let names = self.unit(entry.unit)?;
                        if let Some(scopes) = names.by_entry.get(&entry.offset) {
                            next.push((entry.unit, Some(scopes.own)));
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// Returns the definition of a class that is declared in a level, in any unit.
    fn defined_class(
        &mut self,
        level: &Level,
        name: &str,
    ) -> Result<Option<(UnitId, ScopeNumber)>> {
        for unit in self.info.unit_ids().filter(|_| level.name.is_some()) {
            self.meter.work(PER_ENTRY)?;
            let names = self.unit(unit)?;
            for class in names.named.get(name).into_iter().flatten() {
                let scopes = names.by_entry.get(&class.die.offset);
                if let Some(scopes) = scopes.filter(|_| !class.is_declaration)
                    && names.scope_name(Some(scopes.own)) == level.name
                {
                    return Ok(Some((unit, scopes.own)));
                }
            }
        }
        Ok(None)
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
            if names.named.contains_key(name) {
                return Ok(Some(name.to_owned()));
            }
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
                let is_proposed = |named: &Named| {
                    !named.entity.is_template_parameter()
                        && named.entity != Entity::Member
                        && wanted(named)
                };
                if all.iter().any(is_proposed) {
                    nearest.consider(name);
                }
            }
        }
    }

    pub(super) fn unit(&mut self, unit: UnitId) -> Result<&UnitNames<'a>> {
        if !self.units.contains_key(&unit) {
            let reader = NameReader {
                info: self.info,
                meter: self.meter,
            };
            self.units.insert(unit, reader.read(unit)?);
        }
        Ok(self.units.entry(unit).or_default())
    }
}

/// The name of an entity for messages.
#[derive(PartialEq)]
struct Label<'a> {
    name: String,
    /// The linkage name of a variable.
    linkage_name: Option<Cow<'a, str>>,
}

/// Returns the texts of different labels.
fn texts(labels: Vec<Label<'_>>) -> Vec<String> {
    let names: BTreeSet<&str> = labels.iter().map(|label| &*label.name).collect();
    let is_alike = names.len() < labels.len();
    let text = |label: Label<'_>| match label.linkage_name.filter(|_| is_alike) {
        Some(linkage_name) => format!("{} ({linkage_name})", label.name),
        None => label.name,
    };
    labels.into_iter().map(text).collect()
}

/// Returns the rank of an entity of a unit, or None if the path names something else.
///
/// * `is_elsewhere`: true if the unit does not contain the source of the frame's code.
fn rank(
    levels: &[Level],
    (unit, is_elsewhere): (UnitId, bool),
    named: &Named,
    path: &Path<'_>,
    names: &UnitNames<'_>,
    meter: &Meter,
) -> Result<Option<Rank>> {
    let has_keyword = matches!(named.entity, Entity::Type(Some(_)));
    let is_parameter = named.entity.is_template_parameter();
    let mut best = None;
    for start in names.starts(named, path) {
        let outermost = Distance::Level {
            number: levels.len().saturating_sub(1),
            steps: 0,
        };
        let (mut distance, is_by_name) = match path.is_absolute {
            true => (outermost, false),
            false => distance(levels, unit, start, names, !is_parameter, meter)?,
        };
        if (is_parameter || named.entity == Entity::Member) && distance.level().is_none() {
            continue;
        }
        if named.is_static && is_elsewhere {
            distance = distance.max(Distance::Elsewhere);
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
            is_elsewhere,
            has_keyword,
        };
        best = Some(best.map_or(rank, |best: Rank| best.min(rank)));
    }
    Ok(best)
}
