//! The callee-saved registers, and the places of the stack pointer and the return address.
//!
//! Sources: USAGE "Non-Kernel Functions" for the preserved registers; the code of LLVM 22 (`llvm-22.txt`) and 24
//! (`spec-notes/cfi-check.md`) for the blocks of scalar registers that are not preserved. For GCC, the code of GCC 12.

use crate::arch::{AccumulationFile, Family};
use crate::isa::MachineRegister;

/// The calling convention of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Convention {
    /// Stack pointer `s32`, return address `s[30:31]`.
    Llvm,
    /// Stack pointer `s[16:17]`, an address in the default address space; return address `s[18:19]`.
    Gcc,
}

impl Convention {
    /// Returns the register with the stack pointer, or with its low half.
    pub(crate) const fn stack_pointer(self) -> u8 {
        match self {
            Convention::Llvm => 32,
            Convention::Gcc => 16,
        }
    }

    /// Returns the register with the low half of the return address.
    pub(crate) const fn return_address(self) -> u8 {
        match self {
            Convention::Llvm => 30,
            Convention::Gcc => 18,
        }
    }

    /// Returns true if the register is callee-saved; a vector register, in the lanes that were active on entry.
    pub(crate) const fn preserves(self, register: MachineRegister, family: Family) -> bool {
        match (self, register) {
            (Convention::Llvm, MachineRegister::Sgpr(n)) => {
                matches!(n, 32..=39 | 48..=55 | 64..=71 | 80..=87 | 96..=105)
            }
            (Convention::Llvm, MachineRegister::Vgpr(n)) => matches!(n, 40..256) && n % 16 >= 8,
            (Convention::Llvm, MachineRegister::Agpr(n)) => {
                n >= 32 && matches!(family.accumulation(), AccumulationFile::Unified)
            }
            // The registers that GCC's functions save differ between files; only these are certain.
            (Convention::Gcc, MachineRegister::Sgpr(n)) => matches!(n, 14..=17),
            (_, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Processor;
    use crate::isa::Decoder;

    /// Parses numbers like `40-47,56`.
    fn numbers(text: &str) -> Vec<u16> {
        let runs = text.split(',').filter(|run| !run.is_empty());
        runs.flat_map(|run| {
            let (first, last) = run.split_once('-').unwrap_or((run, run));
            first.parse().unwrap()..=last.parse().unwrap()
        })
        .collect()
    }

    /// Clang 22 compiled functions that change one register, and saved the registers that the caller may rely on.
    #[test]
    fn llvm_saves_what_is_preserved() {
        let recorded: Vec<(Family, &str)> = include_str!("llvm-22.txt")
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let (name, saved) = line.split_once(' ').unwrap();
                (Processor::by_name(name).unwrap().family().unwrap(), saved)
            })
            .collect();
        for processor in Processor::ALL {
            if let Some(decoder) = Decoder::new(processor, None) {
                let is_recorded = recorded
                    .iter()
                    .any(|(family, _)| *family == decoder.family());
                assert!(
                    is_recorded,
                    "nothing is recorded of the likes of {}",
                    processor.name()
                );
            }
        }
        for (family, saved) in recorded {
            for kind in saved.split(' ') {
                let (kind, list) = kind.split_once(':').unwrap();
                let list = numbers(list);
                for number in 0..256 {
                    let register = match kind {
                        "v" => MachineRegister::Vgpr(number),
                        "a" => MachineRegister::Agpr(number),
                        _ => MachineRegister::Sgpr(u8::try_from(number).unwrap()),
                    };
                    // The stack pointer cannot be changed like this. The return address is saved, but is not the caller's any more.
                    let is_other = matches!(register, MachineRegister::Sgpr(30..=32 | 102..));
                    let is_preserved = Convention::Llvm.preserves(register, family);
                    let is_saved = list.contains(&number);
                    assert!(
                        is_other || is_preserved == is_saved,
                        "{register} of {family:?}"
                    );
                }
            }
        }
    }
}
