//! Lists the fields of kernel descriptors: one row each, as in the tables of the document.
//!
//! Source: USAGE "Code Object V3 Kernel Descriptor" and the tables of `compute_pgm_rsrc1`, `2` and `3`.

use crate::arch::Family;

/// The word to which a row's bit numbers refer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// The descriptor as a whole: bits 0 to 511.
    Descriptor,
    /// `COMPUTE_PGM_RSRC1`.
    Rsrc1,
    /// `COMPUTE_PGM_RSRC2`.
    Rsrc2,
    /// `COMPUTE_PGM_RSRC3`.
    Rsrc3,
}

impl Word {
    /// Returns the descriptor's bit number of bit 0 of the word.
    #[must_use]
    pub const fn first_bit(self) -> u32 {
        match self {
            Word::Descriptor => 0,
            Word::Rsrc3 => 352,
            Word::Rsrc1 => 384,
            Word::Rsrc2 => 416,
        }
    }
}

/// The place of a field, on a range of families.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The word to which `high` and `low` refer.
    pub word: Word,
    /// The highest bit.
    pub high: u32,
    /// The lowest bit.
    pub low: u32,
    /// The first family.
    pub first: Family,
    /// The last family, or `None` if all newer ones have it.
    pub last: Option<Family>,
}

impl Placement {
    /// Returns the lowest bit, from the start of the descriptor.
    #[must_use]
    pub const fn first_bit(&self) -> u32 {
        self.word.first_bit().saturating_add(self.low)
    }

    /// Returns the number of bits.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.high.saturating_sub(self.low).saturating_add(1)
    }

    pub(super) fn covers(&self, bit: u32) -> bool {
        bit.checked_sub(self.first_bit())
            .is_some_and(|offset| offset < self.width())
    }

    fn holds_for(&self, family: Family) -> bool {
        self.first <= family && self.last.is_none_or(|last| family <= last)
    }
}

macro_rules! last_family {
    () => {
        None
    };
    ($last:ident) => {
        Some(Family::$last)
    };
}

macro_rules! fields {
    ($($field:ident $name:literal [$($word:ident $high:literal:$low:literal $first:ident..$($last:ident)?),+] $what:literal;)*) => {
        /// A field of a kernel descriptor.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Field {
            $(#[doc = concat!("`", $name, "`: ", $what, ".")] $field,)*
        }

        impl Field {
            /// Every field, in the order of the tables.
            pub const ALL: &'static [Field] = &[$(Field::$field,)*];

            /// Returns the name in the tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Field::$field => $name,)* }
            }

            /// Returns its meaning.
            #[must_use]
            pub const fn description(self) -> &'static str {
                match self { $(Field::$field => $what,)* }
            }

            /// Returns the places of the field: ranges of families that do not overlap.
            #[must_use]
            pub const fn placements(self) -> &'static [Placement] {
                match self {
                    $(Field::$field => &[$(Placement {
                        word: Word::$word,
                        high: $high,
                        low: $low,
                        first: Family::$first,
                        last: last_family!($($last)?),
                    },)+],)*
                }
            }
        }
    };
}

impl Field {
    /// Returns the place of the field on a family, or `None` if the family does not have it.
    #[must_use]
    pub fn placement(self, family: Family) -> Option<&'static Placement> {
        let family = super::described(family)?;
        self.placements().iter().find(|p| p.holds_for(family))
    }

    /// Returns the place of the field, if it is the same on every family.
    pub(super) fn common_placement(self) -> Option<&'static Placement> {
        match self.placements() {
            [one] if one.first == Family::Gfx6 && one.last.is_none() => Some(one),
            _ => None,
        }
    }
}

// GFX11.7 has the layout of GFX11, and GFX13 the layout of GFX12, except where the tables of LLVM 24 differ: see `spec-notes/objects.md`.
fields! {
    GroupSegmentFixedSize            "GROUP_SEGMENT_FIXED_SIZE"            [Descriptor 31:0 Gfx6..]    "local memory of a work-group, in bytes";
    PrivateSegmentFixedSize          "PRIVATE_SEGMENT_FIXED_SIZE"          [Descriptor 63:32 Gfx6..]   "scratch of a work-item, in bytes";
    KernargSize                      "KERNARG_SIZE"                        [Descriptor 95:64 Gfx6..]   "memory for the arguments, in bytes; 0 if not \
                                                                                                        given";
    KernelCodeEntryByteOffset        "KERNEL_CODE_ENTRY_BYTE_OFFSET"       [Descriptor 191:128 Gfx6..] "distance from the descriptor to the first instruction, in \
                                                                                                        bytes, signed";
    EnableSgprPrivateSegmentBuffer   "ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER"  [Descriptor 448:448 Gfx6..Gfx90a, Descriptor 448:448 Gfx10_1..Gfx10_3] "user registers for the scratch buffer descriptor (4)";
    EnableSgprDispatchPtr            "ENABLE_SGPR_DISPATCH_PTR"            [Descriptor 449:449 Gfx6..] "user registers for the address of the dispatch packet (2)";
    EnableSgprQueuePtr               "ENABLE_SGPR_QUEUE_PTR"               [Descriptor 450:450 Gfx6..] "user registers for the address of the queue (2)";
    EnableSgprKernargSegmentPtr      "ENABLE_SGPR_KERNARG_SEGMENT_PTR"     [Descriptor 451:451 Gfx6..] "user registers for the address of the arguments (2)";
    EnableSgprDispatchId             "ENABLE_SGPR_DISPATCH_ID"             [Descriptor 452:452 Gfx6..] "user registers for the number of the \
                                                                                                        dispatch (2)";
    EnableSgprFlatScratchInit        "ENABLE_SGPR_FLAT_SCRATCH_INIT"       [Descriptor 453:453 Gfx6..Gfx90a, Descriptor 453:453 Gfx10_1..Gfx10_3] "user registers for setting up flat scratch (2)";
    EnableSgprPrivateSegmentSize     "ENABLE_SGPR_PRIVATE_SEGMENT_SIZE"    [Descriptor 454:454 Gfx6..] "user register for the scratch size of a work-item (1)";
    // The table says GFX10-GFX11; the directive `.amdhsa_wavefront_size32` says GFX10-GFX12.
    EnableWavefrontSize32            "ENABLE_WAVEFRONT_SIZE32"             [Descriptor 458:458 Gfx10_1..] "wavefronts of 32 lanes instead of 64";
    UsesDynamicStack                 "USES_DYNAMIC_STACK"                  [Descriptor 459:459 Gfx6..] "the size of the stack is not known before the kernel runs (V5 and above)";
    // The table says GFX90A and GFX942; the assembler of LLVM 22 also takes the directives for gfx125x.
    KernargPreloadSpecLength         "KERNARG_PRELOAD_SPEC_LENGTH"         [Descriptor 470:464 Gfx90a..Gfx950, Descriptor 470:464 Gfx12_5..Gfx12_5] "dwords of the arguments loaded into user registers";
    KernargPreloadSpecOffset         "KERNARG_PRELOAD_SPEC_OFFSET"         [Descriptor 479:471 Gfx90a..Gfx950, Descriptor 479:471 Gfx12_5..Gfx12_5] "the first of those dwords";

    GranulatedWorkitemVgprCount      "GRANULATED_WORKITEM_VGPR_COUNT"      [Rsrc1 5:0 Gfx6..]     "blocks of vector registers of a work-item, less one";
    GranulatedWavefrontSgprCount     "GRANULATED_WAVEFRONT_SGPR_COUNT"     [Rsrc1 9:6 Gfx6..Gfx950]     "blocks of scalar registers of a wavefront, less one";
    Priority                         "PRIORITY"                            [Rsrc1 11:10 Gfx6..]   "priority at the start; filled in by the command processor";
    FloatRoundMode32                 "FLOAT_ROUND_MODE_32"                 [Rsrc1 13:12 Gfx6..]   "rounding of 32-bit floats: 0 to nearest even, 1 up, 2 down, 3 to zero";
    FloatRoundMode1664               "FLOAT_ROUND_MODE_16_64"              [Rsrc1 15:14 Gfx6..]   "rounding of 16-bit and 64-bit floats";
    FloatDenormMode32                "FLOAT_DENORM_MODE_32"                [Rsrc1 17:16 Gfx6..]   "denormal 32-bit floats: 0 flushed, 1 results flushed, 2 sources flushed, 3 kept";
    FloatDenormMode1664              "FLOAT_DENORM_MODE_16_64"             [Rsrc1 19:18 Gfx6..]   "denormal 16-bit and 64-bit floats";
    Priv                             "PRIV"                                [Rsrc1 20:20 Gfx6..]   "start in trap handler mode; filled in by the command processor";
    // The table says GFX9-GFX11 (except GFX11.7, in LLVM 24); the directives `.amdhsa_dx10_clamp` and `.amdhsa_ieee_mode` say
    // GFX6-GFX11.
    EnableDx10Clamp                  "ENABLE_DX10_CLAMP"                   [Rsrc1 21:21 Gfx6..Gfx11]    "clamp NaN to zero";
    WgRrEn                           "WG_RR_EN"                            [Rsrc1 21:21 Gfx12..] "schedule wavefronts in turn";
    DebugMode                        "DEBUG_MODE"                          [Rsrc1 22:22 Gfx6..]   "start in single-step mode; filled in by the command processor";
    EnableIeeeMode                   "ENABLE_IEEE_MODE"                    [Rsrc1 23:23 Gfx6..Gfx11]    "quiet signalling NaNs as in IEEE 754-2008";
    DisablePerf                      "DISABLE_PERF"                        [Rsrc1 23:23 Gfx12..] "must be 0";
    Bulky                            "BULKY"                               [Rsrc1 24:24 Gfx6..]   "one work-group for each compute unit; filled in by the command processor";
    CdbgUser                         "CDBG_USER"                           [Rsrc1 25:25 Gfx6..]   "a flag for debugging code; filled in by the command processor";
    Fp16Ovfl                         "FP16_OVFL"                           [Rsrc1 26:26 Gfx9..]   "16-bit overflow gives the largest number instead of infinity";
    FlatScratchIsNv                  "FLAT_SCRATCH_IS_NV"                  [Rsrc1 27:27 Gfx12_5..Gfx12_5] "scratch is non-volatile for flat accesses";
    // The table says GFX10-GFX12; LLVM 22 has no such directive for gfx125x, and its disassembler shows none.
    WgpMode                          "WGP_MODE"                            [Rsrc1 29:29 Gfx10_1..Gfx12, Rsrc1 29:29 Gfx13..] "work-groups run on a whole work-group processor";
    MemOrdered                       "MEM_ORDERED"                         [Rsrc1 30:30 Gfx10_1..]  "loads complete in order";
    FwdProgress                      "FWD_PROGRESS"                        [Rsrc1 31:31 Gfx10_1..]  "every wavefront makes progress";

    EnablePrivateSegment             "ENABLE_PRIVATE_SEGMENT"              [Rsrc2 0:0 Gfx6..]     "scratch is set up";
    UserSgprCount                    "USER_SGPR_COUNT"                     [Rsrc2 5:1 Gfx6..Gfx12, Rsrc2 6:1 Gfx12_5..Gfx12_5, Rsrc2 5:1 Gfx13..] "scalar registers with user data";
    EnableTrapHandler                "ENABLE_TRAP_HANDLER"                 [Rsrc2 6:6 Gfx6..Gfx11_7]    "there is a trap handler; filled in by the command processor";
    EnableDynamicVgpr                "ENABLE_DYNAMIC_VGPR"                 [Rsrc2 6:6 Gfx12..Gfx12, Rsrc3 17:17 Gfx12_5..Gfx12_5, Rsrc2 6:6 Gfx13..] "wavefronts can request more vector registers";
    EnableSgprWorkgroupIdX           "ENABLE_SGPR_WORKGROUP_ID_X"          [Rsrc2 7:7 Gfx6..]     "system register for the x of the \
                                                                                                   work-group";
    EnableSgprWorkgroupIdY           "ENABLE_SGPR_WORKGROUP_ID_Y"          [Rsrc2 8:8 Gfx6..]     "system register for the y of the \
                                                                                                   work-group";
    EnableSgprWorkgroupIdZ           "ENABLE_SGPR_WORKGROUP_ID_Z"          [Rsrc2 9:9 Gfx6..]     "system register for the z of the \
                                                                                                   work-group";
    EnableSgprWorkgroupInfo          "ENABLE_SGPR_WORKGROUP_INFO"          [Rsrc2 10:10 Gfx6..]   "system register for work-group information";
    EnableVgprWorkitemId             "ENABLE_VGPR_WORKITEM_ID"             [Rsrc2 12:11 Gfx6..]   "vector registers for the work-item: 0 x, 1 x and y, 2 x, y and z";
    EnableExceptionAddressWatch      "ENABLE_EXCEPTION_ADDRESS_WATCH"      [Rsrc2 13:13 Gfx6..]   "watchpoints; filled in by the command processor";
    EnableExceptionMemory            "ENABLE_EXCEPTION_MEMORY"             [Rsrc2 14:14 Gfx6..]   "memory violations; filled in by the command processor";
    GranulatedLdsSize                "GRANULATED_LDS_SIZE"                 [Rsrc2 23:15 Gfx6..]   "local memory in blocks; filled in by the command processor";
    EnableExceptionFpInvalid         "ENABLE_EXCEPTION_IEEE_754_FP_INVALID_OPERATION" [Rsrc2 24:24 Gfx6..] "exception: invalid operation";
    EnableExceptionFpDenormal        "ENABLE_EXCEPTION_FP_DENORMAL_SOURCE" [Rsrc2 25:25 Gfx6..]   "exception: denormal source";
    EnableExceptionFpDivideByZero    "ENABLE_EXCEPTION_IEEE_754_FP_DIVISION_BY_ZERO" [Rsrc2 26:26 Gfx6..] "exception: division by zero";
    EnableExceptionFpOverflow        "ENABLE_EXCEPTION_IEEE_754_FP_OVERFLOW"  [Rsrc2 27:27 Gfx6..] "exception: overflow";
    EnableExceptionFpUnderflow       "ENABLE_EXCEPTION_IEEE_754_FP_UNDERFLOW" [Rsrc2 28:28 Gfx6..] "exception: underflow";
    EnableExceptionFpInexact         "ENABLE_EXCEPTION_IEEE_754_FP_INEXACT"   [Rsrc2 29:29 Gfx6..] "exception: inexact result";
    EnableExceptionIntDivideByZero   "ENABLE_EXCEPTION_INT_DIVIDE_BY_ZERO"    [Rsrc2 30:30 Gfx6..] "exception: integer division by zero";

    AccumOffset                      "ACCUM_OFFSET"                        [Rsrc3 5:0 Gfx90a..Gfx950]   "the first accumulation register, in blocks of 4, less one";
    TgSplit                          "TG_SPLIT"                            [Rsrc3 16:16 Gfx90a..Gfx950] "wavefronts of a work-group may run on different compute units";
    SharedVgprCount                  "SHARED_VGPR_COUNT"                   [Rsrc3 3:0 Gfx10_1..Gfx11_7]   "shared vector registers in blocks of 8, in wavefronts of 64 lanes";
    InstPrefSize                     "INST_PREF_SIZE"                      [Rsrc3 9:4 Gfx11..Gfx11_7, Rsrc3 11:4 Gfx12..] "instruction bytes to prefetch, in blocks of 128";
    TrapOnStart                      "TRAP_ON_START"                       [Rsrc3 10:10 Gfx11..Gfx11_7]   "trap before the first instruction; filled in by the command processor";
    TrapOnEnd                        "TRAP_ON_END"                         [Rsrc3 11:11 Gfx11..Gfx11_7]   "trap after the last instruction; filled in by the command processor";
    GlgEn                            "GLG_EN"                              [Rsrc3 13:13 Gfx12..] "group launch guarantee";
    NamedBarCnt                      "NAMED_BAR_CNT"                       [Rsrc3 16:14 Gfx12_5..Gfx12_5] "named barriers of a work-group, in blocks of 4";
    TcpSplit                         "TCP_SPLIT"                           [Rsrc3 20:18 Gfx12_5..Gfx12_5] "split of the cache between local memory and data: 0 no preference";
    EnableDidtThrottle               "ENABLE_DIDT_THROTTLE"                [Rsrc3 21:21 Gfx12_5..Gfx12_5] "throttle to smooth the supply current";
    ImageOp                          "IMAGE_OP"                            [Rsrc3 31:31 Gfx11..]  "the kernel has image instructions, in a graphics pipeline";
}
