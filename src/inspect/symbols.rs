//! Finds names of functions by address in the ELF symbol table, for code without debugging information.

use std::sync::OnceLock;

use crate::object::{CodeObject, Symbol, SymbolKind, SymbolSection};

/// The function symbols of a code object, by address.
#[derive(Debug)]
pub(super) struct FunctionSymbols<'a> {
    symbols: Vec<&'a Symbol<'a>>,
    /// The symbols by name, sorted on first use.
    by_name: OnceLock<Vec<&'a Symbol<'a>>>,
}

/// The maximum number of symbols tried before an address, since functions can be nested.
const TRIED: usize = 16;

impl<'a> FunctionSymbols<'a> {
    /// Sorts the symbols of an object. Returns none if its table cannot be read.
    pub(super) fn new(object: &'a CodeObject<'a>) -> FunctionSymbols<'a> {
        let symbols = object.symbols().unwrap_or_default().iter();
        let is_function = |symbol: &&Symbol<'_>| {
            symbol.kind == SymbolKind::Function && matches!(symbol.section, SymbolSection::Index(_))
        };
        let mut symbols: Vec<_> = symbols.filter(is_function).collect();
        symbols.sort_by_key(|symbol| symbol.address);
        FunctionSymbols {
            symbols,
            by_name: OnceLock::new(),
        }
    }

    /// Returns the symbols with a name, in the order of their addresses.
    pub(super) fn named(&self, name: &str) -> &[&'a Symbol<'a>] {
        let sorted = self.by_name.get_or_init(|| {
            let mut symbols = self.symbols.clone();
            symbols.sort_by(|one, other| one.name.cmp(&other.name));
            symbols
        });
        let first = sorted.partition_point(|symbol| &*symbol.name < name);
        let rest = sorted.get(first..).unwrap_or_default();
        let count = rest.partition_point(|symbol| &*symbol.name == name);
        rest.get(..count).unwrap_or_default()
    }

    /// Returns the nearest symbol that covers an address, and the distance from its start. A symbol without a size extends to the next.
    pub(super) fn at(&self, address: u64) -> Option<(&'a str, u64)> {
        let after = self
            .symbols
            .partition_point(|symbol| symbol.address <= address);
        let before = self.symbols.get(..after)?;
        let nearest = before.last()?.address;
        let covers = |symbol: &&Symbol<'_>| {
            let is_open = symbol.size == 0 && symbol.address == nearest;
            is_open
                || address
                    .checked_sub(symbol.address)
                    .is_some_and(|at| at < symbol.size)
        };
        let found = before
            .iter()
            .rev()
            .take(TRIED)
            .copied()
            .find(|symbol| covers(symbol))?;
        // If several have the same address, it is the first in the table.
        let first = before.partition_point(|symbol| symbol.address < found.address);
        let same = before.get(first..)?.iter().copied();
        let found = same
            .take_while(|symbol| symbol.address == found.address)
            .find(covers)?;
        Some((&found.name, address.checked_sub(found.address)?))
    }
}
