//! Finds the scopes of names: the enclosing namespaces, structures and enumerations.
//!
//! Entries do not refer to their parents, so a unit is walked once, when a scope in it is first needed. Source: DWARF 5 §2.3, §3.2.2.

use core::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use fallible_iterator::FallibleIterator;
use gimli::DwTag;
use gimli::constants as dw;

use crate::debug_info::{DebugInfo, DieId, UnitId};

/// The maximum number of scopes of a name. Further ones are left out.
const DEPTH: usize = 32;

/// The scopes of the units needed so far.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    known: RefCell<HashMap<UnitId, Rc<BTreeMap<u64, u64>>>>,
}

impl Scopes {
    /// Returns the scopes of an entry, outermost first.
    pub(super) fn of(&self, info: &DebugInfo<'_>, id: DieId) -> Vec<DieId> {
        let scopes = self.unit(info, id.unit);
        let mut chain = Vec::new();
        let mut offset = id.offset;
        while let Some(parent) = scopes.get(&offset)
            && chain.len() < DEPTH
        {
            offset = *parent;
            chain.push(DieId { offset, ..id });
        }
        chain.reverse();
        chain
    }

    /// Returns the parent of each entry of a unit that may have a scope, if the parent is a scope.
    fn unit(&self, info: &DebugInfo<'_>, unit: UnitId) -> Rc<BTreeMap<u64, u64>> {
        if let Some(scopes) = self.known.borrow().get(&unit) {
            return Rc::clone(scopes);
        }
        let mut scopes = BTreeMap::new();
        let mut parents: Vec<(usize, u64, bool)> = Vec::new();
        // If a unit is malformed, it has the scopes read before the error.
        if let Ok(mut dies) = info.dies(unit) {
            while let Ok(Some(die)) = dies.next() {
                if die.is_null() {
                    continue;
                }
                while parents
                    .last()
                    .is_some_and(|(depth, ..)| *depth >= die.depth())
                {
                    parents.pop();
                }
                let scope = is_scoped(die.tag());
                if scope && let Some((_, parent, true)) = parents.last() {
                    scopes.insert(die.id().offset, *parent);
                }
                if die.has_children() {
                    parents.push((die.depth(), die.id().offset, scope));
                }
            }
        }
        let scopes = Rc::new(scopes);
        self.known.borrow_mut().insert(unit, Rc::clone(&scopes));
        scopes
    }
}

/// Returns true if the names of entries with this tag are qualified by their scope, and qualify others.
pub(super) fn is_scoped(tag: DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_structure_type
            | dw::DW_TAG_class_type
            | dw::DW_TAG_union_type
            | dw::DW_TAG_namespace
            | dw::DW_TAG_enumeration_type
            | dw::DW_TAG_typedef
    )
}
