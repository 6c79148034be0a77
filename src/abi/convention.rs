//! Which registers are callee-saved, and where the stack pointer and the return address are.
//!
//! Sources: USAGE "Non-Kernel Functions" for what is preserved; that some blocks of scalar registers are
//! not, and which, is seen in the code of LLVM 22 and 24 (`spec-notes/cfi-check.md`). For GCC, the
//! code of GCC 12.

use crate::isa::MachineRegister;

/// By whose rules functions call each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Convention {
    /// Stack pointer `s32`, return address `s[30:31]`.
    Llvm,
    /// Stack pointer `s[16:17]`, an address in the default address space; return address `s[18:19]`.
    Gcc,
}

impl Convention {
    /// The register with the stack pointer, or with its low half.
    pub(crate) const fn stack_pointer(self) -> u8 {
        match self {
            Convention::Llvm => 32,
            Convention::Gcc => 16,
        }
    }

    /// The register with the low half of the return address.
    pub(crate) const fn return_address(self) -> u8 {
        match self {
            Convention::Llvm => 30,
            Convention::Gcc => 18,
        }
    }

    /// Whether the register is callee-saved; of vector registers, in the lanes that were active on entry.
    pub(crate) fn preserves(self, register: MachineRegister) -> bool {
        match (self, register) {
            (Convention::Llvm, MachineRegister::Sgpr(n)) => {
                matches!(n, 32..=39 | 48..=55 | 64..=71 | 80..=87 | 96..=105)
            }
            (Convention::Llvm, MachineRegister::Vgpr(n)) => (40..256).contains(&n) && n % 16 >= 8,
            (Convention::Llvm, MachineRegister::Agpr(n)) => n >= 32,
            // What GCC's functions save differs from file to file; of these it is sure.
            (Convention::Gcc, MachineRegister::Sgpr(n)) => matches!(n, 14..=17),
            (_, _) => false,
        }
    }
}
