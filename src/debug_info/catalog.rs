//! Lists the contents of a whole file without a stop: its rows, functions, global variables and types.
//!
//! Resolving an address is left to `source_line` and `function`. Sources: DWARF 5 §3.3, §4.1, §5 and §6.2.

use std::collections::BTreeSet;
use std::sync::Arc;

use fallible_iterator::FallibleIterator;
use gimli::constants::{
    DW_AT_declaration, DW_AT_name, DW_TAG_base_type, DW_TAG_class_type, DW_TAG_enumeration_type,
    DW_TAG_interface_type, DW_TAG_structure_type, DW_TAG_subrange_type, DW_TAG_typedef,
    DW_TAG_union_type, DW_TAG_unspecified_type,
};
use gimli::{AttributeValue, DwTag};

use super::id::UnitId;
use super::types::{TypeId, TypeTable};
use super::{DebugInfo, Function, Row, SourceFile, Variable};
use crate::error::Result;
use crate::eval::{LocationAttribute, LocationEntry, LocationRange};

/// The types that have names of their own.
const NAMED: [DwTag; 9] = [
    DW_TAG_base_type,
    DW_TAG_typedef,
    DW_TAG_structure_type,
    DW_TAG_class_type,
    DW_TAG_union_type,
    DW_TAG_interface_type,
    DW_TAG_enumeration_type,
    DW_TAG_subrange_type,
    DW_TAG_unspecified_type,
];

/// A row of a line table with its file.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRow {
    /// The unit whose table has the row.
    pub unit: UnitId,
    /// The file, if the table has it.
    pub file: Option<SourceFile>,
    /// The row.
    pub row: Row,
}

impl<'a> DebugInfo<'a> {
    /// Returns all rows of all line tables in the order of the units. A table shared by several units is listed once.
    ///
    /// # Errors
    /// If a table cannot be read, or a limit is reached. If a line program ends early, the rows before the error are included.
    pub fn line_rows(&self) -> Result<Vec<LineRow>> {
        let mut rows = Vec::new();
        self.each_line_row(&mut |unit, row| {
            let file = self.source_file(unit, row.file)?;
            rows.push(LineRow { unit, file, row });
            Ok(())
        })?;
        Ok(rows)
    }

    /// Calls `visit` with all rows of all line tables.
    fn each_line_row(&self, visit: &mut dyn FnMut(UnitId, Row) -> Result<()>) -> Result<()> {
        let meter = self.for_query();
        let mut seen = BTreeSet::new();
        for unit in self.unit_ids() {
            let Some(table) = self.line_table(unit)? else {
                continue;
            };
            if !seen.insert((table.file, table.offset)) {
                continue;
            }
            meter.work(1)?;
            for row in table.rows() {
                meter.work(1)?;
                meter.hold_all::<LineRow>(1)?;
                visit(unit, row)?;
            }
        }
        Ok(())
    }

    /// Returns the addresses at which code of a line begins, in ascending order: where a debugger sets breakpoints.
    ///
    /// A row begins a line if it is a recommended breakpoint location (`is_stmt`), and the row before it belongs to another line.
    ///
    /// * `file`: a path as the line table has it, or the last components of one: `k.cl` for `./src/k.cl`.
    ///
    /// # Errors
    /// Fails like [`line_rows`](DebugInfo::line_rows).
    pub fn addresses_of(&self, file: &str, line: u64) -> Result<Vec<u64>> {
        let mut addresses = BTreeSet::new();
        // The file and line of the previous row, unless it ended a sequence.
        let mut before: Option<(UnitId, u64, u64)> = None;
        // True if the current run of rows has a recommended breakpoint location.
        let mut is_found = false;
        self.each_line_row(&mut |unit, row| {
            let place = (unit, row.file, row.line);
            let is_new = before != Some(place);
            before = (!row.end_sequence).then_some(place);
            if is_new {
                is_found = false;
            }
            if row.line != line || row.end_sequence || !row.is_stmt || is_found {
                return Ok(());
            }
            if let Some(known) = self.source_file(unit, row.file)?
                && is_path_of(&known.path, file)
            {
                is_found = true;
                addresses.insert(row.address);
            }
            Ok(())
        })?;
        Ok(addresses.into_iter().collect())
    }

    /// Returns the functions with code of all units.
    ///
    /// # Errors
    /// If a unit cannot be read, or a limit is reached.
    pub fn all_functions(&self) -> Result<Vec<Function<'a>>> {
        let meter = self.for_query();
        let mut all = Vec::new();
        let mut seen = BTreeSet::new();
        for unit in self.unit_ids() {
            for function in self.functions(unit)? {
                meter.work(1)?;
                meter.hold_all::<Function<'a>>(1)?;
                // Units that import the same partial unit share its functions.
                if seen.insert(function.die) {
                    all.push(function);
                }
            }
        }
        Ok(all)
    }

    /// Returns the variables of file scope and of namespaces of all units.
    ///
    /// # Errors
    /// If a unit cannot be read, or a limit is reached.
    pub fn all_globals(&self) -> Result<Vec<Arc<Variable<'a>>>> {
        let meter = self.for_query();
        let mut all = Vec::new();
        for unit in self.unit_ids() {
            self.globals_within(unit, &meter, &mut all)?;
        }
        let mut seen = BTreeSet::new();
        all.retain(|variable| seen.insert(variable.die));
        Ok(all)
    }

    /// Returns the type of a variable, or `None` if it cannot be read.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn variable_type(
        &self,
        variable: &Variable<'a>,
        types: &mut TypeTable,
    ) -> Result<Option<TypeId>> {
        match self.read_type(types, variable.ty, &self.for_query()) {
            Ok(ty) => Ok(Some(ty)),
            Err(error) if error.is_limit() => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Returns the location of a variable or a frame base as a list of expressions and their address ranges. A location that is one expression
    /// becomes a list with a default entry.
    ///
    /// # Errors
    /// If the list cannot be read, or a limit is reached.
    pub fn locations<'l>(&self, location: &LocationAttribute<'l>) -> Result<Vec<LocationEntry<'l>>>
    where
        'a: 'l,
    {
        let (unit, offset) = match *location {
            LocationAttribute::Expression(expression) => {
                return Ok(vec![LocationEntry::new(LocationRange::Default, expression)]);
            }
            LocationAttribute::List { unit, offset } => (UnitId(unit.id), offset),
        };
        let meter = self.for_query();
        let mut entries = self.location_list(unit, offset, &meter)?;
        let mut found = Vec::new();
        while let Some(entry) = entries.next()? {
            meter.hold_all::<LocationEntry<'a>>(1)?;
            found.push(entry);
        }
        Ok(found)
    }

    /// Returns the types with a name and a definition, one for each unit that defines the type.
    ///
    /// * `name`: the name in the source, without `struct` or `enum`. Enclosing namespaces and classes are optional.
    ///
    /// # Errors
    /// If a unit or a type cannot be read, or a limit is reached.
    pub fn types_named(&self, name: &str, types: &mut TypeTable) -> Result<Vec<TypeId>> {
        let meter = self.for_query();
        let last = name.rsplit("::").next().unwrap_or(name);
        let mut found = Vec::new();
        for unit in self.unit_ids() {
            let root = self.root(unit)?.id();
            let mut walk = self.walk(root)?;
            let wanted = |abbreviation: &gimli::Abbreviation| NAMED.contains(&abbreviation.tag());
            loop {
                let Some(entry) = walk.next_entry_with(wanted)? else {
                    break;
                };
                let is_type = NAMED.contains(&entry.tag());
                let declared = entry.attr_value(DW_AT_declaration);
                let is_declaration = matches!(declared, Some(AttributeValue::Flag(true)));
                walk.pay(&meter)?;
                if !is_type || is_declaration {
                    continue;
                }
                let die = walk.die();
                let named = die.attribute(DW_AT_name);
                let named = named.and_then(|attribute| self.string_of(&die, attribute));
                if named
                    .as_deref()
                    .is_none_or(|named| named != last && named != name)
                {
                    continue;
                }
                let id = self.read_type(types, Some(die.id()), &meter)?;
                let qualified = types.get(id).name.as_deref();
                if last == name || qualified == Some(name) {
                    meter.hold_all::<TypeId>(1)?;
                    found.push(id);
                }
            }
        }
        Ok(found)
    }
}

/// Returns true if a path equals `asked`, or ends with its components.
fn is_path_of(path: &str, asked: &str) -> bool {
    let (path, asked) = (plain(path), plain(asked));
    let before = path.strip_suffix(asked);
    !asked.is_empty() && before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Returns a path without a leading dot.
fn plain(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}
