//! A code object with its debugging information, the start of all questions.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::plan::Plans;
use super::symbols::FunctionSymbols;
use crate::arch::{Processor, WaveSize};
use crate::debug_info::{DebugInfo, Function};
use crate::error::Result;
use crate::expr::Dialect;
use crate::frame::{FrameIndex, FrameSection, SectionKind};
use crate::lane_flow::{self, LaneFlow};
use crate::limits::Limits;
use crate::meter::Meter;
use crate::object::{CodeObject, Kernel};

/// A code object with its debugging information and call frame information.
#[derive(Debug)]
pub struct Program<'a> {
    source: Source<'a>,
    info: DebugInfo<'a>,
    cfi: FrameIndex<'a>,
    /// The machine code as the lanes of waves of each size go through it, made when it is first asked for.
    lane_flows: [OnceLock<LaneFlow<'a>>; 2],
    plans: Plans<'a>,
    symbols: OnceLock<FunctionSymbols<'a>>,
}

/// The source of a program. Threads with meters of their own load it separately.
#[derive(Clone, Debug)]
pub(crate) struct Source<'a> {
    object: &'a CodeObject<'a>,
    /// The `.dwo` files.
    split: Vec<&'a CodeObject<'a>>,
    dialect: Dialect,
}

impl<'a> Source<'a> {
    /// Returns the program, of which nothing is read yet.
    ///
    /// # Errors
    /// As those of [`Program::load`] and [`Program::with_split`].
    pub(crate) fn load(&self, meter: &Arc<Meter>) -> Result<Program<'a>> {
        let mut program = Program::load_within(self.object, meter)?;
        for dwo in &self.split {
            program = program.with_split(dwo)?;
        }
        Ok(program.with_dialect(self.dialect))
    }
}

impl<'a> Program<'a> {
    /// Loads what is needed to answer questions about a code object. Entries are read when they are asked
    /// for.
    ///
    /// # Errors
    /// If a debug section cannot be decompressed or relocated.
    pub fn load(object: &'a CodeObject<'a>) -> Result<Program<'a>> {
        Program::load_within(object, object.meter())
    }

    /// Loads a program and charges `meter` for it.
    pub(crate) fn load_within(
        object: &'a CodeObject<'a>,
        meter: &Arc<Meter>,
    ) -> Result<Program<'a>> {
        let section = |name| Ok(object.debug_section(name)?.0);
        let (_, of_6) = object.debug_section(".debug_info")?;
        let mut info = DebugInfo::load_within(meter, section)?.with_units_of_6(of_6);
        if object.has_split_units() {
            info = info.with_split(section)?;
        }
        let cfi = match object.section(".debug_frame")? {
            Some(bytes) => FrameSection::debug_frame(bytes),
            None => {
                let address = object
                    .sections()
                    .iter()
                    .find(|section| section.name == ".eh_frame")
                    .map_or(0, |s| s.address);
                FrameSection::new(
                    object.section(".eh_frame")?.unwrap_or_default(),
                    SectionKind::EhFrame,
                    address,
                    8,
                )
            }
        };
        let source = Source {
            object,
            split: Vec::new(),
            dialect: Dialect::User,
        };
        Ok(Program {
            source,
            info,
            cfi: FrameIndex::new(cfi),
            lane_flows: Default::default(),
            plans: Plans::default(),
            symbols: OnceLock::new(),
        })
    }

    /// Adds the debugging information of a `.dwo` file.
    ///
    /// # Errors
    /// If a debug section of it cannot be decompressed or relocated.
    pub fn with_split(mut self, dwo: &'a CodeObject<'a>) -> Result<Program<'a>> {
        self.plans = Plans::default();
        self.info = self
            .info
            .with_split(|name| Ok(dwo.debug_section(name)?.0))?;
        self.source.split.push(dwo);
        Ok(self)
    }

    /// Reads expressions with the codes of `dialect` instead of today's.
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> Program<'a> {
        self.plans = Plans::default();
        self.info = self.info.with_dialect(dialect);
        self.source.dialect = dialect;
        self
    }

    /// Returns the codes that expressions are read with.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.source.dialect
    }

    /// Returns the source of the program.
    pub(crate) fn source(&self) -> &Source<'a> {
        &self.source
    }

    /// Returns the limits that it and its waves are read within: those of the code object.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.object().limits()
    }

    /// Returns the meter of everything that was read from the program.
    pub(crate) fn meter(&self) -> &Arc<Meter> {
        self.info.meter()
    }

    /// Returns the code object.
    #[must_use]
    pub fn object(&self) -> &'a CodeObject<'a> {
        self.source.object
    }

    /// Its debugging information.
    #[must_use]
    pub fn info(&self) -> &DebugInfo<'a> {
        &self.info
    }

    /// Its call frame information.
    #[must_use]
    pub fn cfi(&self) -> &FrameIndex<'a> {
        &self.cfi
    }

    /// Returns the plans of the addresses that were asked for.
    pub(super) fn plans(&self) -> &Plans<'a> {
        &self.plans
    }

    /// Returns the name of the function symbol that covers an address of the code object, and how many bytes after it the address is.
    #[must_use]
    pub fn symbol_at(&self, address: u64) -> Option<(&'a str, u64)> {
        self.function_symbols().at(address)
    }

    /// Returns the function symbols.
    pub(super) fn function_symbols(&self) -> &FunctionSymbols<'a> {
        (self.symbols).get_or_init(|| FunctionSymbols::new(self.object()))
    }

    /// Its machine code as the lanes of waves of a size go through it.
    pub(crate) fn lane_flow(&self, wave_size: WaveSize) -> &LaneFlow<'a> {
        let [wave32, wave64] = &self.lane_flows;
        let cell = match wave_size {
            WaveSize::Wave32 => wave32,
            WaveSize::Wave64 => wave64,
        };
        cell.get_or_init(|| {
            // Without symbols there are no functions, and nothing is known of any lane that is off.
            let functions = lane_flow::Function::all(self.object()).unwrap_or_default();
            LaneFlow::new(self.processor(), wave_size, functions, self.meter())
        })
    }

    /// Returns the processor it is for.
    #[must_use]
    pub fn processor(&self) -> &'static Processor {
        self.source.object.target().processor()
    }

    /// Returns true if a function is a kernel: by its entry, or by a kernel descriptor of its name.
    #[must_use]
    pub fn is_kernel(&self, function: &Function<'_>) -> bool {
        function.is_kernel || self.kernel_of(function).is_some()
    }

    /// The kernel of a function's name.
    pub(crate) fn kernel_of(&self, function: &Function<'_>) -> Option<&'a Kernel> {
        let named = |name: &Option<Cow<'_, str>>| self.kernel_named(name.as_deref()?);
        named(&function.linkage_name).or_else(|| named(&function.name))
    }

    /// Returns the kernel of a name.
    pub(crate) fn kernel_named(&self, name: &str) -> Option<&'a Kernel> {
        // A kernel whose descriptor or metadata is damaged is a kernel less, and no reason to stop.
        let kernels = self.source.object.kernels().unwrap_or_default();
        let found = kernels.binary_search_by(|kernel| kernel.name.as_str().cmp(name));
        kernels.get(found.ok()?)
    }
}
