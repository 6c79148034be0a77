//! Reads the names in a unit, except the names of local variables.
//!
//! Sources: DWARF 5 §3.1 to §3.3, §4, §5.

use std::borrow::Cow;

use gimli::DwTag;
use gimli::constants::{
    DW_AT_declaration, DW_AT_enum_class, DW_AT_export_symbols, DW_AT_external, DW_AT_name,
    DW_AT_specification, DW_TAG_base_type, DW_TAG_class_type, DW_TAG_constant,
    DW_TAG_enumeration_type, DW_TAG_enumerator, DW_TAG_imported_declaration, DW_TAG_inheritance,
    DW_TAG_inlined_subroutine, DW_TAG_member, DW_TAG_module, DW_TAG_namespace,
    DW_TAG_structure_type, DW_TAG_subprogram, DW_TAG_template_alias,
    DW_TAG_template_type_parameter, DW_TAG_template_value_parameter, DW_TAG_typedef,
    DW_TAG_union_type, DW_TAG_unspecified_type, DW_TAG_variable,
};

use super::name_scope::{
    Entity, EntryScopes, Named, NamedScope, ScopeKind, ScopeNumber, UnitNames,
};
use super::syntax::Tag;
use crate::debug_info::{DebugInfo, Die, DieId, UnitId, is_block};
use crate::error::Result;
use crate::meter::{HeldStack, Meter};

/// The steps charged for the name of a function or class in another entry.
const PER_NAME: u64 = 4;

/// Reads the names in units.
pub(super) struct NameReader<'d, 'a> {
    pub(super) info: &'d DebugInfo<'a>,
    pub(super) meter: &'d Meter,
}

/// An enclosing entry of the current one.
struct Open {
    depth: usize,
    scope: Option<ScopeNumber>,
    /// True if `scope` is the entry's own.
    is_scope: bool,
    enumeration: Option<DieId>,
}

impl<'a> NameReader<'_, 'a> {
    /// Adds the scope of an entry. Returns None for a namespace or enumeration without a name, whose names belong to the enclosing scope.
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
        let name = match name.cloned() {
            None if die.tag() == DW_TAG_subprogram || kind == ScopeKind::Class => {
                self.meter.work(PER_NAME)?;
                self.info.completed_name(die.id())
            }
            name => name,
        };
        let (name, kind) = match (name, kind) {
            (Some(name), kind) => (name, kind),
            (None, ScopeKind::Body) => (Cow::default(), kind),
            (None, ScopeKind::Class) => (Cow::default(), ScopeKind::NamelessClass),
            (None, _) => return Ok(None),
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

    fn add(&self, name: Cow<'a, str>, named: Named, names: &mut UnitNames<'a>) -> Result<()> {
        self.meter.charge_bytes(name.len())?;
        self.hold(&name)?;
        self.meter.hold_all::<Named>(2)?;
        names.named.entry(name).or_default().push(named);
        Ok(())
    }

    /// Adds the name of an entity that a using-declaration brings into a scope: `using a::x`. A namespace alias has a name of its own, and is not added.
    fn using(
        &self,
        die: &Die<'a>,
        scope: Option<ScopeNumber>,
        names: &mut UnitNames<'a>,
    ) -> Result<()> {
        self.meter.work(PER_NAME)?;
        let target = self
            .info
            .imported(die)
            .filter(|_| die.attribute(DW_AT_name).is_none());
        let target = target.filter(|target| target.unit == die.id().unit);
        let Some(target) = target.and_then(|target| self.info.die(target).ok()) else {
            return Ok(());
        };
        let name = target
            .attribute(DW_AT_name)
            .and_then(|name| self.info.string_of(&target, name));
        if let (Some(entity), Some(name)) = (entity_of(target.tag(), None), name) {
            self.add(name, named(&target, entity, scope), names)?;
        }
        Ok(())
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

    /// Returns the names of a unit, up to the first unreadable entry.
    ///
    /// # Errors
    /// If the budget is exhausted.
    pub(super) fn read(&self, unit: UnitId) -> Result<UnitNames<'a>> {
        let mut names = UnitNames {
            language: self.info.language(unit),
            ..UnitNames::default()
        };
        let Ok(mut dies) = self.info.dies(unit) else {
            return Ok(names);
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
            let is_in_scope = outer.is_some_and(|outer| outer.is_scope);
            let entity = entity_of(tag, enumeration).filter(|entity| match entity {
                // A template of variables or typedefs is no scope.
                Entity::TypeParameter | Entity::ValueParameter => is_in_scope,
                // Local variables depend on the pc, and are found elsewhere.
                Entity::Variable => {
                    names.local_to(scope).is_none() && die.attribute(DW_AT_specification).is_none()
                }
                Entity::Type(_) | Entity::Enumerator { .. } | Entity::Function | Entity::Member => {
                    true
                }
            });
            let kind = scope_kind(die);
            let is_scope = kind.is_some() && (die.has_children() || tag == DW_TAG_subprogram);
            let name = die
                .attribute(DW_AT_name)
                .filter(|_| entity.is_some() || is_scope);
            let name = name.and_then(|name| self.info.string_of(die, name));
            let name = name.filter(|name| !name.is_empty());
            if tag == DW_TAG_imported_declaration {
                self.using(die, scope, &mut names)?;
            }
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
                Some(kind) => self.open(die, kind, name.as_ref(), outer, &mut names)?,
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
                self.add(name, named(die, entity, scope), &mut names)?;
            }
        }
        Ok(names)
    }
}

fn named(die: &Die<'_>, entity: Entity, scope: Option<ScopeNumber>) -> Named {
    let is_declaration = die.flag(DW_AT_declaration);
    let is_external = die.flag(DW_AT_external);
    // Before DWARF 5, a static data member was a member.
    let is_variable = entity == Entity::Member && (is_declaration || is_external);
    let entity = match is_variable {
        true => Entity::Variable,
        false => entity,
    };
    let has_linkage = matches!(entity, Entity::Variable | Entity::Function);
    Named {
        die: die.id(),
        entity,
        scope,
        is_declaration,
        is_static: has_linkage && !is_external && !is_declaration,
    }
}

/// The kinds of entities with a name, except enumerators.
const ENTITIES: &[(DwTag, Entity)] = &[
    (DW_TAG_base_type, Entity::Type(None)),
    (DW_TAG_typedef, Entity::Type(None)),
    (DW_TAG_template_alias, Entity::Type(None)),
    (DW_TAG_unspecified_type, Entity::Type(None)),
    (DW_TAG_structure_type, Entity::Type(Some(Tag::Record))),
    (DW_TAG_class_type, Entity::Type(Some(Tag::Record))),
    (DW_TAG_union_type, Entity::Type(Some(Tag::Union))),
    (
        DW_TAG_enumeration_type,
        Entity::Type(Some(Tag::Enumeration)),
    ),
    (DW_TAG_subprogram, Entity::Function),
    (DW_TAG_variable, Entity::Variable),
    (DW_TAG_constant, Entity::Variable),
    (DW_TAG_member, Entity::Member),
    (DW_TAG_template_type_parameter, Entity::TypeParameter),
    (DW_TAG_template_value_parameter, Entity::ValueParameter),
];

/// Returns the kind of entity that an entry with a name is.
///
/// * `enumeration`: the enclosing entry, if it is an enumeration.
fn entity_of(tag: DwTag, enumeration: Option<DieId>) -> Option<Entity> {
    if tag == DW_TAG_enumerator {
        return enumeration.map(|enumeration| Entity::Enumerator { enumeration });
    }
    let row = ENTITIES.iter().find(|(known, _)| *known == tag);
    row.map(|(_, entity)| *entity)
}

/// Returns the kind of scope that an entry with children is.
fn scope_kind(die: &Die<'_>) -> Option<ScopeKind> {
    let tag = die.tag();
    let kinds = [
        (DW_TAG_module, ScopeKind::Namespace),
        (DW_TAG_structure_type, ScopeKind::Class),
        (DW_TAG_class_type, ScopeKind::Class),
        (DW_TAG_union_type, ScopeKind::Class),
        (DW_TAG_subprogram, ScopeKind::Body),
        (DW_TAG_inlined_subroutine, ScopeKind::Body),
    ];
    if tag == DW_TAG_namespace {
        return Some(match die.flag(DW_AT_export_symbols) {
            true => ScopeKind::InlineNamespace,
            false => ScopeKind::Namespace,
        });
    }
    if tag == DW_TAG_enumeration_type {
        return Some(match die.flag(DW_AT_enum_class) {
            true => ScopeKind::ScopedEnumeration,
            false => ScopeKind::Enumeration,
        });
    }
    if is_block(tag) {
        return Some(ScopeKind::Body);
    }
    let row = kinds.iter().find(|(known, _)| *known == tag);
    row.map(|(_, kind)| *kind)
}
