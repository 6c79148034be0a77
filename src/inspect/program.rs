//! Holds a code object with its debugging information, the basis of all queries.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::corrections::{Checked, CodeChecks};
use super::plan::Plans;
use super::symbols::FunctionSymbols;
use crate::arch::{Processor, WaveSize};
use crate::debug_info::{DebugInfo, Function};
use crate::error::Result;
use crate::expr::Dialect;
use crate::frame::{Cie, Correction, Derived, FrameIndex, FrameSection, SectionKind};
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
    /// The control flow of the machine code for the lanes of waves of each size, computed on first use.
    lane_flows: [OnceLock<LaneFlow<'a>>; 2],
    /// The checks of call frame information for waves of each size.
    code_checks: [OnceLock<CodeChecks<'a>>; 2],
    plans: Plans<'a>,
    symbols: OnceLock<FunctionSymbols<'a>>,
}

/// The inputs of a program. Threads with separate meters load it separately.
#[derive(Clone, Debug)]
pub(crate) struct Source<'a> {
    object: &'a CodeObject<'a>,
    /// The `.dwo` files.
    split: Vec<&'a CodeObject<'a>>,
    dialect: Dialect,
}

impl<'a> Source<'a> {
    /// Loads the program without reading any entry.
    ///
    /// # Errors
    /// Fails like [`Program::load`] and [`Program::with_split`].
    pub(crate) fn load(&self, meter: &Arc<Meter>) -> Result<Program<'a>> {
        let mut program = Program::load_within(self.object, meter)?;
        for dwo in &self.split {
            program = program.with_split(dwo)?;
        }
        Ok(program.with_dialect(self.dialect))
    }
}

impl<'a> Program<'a> {
    /// Loads the sections needed for queries about a code object. Entries are read on demand.
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
            code_checks: Default::default(),
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

    /// Reads expressions with the codes of `dialect` instead of the current ones.
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> Program<'a> {
        self.plans = Plans::default();
        self.info = self.info.with_dialect(dialect);
        self.source.dialect = dialect;
        self
    }

    /// Returns the codes for reading expressions.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.source.dialect
    }

    /// Returns the inputs of the program.
    pub(crate) fn source(&self) -> &Source<'a> {
        &self.source
    }

    /// Returns the limits for reading it and its waves, from the code object.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.object().limits()
    }

    /// Returns the meter for everything read from the program.
    pub(crate) fn meter(&self) -> &Arc<Meter> {
        self.info.meter()
    }

    /// Returns the code object.
    #[must_use]
    pub fn object(&self) -> &'a CodeObject<'a> {
        self.source.object
    }

    /// Returns its debugging information.
    #[must_use]
    pub fn info(&self) -> &DebugInfo<'a> {
        &self.info
    }

    /// Returns its call frame information.
    #[must_use]
    pub fn cfi(&self) -> &FrameIndex<'a> {
        &self.cfi
    }

    /// Returns the plans of the addresses queried so far.
    pub(super) fn plans(&self) -> &Plans<'a> {
        &self.plans
    }

    /// Returns the name of the function symbol that covers an address of the code object, and the distance from it in bytes.
    #[must_use]
    pub fn symbol_at(&self, address: u64) -> Option<(&'a str, u64)> {
        self.function_symbols().at(address)
    }

    /// Returns the function symbols.
    pub(super) fn function_symbols(&self) -> &FunctionSymbols<'a> {
        (self.symbols).get_or_init(|| FunctionSymbols::new(self.object()))
    }

    /// Returns the control flow of its machine code for the lanes of waves of a size.
    pub(crate) fn lane_flow(&self, wave_size: WaveSize) -> &LaneFlow<'a> {
        of_size(&self.lane_flows, wave_size).get_or_init(|| {
            // Without symbols there are no functions, and no inactive lane can be located.
            let functions = lane_flow::Function::all(self.object()).unwrap_or_default();
            LaneFlow::new(self.processor(), wave_size, functions, self.meter())
        })
    }

    /// Returns the correction of the row that holds at an address of the code object. Returns `None` if no rule is known to be wrong.
    ///
    /// * `cie`: of the row.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn correction(
        &self,
        address: u64,
        cie: &Cie<'_>,
        wave_size: WaveSize,
        meter: &Meter,
    ) -> Result<Option<Arc<Correction>>> {
        let checked = Checked {
            object: self.object(),
            cfi: &self.cfi,
            dialect: self.dialect(),
        };
        (self.checks(wave_size)).correction(address, cie, &checked, meter)
    }

    /// Returns the rules at an address of the code object, derived from the machine code. Returns `None` if they are not known.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn derived(
        &self,
        address: u64,
        wave_size: WaveSize,
        meter: &Meter,
    ) -> Result<Option<Arc<Derived>>> {
        let function = self.lane_flow(wave_size).function_with(address);
        let Some(function) = function.filter(|function| !function.is_kernel) else {
            return Ok(None);
        };
        (self.checks(wave_size)).derived(address, &function, self.dialect(), meter)
    }

    fn checks(&self, wave_size: WaveSize) -> &CodeChecks<'a> {
        of_size(&self.code_checks, wave_size)
            .get_or_init(|| CodeChecks::new(self.object(), wave_size))
    }

    /// Returns its processor.
    #[must_use]
    pub fn processor(&self) -> &'static Processor {
        self.source.object.target().processor()
    }

    /// Returns true if a function is a kernel: by its entry, or by a kernel descriptor with its name.
    #[must_use]
    pub fn is_kernel(&self, function: &Function<'_>) -> bool {
        function.is_kernel || self.kernel_of(function).is_some()
    }

    /// Returns the kernel with a function's name.
    pub(crate) fn kernel_of(&self, function: &Function<'_>) -> Option<&'a Kernel> {
        let named = |name: &Option<Cow<'_, str>>| self.kernel_named(name.as_deref()?);
        named(&function.linkage_name).or_else(|| named(&function.name))
    }

    /// Returns the kernel with a name.
    pub(crate) fn kernel_named(&self, name: &str) -> Option<&'a Kernel> {
        // A kernel with a damaged descriptor or metadata is ignored, and does not stop the query.
        let kernels = self.source.object.kernels().unwrap_or_default();
        let found = kernels.binary_search_by(|kernel| kernel.name.as_str().cmp(name));
        kernels.get(found.ok()?)
    }
}

/// Returns the value for waves of a size.
fn of_size<T>([wave32, wave64]: &[T; 2], wave_size: WaveSize) -> &T {
    match wave_size {
        WaveSize::Wave32 => wave32,
        WaveSize::Wave64 => wave64,
    }
}
