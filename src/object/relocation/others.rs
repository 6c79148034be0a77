//! Lists the relocations of machines other than AMDGPU.

use super::{Formula, Width};
use crate::arch::Machine;

/// The relocations of other machines that occur in debugging information, by machine and number. Sources: the psABIs of the machines, "Relocation";
/// for BPF the Linux kernel's "LLVM relocations".
#[rustfmt::skip]
pub(super) const OTHERS: &[(Machine, u32, Width, Formula)] = {
    use Formula::{Absolute, Add, InSection, InSectionBiased, Nothing, Relative, Subtract};
    use Width::{Bits6, Byte, Uleb, Word16, Word32, Word64};
    const X86_64: Machine = Machine::X86_64;
    const AARCH64: Machine = Machine::AARCH64;
    const MIPS: Machine = Machine::MIPS;
    const PPC64: Machine = Machine::PPC64;
    const RISCV: Machine = Machine::RISCV;
    const BPF: Machine = Machine::BPF;
    const LOONGARCH: Machine = Machine::LOONGARCH;
    &[
        (X86_64,    0,   Width::Nothing, Nothing), // R_X86_64_NONE
        (X86_64,    1,   Word64, Absolute),        // R_X86_64_64
        (X86_64,    2,   Word32, Relative),        // R_X86_64_PC32
        (X86_64,    4,   Word32, Relative),        // R_X86_64_PLT32
        (X86_64,    10,  Word32, Absolute),        // R_X86_64_32
        (X86_64,    11,  Word32, Absolute),        // R_X86_64_32S
        (X86_64,    12,  Word16, Absolute),        // R_X86_64_16
        (X86_64,    14,  Byte,   Absolute),        // R_X86_64_8
        (X86_64,    17,  Word64, InSection),       // R_X86_64_DTPOFF64
        (X86_64,    21,  Word32, InSection),       // R_X86_64_DTPOFF32
        (X86_64,    24,  Word64, Relative),        // R_X86_64_PC64
        (AARCH64,   0,   Width::Nothing, Nothing), // R_AARCH64_NONE
        (AARCH64,   256, Width::Nothing, Nothing), // R_AARCH64_NONE
        (AARCH64,   257, Word64, Absolute),        // R_AARCH64_ABS64
        (AARCH64,   258, Word32, Absolute),        // R_AARCH64_ABS32
        (AARCH64,   259, Word16, Absolute),        // R_AARCH64_ABS16
        (AARCH64,   260, Word64, Relative),        // R_AARCH64_PREL64
        (AARCH64,   261, Word32, Relative),        // R_AARCH64_PREL32
        (MIPS,      0,   Width::Nothing, Nothing), // R_MIPS_NONE
        (MIPS,      2,   Word32, Absolute),        // R_MIPS_32
        (MIPS,      18,  Word64, Absolute),        // R_MIPS_64
        (MIPS,      41,  Word64, InSectionBiased), // R_MIPS_TLS_DTPREL64
        (MIPS,      248, Word32, Relative),        // R_MIPS_PC32
        (PPC64,     0,   Width::Nothing, Nothing), // R_PPC64_NONE
        (PPC64,     1,   Word32, Absolute),        // R_PPC64_ADDR32
        (PPC64,     26,  Word32, Relative),        // R_PPC64_REL32
        (PPC64,     38,  Word64, Absolute),        // R_PPC64_ADDR64
        (PPC64,     44,  Word64, Relative),        // R_PPC64_REL64
        (PPC64,     78,  Word64, InSectionBiased), // R_PPC64_DTPREL64
        (RISCV,     0,   Width::Nothing, Nothing), // R_RISCV_NONE
        (RISCV,     1,   Word32, Absolute),        // R_RISCV_32
        (RISCV,     2,   Word64, Absolute),        // R_RISCV_64
        (RISCV,     9,   Word64, InSection),       // R_RISCV_TLS_DTPREL64
        (RISCV,     33,  Byte,   Add),             // R_RISCV_ADD8
        (RISCV,     34,  Word16, Add),             // R_RISCV_ADD16
        (RISCV,     35,  Word32, Add),             // R_RISCV_ADD32
        (RISCV,     36,  Word64, Add),             // R_RISCV_ADD64
        (RISCV,     37,  Byte,   Subtract),        // R_RISCV_SUB8
        (RISCV,     38,  Word16, Subtract),        // R_RISCV_SUB16
        (RISCV,     39,  Word32, Subtract),        // R_RISCV_SUB32
        (RISCV,     40,  Word64, Subtract),        // R_RISCV_SUB64
        (RISCV,     52,  Bits6,  Subtract),        // R_RISCV_SUB6
        (RISCV,     53,  Bits6,  Absolute),        // R_RISCV_SET6
        (RISCV,     54,  Byte,   Absolute),        // R_RISCV_SET8
        (RISCV,     55,  Word16, Absolute),        // R_RISCV_SET16
        (RISCV,     56,  Word32, Absolute),        // R_RISCV_SET32
        (RISCV,     57,  Word32, Relative),        // R_RISCV_32_PCREL
        (RISCV,     60,  Uleb,   Absolute),        // R_RISCV_SET_ULEB128
        (RISCV,     61,  Uleb,   Subtract),        // R_RISCV_SUB_ULEB128
        (BPF,       0,   Width::Nothing, Nothing), // R_BPF_NONE
        (BPF,       2,   Word64, Absolute),        // R_BPF_64_ABS64
        (BPF,       3,   Word32, Absolute),        // R_BPF_64_ABS32
        (BPF,       4,   Word32, Absolute),        // R_BPF_64_NODYLD32
        (LOONGARCH, 0,   Width::Nothing, Nothing), // R_LARCH_NONE
        (LOONGARCH, 1,   Word32, Absolute),        // R_LARCH_32
        (LOONGARCH, 2,   Word64, Absolute),        // R_LARCH_64
        (LOONGARCH, 9,   Word64, InSection),       // R_LARCH_TLS_DTPREL64
        (LOONGARCH, 47,  Byte,   Add),             // R_LARCH_ADD8
        (LOONGARCH, 48,  Word16, Add),             // R_LARCH_ADD16
        (LOONGARCH, 50,  Word32, Add),             // R_LARCH_ADD32
        (LOONGARCH, 51,  Word64, Add),             // R_LARCH_ADD64
        (LOONGARCH, 52,  Byte,   Subtract),        // R_LARCH_SUB8
        (LOONGARCH, 53,  Word16, Subtract),        // R_LARCH_SUB16
        (LOONGARCH, 55,  Word32, Subtract),        // R_LARCH_SUB32
        (LOONGARCH, 56,  Word64, Subtract),        // R_LARCH_SUB64
        (LOONGARCH, 99,  Word32, Relative),        // R_LARCH_32_PCREL
        (LOONGARCH, 105, Bits6,  Add),             // R_LARCH_ADD6
        (LOONGARCH, 106, Bits6,  Subtract),        // R_LARCH_SUB6
        (LOONGARCH, 107, Uleb,   Add),             // R_LARCH_ADD_ULEB128
        (LOONGARCH, 108, Uleb,   Subtract),        // R_LARCH_SUB_ULEB128
        (LOONGARCH, 109, Word64, Relative),        // R_LARCH_64_PCREL
    ]
};
