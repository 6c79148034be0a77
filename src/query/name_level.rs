//! Lists the scopes in which a frame looks up names, and finds the place of an entity in this list.
//!
//! The scopes are the blocks, functions, classes and namespaces around the code, from the innermost outwards, with the base classes after each
//! class. Using-directives are not followed. Sources: C17 §6.2.1, §6.2.3; C++20 [basic.lookup.unqual], [class.member.lookup].

use std::collections::BTreeMap;

use super::name_scope::{ScopeKind, ScopeNumber, UnitNames};
use crate::debug_info::UnitId;
use crate::error::Result;
use crate::meter::Meter;

/// The direct and indirect base classes of a class, with the number of steps to each, from 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Bases {
    pub(super) by_scope: BTreeMap<(UnitId, ScopeNumber), usize>,
    /// By full name. A type unit has only a part of the class that its type is in.
    pub(super) by_name: BTreeMap<String, usize>,
}

/// A scope in which a frame looks up names.
#[derive(Clone, Debug)]
pub(super) struct Level {
    /// The scope in its unit. None for the scope around all others.
    pub(super) scope: Option<(UnitId, ScopeNumber)>,
    /// The full name of a scope that is not local. Other units can have the same scope.
    pub(super) name: Option<String>,
    /// The base classes of a class.
    pub(super) bases: Bases,
    pub(super) is_body: bool,
    /// True for a class that its unit only declares.
    pub(super) is_declaration: bool,
}

/// The place of an entity relative to the frame. The least one is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Distance {
    /// In a scope around the frame's code, counted from the innermost, or in a base class of this scope. `steps` is the number of steps to the base
    /// class: a derived class hides names of its base classes.
    Level { number: usize, steps: usize },
    /// In a block of the frame's function that does not contain the pc.
    OtherBlock,
    /// In a scope that is not around the frame's code.
    Elsewhere,
    /// Local to another function.
    OtherFunction,
}

impl Distance {
    /// Returns the number of the scope around the frame's code, and the steps to its base class.
    pub(super) const fn level(self) -> Option<(usize, usize)> {
        match self {
            Distance::Level { number, steps } => Some((number, steps)),
            Distance::OtherBlock | Distance::Elsewhere | Distance::OtherFunction => None,
        }
    }
}

/// The order of entities with the same name. The least one is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// True for a type of C that is named without its keyword, such as `struct`.
    pub(super) lacks_keyword: bool,
    pub(super) distance: Distance,
    pub(super) is_declaration: bool,
    /// True if only the full name of the scope equals the name of the frame's scope. This is enough for a namespace, or for a class in another unit.
    pub(super) is_by_name: bool,
    /// True if the entity is in another unit than the source of the frame's code.
    pub(super) is_elsewhere: bool,
    /// True for a type with a keyword. A `typedef` is preferred.
    pub(super) has_keyword: bool,
}

impl Rank {
    /// Returns true if no other unit can have a better entity.
    pub(super) fn is_final(self) -> bool {
        !self.lacks_keyword && self.distance < Distance::Elsewhere && !self.is_declaration
    }

    /// Returns true if two entities with this rank are the same, like several declarations in a namespace.
    pub(super) fn is_unique(self, levels: &[Level]) -> bool {
        self.distance.level().is_some_and(|(number, steps)| {
            let level = levels.get(number);
            steps == 0 && level.is_some_and(|level| !level.is_body)
        })
    }
}

impl Level {
    /// Describes a scope of a unit, without base classes.
    pub(super) fn new(unit: UnitId, number: ScopeNumber, names: &UnitNames<'_>) -> Level {
        let scope = names.scopes.get(number);
        let is_body = scope.is_some_and(|scope| scope.kind == ScopeKind::Body);
        Level {
            scope: Some((unit, number)),
            name: names.scope_name(Some(number)).filter(|_| !is_body),
            bases: Bases::default(),
            is_body,
            is_declaration: false,
        }
    }

    /// Describes a scope that only has a name.
    pub(super) fn named(name: String) -> Level {
        Level {
            scope: None,
            name: Some(name),
            bases: Bases::default(),
            is_body: false,
            is_declaration: false,
        }
    }
}

/// Returns the place of entities in a scope of a unit, and true if it has only the name of a scope of the frame.
///
/// * `is_inherited`: false if the entities are not visible in derived classes.
pub(super) fn distance(
    levels: &[Level],
    unit: UnitId,
    scope: Option<ScopeNumber>,
    names: &UnitNames<'_>,
    is_inherited: bool,
    meter: &Meter,
) -> Result<(Distance, bool)> {
    meter.work(levels.len() as u64)?;
    let own = scope.map(|scope| (unit, scope));
    let name = names.scope_name(scope);
    let place = |level: &Level| match own {
        Some(own) if level.scope == Some(own) => Some((0, false)),
        _ if name.is_some() && level.name == name => Some((0, true)),
        own => {
            if !is_inherited {
                return None;
            }
            let bases = &level.bases;
            let steps = own.and_then(|own| bases.by_scope.get(&own));
            let named = || bases.by_name.get(name.as_deref()?);
            let is_by_name = steps.is_none();
            steps.or_else(named).map(|steps| (*steps, is_by_name))
        }
    };
    let mut places = (0..).zip(levels).filter_map(|(number, level)| {
        let (steps, is_by_name) = place(level)?;
        Some((Distance::Level { number, steps }, is_by_name))
    });
    if let Some(nearest) = places.next() {
        return Ok(nearest);
    }
    let mut body = names.local_to(scope);
    if body.is_none() {
        return Ok((Distance::Elsewhere, false));
    }
    while let Some(number) = body {
        meter.work(levels.len() as u64)?;
        if levels
            .iter()
            .any(|level| level.scope == Some((unit, number)))
        {
            return Ok((Distance::OtherBlock, false));
        }
        let outer = names.scopes.get(number).and_then(|scope| scope.outer);
        body = names.local_to(outer);
    }
    Ok((Distance::OtherFunction, false))
}
