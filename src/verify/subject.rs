//! Provides the checked code object in the form that rules use.

use core::cell::OnceCell;
use core::ops::Range;
use std::borrow::Cow;
use std::sync::Arc;

use super::finding::SourceLine;
use crate::arch::{Machine, Processor, Register, WaveSize};
use crate::expr::Dialect;
use crate::frame::FrameSection;
use crate::inspect::Program;
use crate::meter::Meter;
use crate::object::descriptor::KernelDescriptor;
use crate::object::{Kernel, SymbolKind, SymbolSection};
use crate::untrusted::Untrusted;

/// A function of the symbol table.
#[derive(Clone, Debug)]
pub(super) struct CodeSymbol<'a> {
    pub(super) name: Cow<'a, str>,
    /// The address range of its code; empty if the symbol has no size.
    pub(super) range: Range<u64>,
}

/// The facts about the code object for rules about a single instruction or expression. In contrast to [`Subject`], several threads can use them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) machine: Machine,
    pub(super) processor: &'static Processor,
    /// The size of its wavefronts, if all of them have the same size.
    pub(super) wave_size: Option<WaveSize>,
    pub(super) dialect: Dialect,
    /// The call frame information.
    pub(super) frame_section: FrameSection<'a>,
}

impl Facts<'_> {
    /// Returns the register with this number, including reserved registers. Returns `None` for machines other than AMDGPU, of which only register
    /// numbers are known.
    pub(super) fn register(&self, number: u64) -> Option<Register> {
        Register::from_number(number).filter(|_| self.machine.is_amdgpu())
    }

    /// Returns the size of the register in bits, if it is known.
    pub(super) fn register_bits(&self, number: u64) -> Option<u32> {
        self.register(number)?.size_in_bits()
    }

    /// Returns the name of the register in messages, or its number.
    pub(super) fn register_name(&self, number: u64) -> String {
        match (self.register(number), self.machine.register_name(number)) {
            (Some(register), _) => register.to_string(),
            (None, Some(name)) => name.to_string(),
            (None, None) => format!("register {number}"),
        }
    }
}

/// The start of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KernelEntry {
    /// The address of the first instruction.
    pub(super) address: u64,
    /// True if waves can allocate more vector registers. Their private memory may begin with an area for these registers.
    pub(super) has_dynamic_vgprs: bool,
}

impl KernelEntry {
    fn new(kernel: &Kernel) -> Option<KernelEntry> {
        let descriptor = kernel.descriptor.as_ref();
        Some(KernelEntry {
            address: kernel.entry()?,
            has_dynamic_vgprs: descriptor.is_some_and(KernelDescriptor::has_dynamic_vgprs),
        })
    }
}

/// A code object with facts that several rules use.
#[derive(Debug)]
pub(super) struct Subject<'p, 'a> {
    pub(super) program: &'p Program<'a>,
    meter: Arc<Meter>,
    symbols: OnceCell<Vec<CodeSymbol<'a>>>,
    /// True if the symbols include the ones that the linker does not export.
    pub(super) has_all_symbols: bool,
    /// The executable sections, sorted by address.
    pub(super) executable: Vec<Range<u64>>,
    /// The first instructions of kernels, sorted.
    pub(super) kernels: Vec<KernelEntry>,
    /// The size of its wavefronts, if all of them have the same size.
    pub(super) wave_size: Option<WaveSize>,
}

impl<'p, 'a> Subject<'p, 'a> {
    pub(super) fn new(program: &'p Program<'a>, meter: Arc<Meter>) -> Subject<'p, 'a> {
        let object = program.object();
        let mut executable: Vec<_> = object
            .sections()
            .iter()
            .filter(|section| section.executable)
            .filter_map(|section| Some(section.address..section.end()?))
            .collect();
        executable.sort_by_key(|range| (range.start, range.end));
        let kernels = object.kernels().unwrap_or_default();
        let processor = program.processor();
        let mut sizes = kernels.iter().filter_map(Kernel::wave_size);
        let wave_size = match (sizes.next(), processor.wave_sizes()) {
            (_, [only]) => Some(*only),
            (Some(first), _) => sizes.all(|size| size == first).then_some(first),
            (None, _) => None,
        };
        let mut entries: Vec<KernelEntry> = kernels.iter().filter_map(KernelEntry::new).collect();
        entries.sort_unstable();
        let has_all_symbols = object.sections().iter().any(|s| s.name == ".symtab");
        Subject {
            program,
            meter,
            symbols: OnceCell::new(),
            has_all_symbols,
            executable,
            kernels: entries,
            wave_size,
        }
    }

    /// Returns the functions, sorted by address. Of several functions with the same code, only the first by name is included.
    pub(super) fn symbols(&self) -> &[CodeSymbol<'a>] {
        self.symbols.get_or_init(|| {
            // `info` reports unreadable symbols. Here they are ignored.
            let all = self.program.object().symbols().unwrap_or_default();
            let mut symbols: Vec<_> = all
                .iter()
                .filter(|symbol| symbol.kind == SymbolKind::Function)
                .filter(|symbol| matches!(symbol.section, SymbolSection::Index(_)))
                .map(|symbol| CodeSymbol {
                    name: symbol.name.clone(),
                    range: symbol.address..symbol.address.saturating_add(symbol.size),
                })
                .collect();
            symbols.sort_by(|a, b| {
                (a.range.start, a.range.end, &a.name).cmp(&(b.range.start, b.range.end, &b.name))
            });
            symbols.dedup_by(|a, b| a.range == b.range);
            symbols
        })
    }

    /// Returns true if an address marks code that the linker dropped, because the code is unused or because another file has the same code. Linkers
    /// write such an address in place of the real one, and no code is at it. lld writes 0, and 1 in the lists of DWARF 4. Other linkers write one of
    /// the two largest addresses.
    pub(super) fn is_dropped(&self, start: u64) -> bool {
        matches!(start, 0 | 1 | 0xffff_ffff_ffff_fffe | u64::MAX)
            && !self.executable.iter().any(|range| range.contains(&start))
    }

    /// Returns true if an address is in a section of call stubs that linkers generate (`.plt`, `.plt.sec`). AMDGPU has no such sections.
    pub(super) fn is_made_by_linker(&self, pc: u64) -> bool {
        let mut sections = self.program.object().sections().iter();
        !self.machine().is_amdgpu()
            && sections.any(|section| {
                let is_inside = section
                    .end()
                    .is_some_and(|end| (section.address..end).contains(&pc));
                section.executable
                    && is_inside
                    && (section.name == ".plt" || section.name.starts_with(".plt."))
            })
    }

    /// Returns true if the object was compiled with debugging information.
    pub(super) fn has_debug_info(&self) -> bool {
        self.program.info().unit_ids().next().is_some()
    }

    /// Returns the meter of the query.
    pub(super) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    pub(super) fn facts(&self) -> Facts<'a> {
        Facts {
            machine: self.machine(),
            processor: self.program.processor(),
            wave_size: self.wave_size,
            dialect: self.program.dialect(),
            frame_section: self.frame_section(),
        }
    }

    /// Returns the machine. Rules about GPUs apply only to AMDGPU.
    pub(super) fn machine(&self) -> Machine {
        self.program.object().target().machine()
    }

    pub(super) fn processor(&self) -> &'static Processor {
        self.program.processor()
    }

    pub(super) fn frame_section(&self) -> FrameSection<'a> {
        *self.program.cfi().section()
    }

    /// Returns the function of the symbol table that contains an address.
    pub(super) fn symbol_at(&self, pc: u64) -> Option<&CodeSymbol<'a>> {
        let symbols = self.symbols();
        let after = symbols.partition_point(|symbol| symbol.range.start <= pc);
        let before = symbols.get(..after)?;
        before
            .last()
            .filter(|symbol| symbol.range.contains(&pc) || symbol.range.is_empty())
    }

    /// Returns true if a function in the debugging information starts at an address.
    pub(super) fn has_function_at(&self, pc: u64) -> bool {
        let function = self.program.info().find_function(pc).ok().flatten();
        function.is_some_and(|function| function.ranges.iter().any(|range| range.start == pc))
    }

    /// Returns the source line of an address, without its text. Returns `None` if there is none or it is unreadable.
    pub(super) fn source_at(&self, pc: u64) -> Option<SourceLine> {
        let info = self.program.info();
        let line = info.line_at(pc).ok().flatten()?;
        let file = line.file?;
        let md5 = info.source_md5(line.unit, file.index).ok().flatten();
        Some(SourceLine {
            md5,
            ..SourceLine::new(file.path.to_string(), line.line)
        })
    }

    /// Returns the text of the source line, if the line table contains the file. A long line is cut.
    pub(super) fn source_text_at(&self, pc: u64) -> Option<Untrusted<'static>> {
        let info = self.program.info();
        let line = info.line_at(pc).ok().flatten()?;
        let text = info.embedded_source(line.unit, line.file?.index).ok()??;
        self.meter.work(text.len() as u64).ok()?;
        let index = usize::try_from(line.line.checked_sub(1)?).ok()?;
        shown_line(text.lines().nth(index)?)
    }
}

/// Returns a line of a source file as findings show it: without indentation, and cut if it is long.
#[must_use]
pub fn shown_line(line: &str) -> Option<Untrusted<'static>> {
    /// The maximum number of characters.
    const MOST: usize = 200;
    let line: String = line.trim().chars().take(MOST).collect();
    (!line.is_empty()).then(|| line.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::object::CodeObject;

    /// Checks that the search for a shown line in the text of its file is charged.
    #[test]
    fn the_text_of_a_file_is_paid_for() {
        let file = include_bytes!("../../tests/debug_info/small-gfx1100-O0-embed.hsaco");
        let object = CodeObject::parse(file).unwrap();
        let program = Program::load(&object).unwrap();
        let meter = Arc::new(Meter::new(&Limits::DEFAULT, 0));
        let subject = Subject::new(&program, Arc::clone(&meter));
        // The first instruction of the kernel after its prologue, at line 6 of `small.cl`. The test `lines_are_found_and_files_carry_their_text` has
        // both addresses.
        let pc = 0x1b0c;
        let line = program.info().line_at(pc).unwrap().unwrap();
        let text = (program.info())
            .embedded_source(line.unit, line.file.unwrap().index)
            .unwrap()
            .unwrap();
        let wanted = text.lines().nth(5).unwrap().trim();
        let before = meter.steps();
        let shown = subject.source_text_at(pc).unwrap();
        assert_eq!(shown.raw(), wanted);
        assert!(meter.steps() - before >= text.len() as u64);

        let short = Limits {
            work: 100,
            ..Limits::DEFAULT
        };
        let meter = Arc::new(Meter::new(&short, 0));
        assert!(text.len() > 100);
        assert!(Subject::new(&program, meter).source_text_at(pc).is_none());
    }
}
