//! Reads the symbol table as llvm-symbolizer does.
//!
//! It differs from [`Program::symbol_at`](hetdwarf::inspect::Program::symbol_at) in three ways. Data and labels also name code. Among
//! several symbols at an address, the largest is chosen, and then the last. A symbol without a size extends to the next symbol.

use core::cell::OnceCell;

use hetdwarf::object::{CodeObject, Symbol, SymbolKind, SymbolSection};

/// `STT_GNU_IFUNC`.
const INDIRECT_FUNCTION: u8 = 10;

/// A symbol for an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'a> {
    pub(super) symbol: &'a Symbol<'a>,
    /// For a local symbol, the symbol with its source file.
    file: Option<&'a Symbol<'a>>,
}

impl<'a> Named<'a> {
    /// Returns the source file in the symbol table, for a local symbol.
    pub(super) fn file(&self) -> Option<&'a str> {
        self.file
            .map(|file| &*file.name)
            .filter(|file| !file.is_empty())
    }
}

/// The symbols of a code object, at most one per address, sorted by address.
#[derive(Debug, Default)]
pub(super) struct Symbols<'a> {
    by_address: Vec<Named<'a>>,
    /// The symbols sorted by name and then by address, filled when a name is first looked up.
    by_name: OnceCell<Vec<Named<'a>>>,
}

impl<'a> Symbols<'a> {
    pub(super) fn of(object: &'a CodeObject<'a>) -> Symbols<'a> {
        let mut found = Vec::new();
        let mut file = None;
        for symbol in object.symbols().unwrap_or_default() {
            if symbol.kind == SymbolKind::File {
                file = Some(symbol);
            } else if is_memory(object, symbol) {
                let file = file.filter(|_| !symbol.global);
                found.push(Named { symbol, file });
            }
        }
        // The sort is stable: among equal symbols, the last in the table stays last.
        found.sort_by_key(|named| (named.symbol.address, named.symbol.size));
        found.dedup_by(|next, kept| {
            let is_same = next.symbol.address == kept.symbol.address;
            if is_same {
                *kept = *next;
            }
            is_same
        });
        found.shrink_to_fit();
        Symbols {
            by_address: found,
            by_name: OnceCell::new(),
        }
    }

    /// Returns the symbol that covers an address.
    pub(super) fn at(&self, address: u64) -> Option<Named<'a>> {
        let after = (self.by_address).partition_point(|named| named.symbol.address <= address);
        let named = *self.by_address.get(after.checked_sub(1)?)?;
        let (start, size) = (named.symbol.address, named.symbol.size);
        let offset = address.checked_sub(start)?;
        (size == 0 || offset < size).then_some(named)
    }

    /// Returns the symbols with this name, ordered by address.
    pub(super) fn named(&self, name: &str) -> &[Named<'a>] {
        let sorted = self.by_name.get_or_init(|| {
            let mut sorted = self.by_address.clone();
            sorted.sort_by_key(|named| &*named.symbol.name);
            sorted
        });
        let first = sorted.partition_point(|named| &*named.symbol.name < name);
        let rest = sorted.get(first..).unwrap_or_default();
        let count = rest.partition_point(|named| named.symbol.name == name);
        rest.get(..count).unwrap_or_default()
    }
}

fn is_memory(object: &CodeObject<'_>, symbol: &Symbol<'_>) -> bool {
    let SymbolSection::Index(index) = symbol.section else {
        return false;
    };
    let section = object.sections().get(index);
    let is_kind = match symbol.kind {
        SymbolKind::None | SymbolKind::Function | SymbolKind::Object => true,
        SymbolKind::Other(kind) => kind == INDIRECT_FUNCTION,
        SymbolKind::Section | SymbolKind::File | _ => false,
    };
    is_kind && section.is_some_and(|section| section.allocated)
}
