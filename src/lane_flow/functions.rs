//! The functions of a code object.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::object::{CodeObject, Kernel, SymbolKind, SymbolSection};

/// A function of a code object.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// The address of its first instruction in the code object.
    pub address: u64,
    /// The machine code.
    pub code: &'a [u8],
    /// True if waves start in it.
    pub is_kernel: bool,
}

impl<'a> Function<'a> {
    /// Returns the functions of a code object that have code in it.
    ///
    /// # Errors
    /// If its symbols or metadata cannot be read.
    pub fn all(object: &'a CodeObject<'_>) -> Result<Vec<Function<'a>>> {
        let kernels: BTreeSet<u64> = (object.kernels()?.iter())
            .filter_map(Kernel::entry)
            .collect();
        let functions = object.symbols()?.iter().filter(|symbol| {
            symbol.kind == SymbolKind::Function && matches!(symbol.section, SymbolSection::Index(_))
        });
        let functions = functions.filter_map(|symbol| {
            let size = usize::try_from(symbol.size).ok()?;
            Some(Function {
                address: symbol.address,
                code: object.read_image(symbol.address, size)?,
                is_kernel: kernels.contains(&symbol.address),
            })
        });
        Ok(functions.collect())
    }
}
