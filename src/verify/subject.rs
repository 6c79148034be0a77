//! The code object under examination, as the rules see it.

use core::ops::Range;

use crate::arch::{Processor, WaveSize};
use crate::expr::Encoding;
use crate::frame::FrameSection;
use crate::inspect::Program;
use crate::object::{SymbolKind, SymbolSection};

/// A function of the symbol table.
#[derive(Clone, Debug)]
pub(super) struct CodeSymbol {
    pub(super) name: String,
    pub(super) range: Range<u64>,
    /// Whether a kernel descriptor names it: it has no caller.
    pub(super) is_kernel: bool,
}

/// A code object and what several rules ask of it.
#[derive(Debug)]
pub(super) struct Subject<'p, 'a> {
    pub(super) program: &'p Program<'a>,
    /// Functions with a size, by address; of several at one address the first by name.
    pub(super) symbols: Vec<CodeSymbol>,
    /// Executable sections, by address.
    pub(super) executable: Vec<Range<u64>>,
    /// The size of its wavefronts, if all of them have the same.
    pub(super) wave_size: Option<WaveSize>,
}

impl<'p, 'a> Subject<'p, 'a> {
    pub(super) fn new(program: &'p Program<'a>) -> Subject<'p, 'a> {
        let object = program.object();
        let mut executable: Vec<_> = object
            .sections()
            .iter()
            .filter(|section| section.executable)
            .filter_map(|section| Some(section.address..section.end()?))
            .collect();
        executable.sort_by_key(|range| (range.start, range.end));
        let kernels = object.kernels().unwrap_or_default();
        // Symbols that cannot be read are the business of `info`; here they are just not there.
        let mut symbols: Vec<_> = object
            .symbols()
            .unwrap_or_default()
            .iter()
            .filter(|symbol| symbol.kind == SymbolKind::Function && symbol.size > 0)
            .filter(|symbol| matches!(symbol.section, SymbolSection::Index(_)))
            .map(|symbol| CodeSymbol {
                name: symbol.name.clone().into_owned(),
                range: symbol.address..symbol.address.saturating_add(symbol.size),
                is_kernel: kernels.iter().any(|kernel| kernel.name == symbol.name),
            })
            .collect();
        symbols.sort_by(|a, b| {
            (a.range.start, a.range.end, &a.name).cmp(&(b.range.start, b.range.end, &b.name))
        });
        symbols.dedup_by(|a, b| a.range == b.range);
        let processor = program.processor();
        let mut sizes = kernels.iter().filter_map(crate::object::Kernel::wave_size);
        let wave_size = match (sizes.next(), processor.wave_sizes()) {
            (_, [only]) => Some(*only),
            (Some(first), _) => sizes.all(|size| size == first).then_some(first),
            (None, _) => None,
        };
        Subject {
            program,
            symbols,
            executable,
            wave_size,
        }
    }

    pub(super) fn processor(&self) -> &'static Processor {
        self.program.processor()
    }

    pub(super) fn frame_section(&self) -> FrameSection<'a> {
        *self.program.cfi().section()
    }

    /// How expressions of call frame information with addresses of this size are encoded.
    pub(super) fn cfi_encoding(&self, address_size: u8) -> Encoding {
        Encoding {
            address_size,
            dialect: self.program.dialect(),
            ..Encoding::AMDGPU
        }
    }

    /// The function of the symbol table that an address is in.
    pub(super) fn symbol_at(&self, pc: u64) -> Option<&CodeSymbol> {
        let after = self
            .symbols
            .partition_point(|symbol| symbol.range.start <= pc);
        let before = self.symbols.get(..after)?;
        before.last().filter(|symbol| symbol.range.contains(&pc))
    }

    /// The file and line of an address; nothing where there is none, or it cannot be read.
    pub(super) fn source_at(&self, pc: u64) -> Option<(String, u64)> {
        let line = self.program.info().line_at(pc).ok().flatten()?;
        Some((line.file?.path.to_string(), line.line))
    }
}
