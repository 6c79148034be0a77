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
    pub(super) name: &'a str,
    pub(super) address: u64,
    pub(super) size: u64,
    /// For a local symbol, the source file in the symbol table.
    pub(super) file: Option<&'a str>,
}

/// The symbols of a code object, at most one per address, sorted by address.
#[derive(Debug, Default)]
pub(super) struct Symbols<'a> {
    /// The symbol table.
    table: &'a [Symbol<'a>],
    by_address: Vec<Number>,
    /// The symbols sorted by name and then by address, filled when a name is first looked up.
    by_name: OnceCell<Vec<Number>>,
}

/// The number of a symbol in the table.
#[derive(Clone, Copy, Debug)]
struct Number {
    symbol: u32,
    /// For a local symbol, the number of the symbol with its source file.
    file: Option<u32>,
}

impl<'a> Symbols<'a> {
    pub(super) fn of(object: &'a CodeObject<'a>) -> Symbols<'a> {
        let mut symbols = Symbols {
            table: object.symbols().unwrap_or_default(),
            ..Symbols::default()
        };
        let mut found = Vec::new();
        let mut file = None;
        for (number, symbol) in (0_u32..).zip(symbols.table) {
            if symbol.kind == SymbolKind::File {
                file = Some(number);
            } else if is_memory(object, symbol) {
                found.push(Number {
                    symbol: number,
                    file: file.filter(|_| !symbol.global),
                });
            }
        }
        // The sort is stable: among equal symbols, the last in the table stays last.
        found.sort_by_key(|number| symbols.place(*number));
        found.reverse();
        found.dedup_by_key(|number| symbols.place(*number).0);
        found.reverse();
        found.shrink_to_fit();
        symbols.by_address = found;
        symbols
    }

    /// Returns the address and the size of a symbol.
    fn place(&self, number: Number) -> (u64, u64) {
        let symbol = self.table.get(number.symbol as usize);
        symbol.map_or((0, 0), |symbol| (symbol.address, symbol.size))
    }

    fn name(&self, number: Number) -> &'a str {
        let symbol = self.table.get(number.symbol as usize);
        symbol.map_or("", |symbol| &symbol.name)
    }

    fn named_symbol(&self, number: Number) -> Named<'a> {
        let (address, size) = self.place(number);
        let file = (number.file).and_then(|file| self.table.get(file as usize));
        Named {
            name: self.name(number),
            address,
            size,
            file: file.map(|file| &*file.name),
        }
    }

    /// Returns the symbol that covers an address.
    pub(super) fn at(&self, address: u64) -> Option<Named<'a>> {
        let after = (self.by_address).partition_point(|number| self.place(*number).0 <= address);
        let named = self.named_symbol(*self.by_address.get(after.checked_sub(1)?)?);
        let offset = address.checked_sub(named.address)?;
        Some(named).filter(|named| named.size == 0 || offset < named.size)
    }

    /// Returns the symbols with this name, ordered by address.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = Named<'a>> {
        let sorted = self.by_name.get_or_init(|| {
            let mut sorted = self.by_address.clone();
            sorted.sort_by_key(|number| self.name(*number));
            sorted
        });
        let first = sorted.partition_point(|number| self.name(*number) < name);
        let rest = sorted.get(first..).unwrap_or_default();
        let count = rest.partition_point(|number| self.name(*number) == name);
        let named = rest.get(..count).unwrap_or_default().iter();
        named.map(|number| self.named_symbol(*number))
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
