//! Writes the CIE, which functions share. Source: HET A.6.4.1; USAGE "Call Frame Information" has the values.

use std::collections::BTreeSet;

use super::function::{FunctionFrame, Start};
use super::state::State;
use super::target::Target;
use crate::arch::Register;
use crate::error::{Error, Result};
use crate::expr::{Dialect, Encoding, write_sleb, write_uleb};
use crate::frame::Augmentation;
use crate::frame::instruction::Instruction;

/// The size of an address of the default space: AMDGPU has only 64-bit processes.
pub(super) const ADDRESS_SIZE: u8 = 8;

/// The size of lengths and offsets. Source: DWARF 5 §7.4.
///
/// Intentionally exhaustive: DWARF has these two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// 32-bit DWARF, which compilers use.
    #[default]
    Dwarf32,
    /// 64-bit DWARF.
    Dwarf64,
}

impl Format {
    /// Returns the size of an offset, in bytes.
    #[must_use]
    pub fn offset_size(self) -> u8 {
        match self {
            Format::Dwarf32 => 4,
            Format::Dwarf64 => 8,
        }
    }

    /// Appends the length of an entry.
    fn write_length(self, length: usize, out: &mut Vec<u8>) -> Result<()> {
        match self {
            // From 0xfffffff0 on the numbers are reserved.
            Format::Dwarf32 => match u32::try_from(length) {
                Ok(length) if length < 0xffff_fff0 => out.extend(length.to_le_bytes()),
                Ok(_) | Err(_) => return Err(too_long()),
            },
            Format::Dwarf64 => {
                out.extend(u32::MAX.to_le_bytes());
                out.extend((length as u64).to_le_bytes());
            }
        }
        Ok(())
    }

    /// Appends an offset.
    pub(super) fn write_offset(self, offset: u64, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Format::Dwarf32 => {
                out.extend(u32::try_from(offset).map_err(|_| too_long())?.to_le_bytes());
            }
            Format::Dwarf64 => out.extend(offset.to_le_bytes()),
        }
        Ok(())
    }

    /// Returns the size of a length field, in bytes.
    pub(super) fn length_size(self) -> u8 {
        match self {
            Format::Dwarf32 => 4,
            Format::Dwarf64 => 12,
        }
    }

    /// Builds an entry from its body: prepends the length, and pads with `DW_CFA_nop` to a multiple of the address size.
    pub(super) fn entry(self, mut body: Vec<u8>) -> Result<Vec<u8>> {
        let size = body.len().saturating_add(self.length_size().into());
        let size = size
            .checked_next_multiple_of(ADDRESS_SIZE.into())
            .ok_or_else(too_long)?;
        body.resize(size.saturating_sub(self.length_size().into()), NOP);
        let mut entry = Vec::with_capacity(size);
        self.write_length(body.len(), &mut entry)?;
        entry.append(&mut body);
        Ok(entry)
    }
}

const NOP: u8 = 0;

fn too_long() -> Error {
    Error::malformed("entry length", "it is too large for 32-bit DWARF")
}

/// The contents of a Common Information Entry. Functions with equal contents share it.
///
/// It has version 4, addresses of 8 bytes, no segments, and the return address in `PC_64`. The rest can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Common {
    augmentation: String,
    format: Format,
    dialect: Dialect,
    code_alignment_factor: u64,
    data_alignment_factor: i64,
    initial: Vec<u8>,
    /// The state after the initial instructions, and the registers with rules.
    state: State,
    ruled: BTreeSet<u64>,
}

impl Default for Common {
    fn default() -> Common {
        Common::new()
    }
}

impl Common {
    /// Returns LLVM's CIE: no augmentation, 32-bit DWARF, both alignment factors 4, no initial instructions. Every register then has the default
    /// rule, *same value*.
    #[must_use]
    pub fn new() -> Common {
        Common {
            augmentation: String::new(),
            format: Format::Dwarf32,
            dialect: Dialect::User,
            code_alignment_factor: 4,
            data_alignment_factor: 4,
            initial: Vec::new(),
            state: State::default(),
            ruled: BTreeSet::new(),
        }
    }

    /// Sets the augmentation string. USAGE requires `[amd:v0.0]`. LLVM writes none, so that consumers that do not know the string (such as gimli)
    /// read the rules.
    ///
    /// # Errors
    /// If [`Augmentation`] does not support its form in `.debug_frame`.
    pub fn with_augmentation(mut self, text: &str) -> Result<Common> {
        let augmentation = Augmentation::parse(text);
        let usable = match &augmentation {
            Augmentation::None | Augmentation::Vendors(_) => augmentation.is_known(),
            Augmentation::EhFrame(_) | Augmentation::Unknown(_) => false,
        };
        if !usable || text.len() > 1000 || text.contains('\0') {
            let reason = "it is neither empty nor a known one, such as `[amd:v0.0]`";
            return Err(Error::malformed("augmentation string", reason));
        }
        text.clone_into(&mut self.augmentation);
        Ok(self)
    }

    /// Sets the DWARF format.
    #[must_use]
    pub fn with_format(mut self, format: Format) -> Common {
        self.format = format;
        self
    }

    /// Sets the codes of heterogeneous operations in expressions.
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> Common {
        self.dialect = dialect;
        self
    }

    /// Sets the factors of advances and of factored offsets, in bytes.
    ///
    /// # Errors
    /// If one is zero, or the initial instructions have been set already.
    pub fn with_alignment_factors(mut self, code: u64, data: i64) -> Result<Common> {
        if code == 0 || data == 0 {
            return Err(Error::malformed("alignment factor", "it is zero"));
        }
        if !self.initial.is_empty() {
            let reason = "it comes after the initial instructions";
            return Err(Error::malformed("alignment factor", reason));
        }
        (self.code_alignment_factor, self.data_alignment_factor) = (code, data);
        Ok(self)
    }

    /// Sets the initial instructions, with the events from `describe`, all of which must be at offset 0.
    ///
    /// # Errors
    /// If an event fails.
    pub fn with_initial(
        mut self,
        target: Target,
        describe: impl FnOnce(&mut FunctionFrame) -> Result<()>,
    ) -> Result<Common> {
        (self.initial, self.state, self.ruled) = (Vec::new(), State::default(), BTreeSet::new());
        let mut initial = FunctionFrame::new(target, &self, Start::Address(0), 0)?;
        describe(&mut initial)?;
        let (bytes, state, ruled) = initial.into_initial();
        (self.initial, self.state, self.ruled) = (bytes, state, ruled);
        Ok(self)
    }

    /// Returns the format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the sizes and codes of operands in expressions.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        Encoding {
            address_size: ADDRESS_SIZE,
            offset_size: self.format.offset_size(),
            dialect: self.dialect,
        }
    }

    /// Returns the factor of advances, in bytes.
    #[must_use]
    pub fn code_alignment_factor(&self) -> u64 {
        self.code_alignment_factor
    }

    /// Returns the factor of factored offsets, in bytes.
    #[must_use]
    pub fn data_alignment_factor(&self) -> i64 {
        self.data_alignment_factor
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Returns true if the initial instructions give a register a rule.
    pub(super) fn rules(&self, register: u64) -> bool {
        self.ruled.contains(&register)
    }

    /// Returns true if an assembler writes this CIE by default.
    pub(super) fn is_the_assemblers(&self) -> bool {
        let factors = (self.code_alignment_factor, self.data_alignment_factor);
        self.augmentation.is_empty() && self.initial.is_empty() && factors == (4, 4)
    }

    /// Returns the bytes of the entry.
    pub(super) fn write(&self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        // The marker of a CIE.
        match self.format {
            Format::Dwarf32 => body.extend(u32::MAX.to_le_bytes()),
            Format::Dwarf64 => body.extend(u64::MAX.to_le_bytes()),
        }
        const VERSION: u8 = 4;
        const SEGMENT_SELECTOR_SIZE: u8 = 0;
        body.push(VERSION);
        body.extend(self.augmentation.as_bytes());
        body.push(0);
        body.extend([ADDRESS_SIZE, SEGMENT_SELECTOR_SIZE]);
        write_uleb(self.code_alignment_factor, &mut body);
        write_sleb(self.data_alignment_factor, &mut body);
        write_uleb(Register::pc().number().into(), &mut body);
        body.extend(&self.initial);
        self.format.entry(body)
    }

    /// Returns an offset in units of the data alignment factor.
    pub(super) fn factored(&self, bytes: i64) -> Result<i64> {
        let factor = self.data_alignment_factor;
        match (bytes.checked_rem(factor), bytes.checked_div(factor)) {
            (Some(0), Some(factored)) => Ok(factored),
            (_, _) => Err(Error::malformed(
                "offset",
                format!("{bytes} is not a multiple of the data alignment factor {factor}"),
            )),
        }
    }

    /// Returns the shortest advance by some bytes of code.
    pub(super) fn advance(&self, bytes: u64) -> Result<Instruction<'static>> {
        let factor = self.code_alignment_factor;
        let delta = match (bytes.checked_rem(factor), bytes.checked_div(factor)) {
            (Some(0), Some(delta)) => delta,
            (_, _) => {
                let reason = format!("{bytes:#x} is not a multiple of the factor {factor}");
                return Err(Error::malformed("code offset", reason));
            }
        };
        Ok(match delta {
            0..=0x3f => Instruction::AdvanceLoc { delta },
            0x40..=0xff => Instruction::AdvanceLoc1 { delta },
            0x100..=0xffff => Instruction::AdvanceLoc2 { delta },
            0x1_0000..=0xffff_ffff => Instruction::AdvanceLoc4 { delta },
            _ => {
                let reason = "it is too far from the offset before it";
                return Err(Error::malformed("code offset", reason));
            }
        })
    }
}
