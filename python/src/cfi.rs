//! Writes call frame information, for compilers in Python.

use std::fmt::Write as _;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use hetdwarf::arch::{Lane, Register, TargetId, WaveSize};
use hetdwarf::frame::write::{
    Common, FrameTable, FunctionFrame, Mask, RelocationTarget, ReturnAddress, Start, Target,
};
use hetdwarf::lane_pc::SectionRelocation;

use crate::error::Failure;

/// A writer of call frame information. It takes functions in the order of the code, each with the effects of its instructions.
///
/// ```python
/// >>> writer = hetdwarf.CfiWriter("gfx1100", 32)
/// >>> writer.function("f", 64)
/// >>> writer.cfa_from_register(0, "s32")
/// >>> writer.stack_pointer_from_cfa(0, "s32")
/// >>> writer.return_address_in_pair(0, "s30")
/// >>> writer.saved_in_lane(8, "s33", "v40", 0)
/// >>> contents, relocations = writer.section()
/// >>> [(relocation.symbol, relocation.size) for relocation in relocations]
/// [(None, 4), ('f', 8)]
/// >>> ".cfi_startproc" in writer.directives()
/// True
///
/// ```
#[pyclass(module = "hetdwarf")]
pub struct CfiWriter {
    target: Target,
    size: WaveSize,
    functions: Vec<FunctionFrame>,
}

/// A field of a section that takes an absolute address: a symbol plus an addend.
#[pyclass(frozen, get_all, module = "hetdwarf")]
pub struct Relocation {
    /// The offset of the field in the section, in bytes.
    offset: u64,
    /// The symbol, or the name of a section, which begins with a dot; None for the start of this section in the linked output.
    symbol: Option<String>,
    /// The addend. The field holds it too.
    addend: u64,
    /// The size of the field, in bytes: 4 or 8.
    size: u8,
}

impl From<SectionRelocation> for Relocation {
    fn from(one: SectionRelocation) -> Relocation {
        Relocation {
            offset: one.offset,
            symbol: Some(one.symbol),
            addend: one.addend,
            size: one.size,
        }
    }
}

#[pymethods]
impl Relocation {
    fn __repr__(&self) -> String {
        let symbol = self.symbol.as_deref().unwrap_or("this section");
        crate::text::shown(&format!(
            "<Relocation {:#x} {symbol}+{:#x}>",
            self.offset, self.addend
        ))
    }
}

fn lane(number: u8) -> PyResult<Lane> {
    let lane = Some(number).filter(|number| *number < 64).map(Lane);
    lane.ok_or_else(|| PyValueError::new_err(format!("there is no lane {number}")))
}

impl CfiWriter {
    fn register(&self, name: &str) -> PyResult<Register> {
        let found = Register::from_name(name, Some(self.size));
        found.ok_or_else(|| PyValueError::new_err(format!("there is no register {name:?}")))
    }

    /// Reads a mask: None for EXEC as it was on entry, a name for a register, or a name and a number for a lane of a vector register.
    fn mask(&self, mask: Option<&Bound<'_, PyAny>>) -> PyResult<Mask> {
        let Some(mask) = mask else {
            return Ok(Mask::ExecOnEntry);
        };
        if let Ok(name) = mask.extract::<String>() {
            return Ok(Mask::Register(self.register(&name)?));
        }
        let (name, number): (String, u8) = mask.extract().map_err(|_| {
            PyTypeError::new_err("a mask is None, a register, or a register and a lane")
        })?;
        Ok(Mask::Lane {
            register: self.register(&name)?,
            lane: lane(number)?,
        })
    }

    /// Adds a rule to the current function, from an offset of its code on.
    fn say(
        &mut self,
        code_offset: u64,
        event: impl FnOnce(&mut FunctionFrame) -> hetdwarf::Result<&mut FunctionFrame>,
    ) -> PyResult<()> {
        let frame = self.functions.last_mut();
        let frame = frame.ok_or_else(|| PyValueError::new_err("no function has been begun"))?;
        frame.at(code_offset).map_err(Failure::from)?;
        event(frame).map_err(Failure::from)?;
        Ok(())
    }

    fn table(&self) -> FrameTable {
        let mut table = FrameTable::new();
        for function in &self.functions {
            table.add(function.clone());
        }
        table
    }
}

#[pymethods]
impl CfiWriter {
    /// Creates a writer without functions.
    ///
    /// * target: the target ID, `gfx90a` for example.
    /// * `wave_size`: the lanes of a wave, 32 or 64.
    #[new]
    fn new(target: &str, wave_size: u64) -> PyResult<CfiWriter> {
        let target: TargetId = target.parse().map_err(Failure::from)?;
        let size = WaveSize::from_lanes(wave_size);
        let size = size.ok_or_else(|| PyValueError::new_err("a wave has 32 or 64 lanes"))?;
        Ok(CfiWriter {
            target: Target::of(target.processor(), size).map_err(Failure::from)?,
            size,
            functions: Vec::new(),
        })
    }

    /// Begins a function. The following methods describe it. Each takes the offset of the byte after the instruction as its first argument.
    ///
    /// * symbol: the symbol at its first instruction.
    /// * size: the size of its code, in bytes.
    fn function(&mut self, symbol: &str, size: u64) -> PyResult<()> {
        let start = Start::symbol(symbol);
        if self.functions.iter().any(|known| *known.start() == start) {
            let message = format!("another function starts at {start}");
            return Err(PyValueError::new_err(message));
        }
        let frame = FunctionFrame::new(self.target, &Common::new(), start, size);
        self.functions.push(frame.map_err(Failure::from)?);
        Ok(())
    }

    /// Declares that the CFA is the current value of a scalar register, plus an offset in the units of the register.
    #[pyo3(signature = (code_offset, register, offset = 0))]
    fn cfa_from_register(&mut self, code_offset: u64, register: &str, offset: i64) -> PyResult<()> {
        let register = self.register(register)?;
        self.say(code_offset, |frame| {
            frame.cfa_from_register(register, offset)
        })
    }

    /// Declares that the CFA is in a lane of a vector register.
    fn cfa_from_lane(&mut self, code_offset: u64, vector: &str, number: u8) -> PyResult<()> {
        let (vector, lane) = (self.register(vector)?, lane(number)?);
        self.say(code_offset, |frame| frame.cfa_from_lane(vector, lane))
    }

    /// Declares that the function is a kernel: its CFA is the start of the wave's scratch, and it has no caller.
    fn kernel_entry(&mut self, code_offset: u64) -> PyResult<()> {
        self.say(code_offset, FunctionFrame::kernel_entry)
    }

    /// Declares that the caller's stack pointer, in this register, equals the CFA.
    fn stack_pointer_from_cfa(&mut self, code_offset: u64, register: &str) -> PyResult<()> {
        let register = self.register(register)?;
        self.say(code_offset, |frame| frame.stack_pointer_from_cfa(register))
    }

    /// Declares that the return address is in a pair of scalar registers, of which this is the lower one.
    fn return_address_in_pair(&mut self, code_offset: u64, register: &str) -> PyResult<()> {
        let place = ReturnAddress::Pair(self.register(register)?);
        self.say(code_offset, |frame| frame.return_address_in(place))
    }

    /// Declares that the return address is in a lane of a vector register and the lane after it.
    fn return_address_in_lanes(
        &mut self,
        code_offset: u64,
        vector: &str,
        number: u8,
    ) -> PyResult<()> {
        let place = ReturnAddress::Lanes {
            register: self.register(vector)?,
            low: lane(number)?,
            high: lane(number.saturating_add(1))?,
        };
        self.say(code_offset, |frame| frame.return_address_in(place))
    }

    /// Declares that there is no return address, because the function is dispatched and not called.
    fn return_address_undefined(&mut self, code_offset: u64) -> PyResult<()> {
        let place = ReturnAddress::Undefined;
        self.say(code_offset, |frame| frame.return_address_in(place))
    }

    /// Declares that a register was copied to another.
    fn saved_in_register(&mut self, code_offset: u64, register: &str, to: &str) -> PyResult<()> {
        let (register, to) = (self.register(register)?, self.register(to)?);
        self.say(code_offset, |frame| frame.saved_in_register(register, to))
    }

    /// Declares that a scalar register was written to a lane of a vector register.
    fn saved_in_lane(
        &mut self,
        code_offset: u64,
        register: &str,
        vector: &str,
        number: u8,
    ) -> PyResult<()> {
        let (register, vector) = (self.register(register)?, self.register(vector)?);
        let lane = lane(number)?;
        self.say(code_offset, |frame| {
            frame.saved_in_lane(register, vector, lane)
        })
    }

    /// Declares that the lanes of a vector register in a mask were copied to another vector register.
    ///
    /// * mask: None for EXEC as it was on entry, a register that holds the mask, or a vector register and its lane.
    #[pyo3(signature = (code_offset, register, vector, mask = None))]
    fn saved_in_vector(
        &mut self,
        code_offset: u64,
        register: &str,
        vector: &str,
        mask: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (register, vector) = (self.register(register)?, self.register(vector)?);
        let mask = self.mask(mask)?;
        self.say(code_offset, |frame| {
            frame.saved_in_vector(register, vector, mask)
        })
    }

    /// Declares that the lanes of a vector register in a mask were stored to scratch, `offset` bytes per lane after the CFA.
    ///
    /// * mask: see `saved_in_vector`.
    /// * inactive: the lanes outside the mask were stored, and the other lanes are still in the register.
    #[pyo3(signature = (code_offset, register, offset, mask = None, inactive = false))]
    fn saved_to_scratch(
        &mut self,
        code_offset: u64,
        register: &str,
        offset: u32,
        mask: Option<&Bound<'_, PyAny>>,
        inactive: bool,
    ) -> PyResult<()> {
        let (register, mask) = (self.register(register)?, self.mask(mask)?);
        self.say(code_offset, |frame| {
            if inactive {
                frame.inactive_saved_to_scratch(register, offset, mask)
            } else {
                frame.saved_to_scratch(register, offset, mask)
            }
        })
    }

    /// Declares that all lanes of a vector register were stored to scratch, `offset` bytes per lane after the CFA.
    fn saved_to_scratch_whole(
        &mut self,
        code_offset: u64,
        register: &str,
        offset: u32,
    ) -> PyResult<()> {
        let register = self.register(register)?;
        self.say(code_offset, |frame| {
            frame.saved_to_scratch_whole(register, offset)
        })
    }

    /// Declares that the caller's value of a register is lost.
    fn clobbered(&mut self, code_offset: u64, register: &str) -> PyResult<()> {
        let register = self.register(register)?;
        self.say(code_offset, |frame| frame.clobbered(register))
    }

    /// Declares that a register holds the caller's value again.
    fn restored(&mut self, code_offset: u64, register: &str) -> PyResult<()> {
        let register = self.register(register)?;
        self.say(code_offset, |frame| frame.restored(register))
    }

    /// Saves the current rules for `restore`.
    fn remember(&mut self, code_offset: u64) -> PyResult<()> {
        self.say(code_offset, FunctionFrame::remember)
    }

    /// Restores the rules that were saved last.
    fn restore(&mut self, code_offset: u64) -> PyResult<()> {
        self.say(code_offset, FunctionFrame::restore)
    }

    /// Adds call frame instructions as bytes, unchanged.
    fn escape(&mut self, code_offset: u64, instructions: &[u8]) -> PyResult<()> {
        self.say(code_offset, |frame| frame.escape(instructions))
    }

    /// Returns the section `.debug_frame` of all functions: its bytes, and the fields that need an address.
    fn section<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, Vec<Relocation>)> {
        let written = self.table().write().map_err(Failure::from)?;
        let points = written.relocations.into_iter().map(|point| Relocation {
            offset: point.offset,
            symbol: match point.target {
                RelocationTarget::Symbol(name) => Some(name),
                RelocationTarget::ThisSection => None,
            },
            addend: point.addend,
            size: point.size,
        });
        Ok((PyBytes::new(py, &written.bytes), points.collect()))
    }

    /// Returns the call frame information as directives of LLVM 22's assembler (`.cfi_…`), function by function.
    fn directives(&self) -> PyResult<String> {
        let mut all = String::new();
        for function in self.table().directives().map_err(Failure::from)? {
            // Writing to a string does not fail.
            let _ = writeln!(all, "{function}");
        }
        Ok(all)
    }
}
