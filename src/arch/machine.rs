//! Machines of ELF files: AMDGPU, and the machines of which only debugging information is read.
//!
//! One table has all facts about other machines: the name, the file format of LLVM's tools, and the DWARF register numbers. Relocations are
//! left to `object`. Sources: ELF gABI "Machine Information"; the psABIs of the machines; names as in `llvm-dwarfdump` 22.

use core::fmt;

mod registers;

use super::RegisterName;
use registers::{AARCH64, BPF, LOONGARCH, MIPS, PPC64, RISCV, X86_64};

/// The machine of an ELF file, by its number (`e_machine`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Machine(pub u16);

/// Registers with consecutive numbers: the first and last number, the stem of their names, and the index of the first one. No index if the
/// stem is the whole name.
type Row = (u64, u64, &'static str, Option<u16>);

/// The row of a machine.
struct Facts {
    machine: Machine,
    name: &'static str,
    /// The name that `llvm-dwarfdump` prints for a 64-bit little-endian file.
    format: &'static str,
    registers: &'static [Row],
}

const fn facts(
    machine: Machine,
    name: &'static str,
    format: &'static str,
    registers: &'static [Row],
) -> Facts {
    Facts {
        machine,
        name,
        format,
        registers,
    }
}

#[rustfmt::skip]
const TABLE: &[Facts] = &[
    facts(Machine(3), "i386",      "elf64-i386",          &[]),
    facts(Machine::MIPS, "MIPS",      "elf64-mips",          MIPS),
    facts(Machine::PPC64, "PowerPC",   "elf64-powerpcle",     PPC64),
    facts(Machine(22), "S/390",     "elf64-s390",          &[]),
    facts(Machine(43), "SPARC",     "elf64-sparc",         &[]),
    facts(Machine::X86_64, "x86-64",    "elf64-x86-64",        X86_64),
    facts(Machine::AARCH64, "AArch64",   "elf64-littleaarch64", AARCH64),
    facts(Machine(190), "CUDA",      "elf64-unknown",       &[]),
    facts(Machine::AMDGPU, "AMDGPU",    "elf64-amdgpu",        &[]),
    facts(Machine::RISCV, "RISC-V",    "elf64-littleriscv",   RISCV),
    facts(Machine::BPF, "BPF",       "elf64-bpf",           BPF),
    facts(Machine(251), "VE",        "elf64-ve",            &[]),
    facts(Machine::LOONGARCH, "LoongArch", "elf64-loongarch",     LOONGARCH),
];

impl Machine {
    /// `EM_AMDGPU`.
    pub const AMDGPU: Machine = Machine(224);
    /// `EM_X86_64`.
    pub const X86_64: Machine = Machine(62);
    /// `EM_AARCH64`.
    pub const AARCH64: Machine = Machine(183);
    /// `EM_MIPS`.
    pub const MIPS: Machine = Machine(8);
    /// `EM_PPC64`.
    pub const PPC64: Machine = Machine(21);
    /// `EM_RISCV`.
    pub const RISCV: Machine = Machine(243);
    /// `EM_BPF`.
    pub const BPF: Machine = Machine(247);
    /// `EM_LOONGARCH`.
    pub const LOONGARCH: Machine = Machine(258);

    /// Returns true for AMDGPU. The rest of the library supports only its code, registers and address spaces.
    #[must_use]
    pub fn is_amdgpu(self) -> bool {
        self == Machine::AMDGPU
    }

    /// Returns the name, `x86-64` for example, if the table has it.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(self.facts()?.name)
    }

    /// Returns the file format in `llvm-dwarfdump`: `elf64-x86-64`, or `elf64-unknown`.
    #[must_use]
    pub fn file_format(self) -> &'static str {
        self.facts().map_or("elf64-unknown", |facts| facts.format)
    }

    /// Returns the name that `llvm-dwarfdump` prints for a DWARF register number of a machine other than AMDGPU, if the table has it.
    /// [`Register`](super::Register) has the names for AMDGPU.
    #[must_use]
    pub fn register_name(self, number: u64) -> Option<RegisterName> {
        let mut rows = self.facts()?.registers.iter();
        let (first, _, stem, first_index) =
            rows.find(|(first, last, ..)| (*first..=*last).contains(&number))?;
        let index = match first_index {
            Some(index) => {
                let distance = u16::try_from(number.checked_sub(*first)?).ok()?;
                Some(index.checked_add(distance)?)
            }
            None => None,
        };
        Some(RegisterName::new(stem, index))
    }

    fn facts(self) -> Option<&'static Facts> {
        TABLE.iter().find(|facts| facts.machine == self)
    }
}

/// Formats the name, or `machine 999` if it is unknown.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "machine {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `llvm-dwarfdump-22.txt` lists the machine, number and name of each register that llvm-dwarfdump 22 names, among the numbers below
    /// 400 and the control registers of RISC-V, 4096 to 8191. It was printed for a CIE with `DW_CFA_undefined` of each.
    #[test]
    fn registers_have_the_names_of_llvm_dwarfdump() {
        let text = include_str!("machine/llvm-dwarfdump-22.txt");
        for machine in [
            Machine::X86_64,
            Machine::AARCH64,
            Machine::MIPS,
            Machine::PPC64,
            Machine::RISCV,
            Machine::LOONGARCH,
            Machine::BPF,
        ] {
            let rows = text.lines().filter_map(|line| {
                let (of, rest) = line.split_once(' ')?;
                let (number, name) = rest.split_once(' ')?;
                (of == machine.name()?).then_some((number.parse::<u64>().ok()?, name.to_owned()))
            });
            let expected: Vec<_> = rows.collect();
            assert!(expected.len() > 11, "{}", expected.len());
            let ours = (0..8192).filter_map(|number| {
                let name = machine.register_name(number)?;
                Some((number, name.to_string()))
            });
            assert_eq!(ours.collect::<Vec<_>>(), expected);
        }
        assert_eq!(Machine::X86_64.register_name(u64::MAX), None);
        assert_eq!(Machine(999).register_name(0), None);
    }

    #[test]
    fn machines_have_the_names_of_the_gabi_and_formats_of_llvm() {
        assert_eq!(Machine::X86_64.to_string(), "x86-64");
        assert_eq!(Machine(999).to_string(), "machine 999");
        // LLVM 22, `ELFObjectFile<ELFT>::getFileFormatName`.
        assert_eq!(Machine::AARCH64.file_format(), "elf64-littleaarch64");
        assert_eq!(Machine::AMDGPU.file_format(), "elf64-amdgpu");
        assert_eq!(Machine(999).file_format(), "elf64-unknown");
    }
}
