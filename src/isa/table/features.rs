//! The differences between families in the encoding of operands: one row of facts for each line of processors.
//!
//! The encodings are in `layout`. Source: AMD's instruction set architecture documents, "Microcode Formats" and "Scalar Data Operands"; for
//! gfx125x, LLVM 22's assembler.

use super::layout::Bits;

/// The encoding of operands of a family's instructions.
#[derive(Debug)]
pub(in crate::isa) struct Features {
    /// True if `flat_scratch` and `xnack_mask` have the codes 102 to 105 of scalar operands.
    pub(in crate::isa) has_flat_scratch: bool,
    /// The code of `m0`.
    pub(in crate::isa) m0: u8,
    /// The code of the register that reads as zero.
    pub(in crate::isa) null: Option<u8>,
    /// True if literals can have 64 bits.
    pub(in crate::isa) has_literal64: bool,
    /// True if VOP3 and VOP3P can have a literal.
    pub(in crate::isa) has_vop3_literal: bool,
    /// True if VOP3 and VOP3P can have DPP controls.
    pub(in crate::isa) has_vop3_dpp: bool,
    /// True if there are SDWA controls.
    pub(in crate::isa) has_sdwa: bool,
    /// True if there are DPP controls of eight lanes.
    pub(in crate::isa) has_dpp8: bool,
    /// True if memory instructions have a bit for data in accumulation registers.
    pub(in crate::isa) has_accumulation_bit: bool,
    /// The bit of a matrix instruction that, if clear, sends its result to vector registers. `None` if the result always goes to
    /// accumulation registers.
    pub(in crate::isa) matrix_accumulates: Option<Bits>,
    /// The address of scalar loads.
    pub(in crate::isa) scalar_load: ScalarLoad,
    /// The fields of FLAT, SCRATCH and GLOBAL.
    pub(in crate::isa) flat: FlatFields,
    /// The fields of MUBUF and MTBUF.
    pub(in crate::isa) buffer: BufferFields,
    /// The fields of MIMG.
    pub(in crate::isa) image: ImageFields,
    /// The bit with which an atomic instruction returns the old value, by encoding.
    pub(in crate::isa) returns: Returns,
    /// The cache policy bits of FLAT, with their names; two fields named `th` and `scope` since gfx12.
    pub(in crate::isa) policy: &'static [(Bits, &'static str)],
    /// The cache policy bits of MUBUF, with their names.
    pub(in crate::isa) buffer_policy: &'static [(Bits, &'static str)],
    /// The counters of `s_waitcnt`.
    pub(in crate::isa) wait_counts: WaitCounts,
}

/// The counters in an immediate: the name, and the parts (the lowest bit and the width), the lowest first.
pub(in crate::isa) type WaitCounts = &'static [(&'static str, &'static [(u32, u32)])];

const GFX9_WAIT: WaitCounts = &[
    ("vmcnt", &[(0, 4), (14, 2)]),
    ("expcnt", &[(4, 3)]),
    ("lgkmcnt", &[(8, 4)]),
];
const GFX10_WAIT: WaitCounts = &[
    ("vmcnt", &[(0, 4), (14, 2)]),
    ("expcnt", &[(4, 3)]),
    ("lgkmcnt", &[(8, 6)]),
];
const GFX11_WAIT: WaitCounts = &[
    ("vmcnt", &[(10, 6)]),
    ("expcnt", &[(0, 3)]),
    ("lgkmcnt", &[(4, 6)]),
];

/// The address of a scalar load.
#[derive(Clone, Copy, Debug)]
pub(in crate::isa) enum ScalarLoad {
    /// A register or a constant, or both if a bit is set.
    Either {
        /// The bit for both.
        both: Bits,
        /// The bit for a constant.
        constant: Bits,
        /// The constant.
        offset: Bits,
    },
    /// A register, which can be the null register, and this signed constant.
    Both(Bits),
}

/// The fields of FLAT, SCRATCH and GLOBAL.
#[derive(Clone, Copy, Debug)]
pub(in crate::isa) struct FlatFields {
    /// The field that distinguishes the three.
    pub(in crate::isa) segment: Bits,
    /// The constant offset. It is signed, except for FLAT on some processors.
    pub(in crate::isa) offset: Bits,
    /// True if the offset of FLAT is signed.
    pub(in crate::isa) has_signed_flat_offset: bool,
    /// The scalar base address.
    pub(in crate::isa) base: Bits,
    /// The codes for no scalar base.
    pub(in crate::isa) no_base: &'static [u32],
    /// True if FLAT can have a scalar base address.
    pub(in crate::isa) has_flat_base: bool,
    /// The vector address.
    pub(in crate::isa) address: Bits,
    /// The bit or rule by which SCRATCH has a vector address.
    pub(in crate::isa) scratch_address: ScratchAddress,
    /// The destination of a load.
    pub(in crate::isa) loaded: Bits,
    /// The data of a store.
    pub(in crate::isa) stored: Bits,
    /// The bit for data that goes to LDS.
    pub(in crate::isa) to_lds: Option<Bits>,
}

/// The rule by which an access to scratch has a vector address.
#[derive(Clone, Copy, Debug)]
pub(in crate::isa) enum ScratchAddress {
    /// The scalar base has this code.
    BaseIs(u32),
    /// A bit is set.
    Bit(Bits),
}

/// The fields of MUBUF and MTBUF.
#[derive(Clone, Copy, Debug)]
pub(in crate::isa) struct BufferFields {
    /// The bit for a vector register that is added as an offset.
    pub(in crate::isa) offset_enabled: Bits,
    /// The bit for a vector register that is added as an index.
    pub(in crate::isa) index_enabled: Bits,
    /// The bit for also loading a status word.
    pub(in crate::isa) status: Option<Bits>,
    /// The bit for data that goes to LDS.
    pub(in crate::isa) to_lds: Option<Bits>,
}

/// The fields of MIMG.
#[derive(Clone, Copy, Debug)]
pub(in crate::isa) struct ImageFields {
    /// The number of dwords of further addresses.
    pub(in crate::isa) more_addresses: Option<Bits>,
    /// The bit for also loading a status word.
    pub(in crate::isa) status: Option<Bits>,
    /// The bit for two components in one register.
    pub(in crate::isa) packed: Bits,
}

/// The bits with which an atomic instruction returns the old value.
#[derive(Clone, Copy, Debug)]
pub(in crate::isa) struct Returns {
    /// SMEM.
    pub(in crate::isa) scalar: Bits,
    /// FLAT, SCRATCH and GLOBAL.
    pub(in crate::isa) flat: Bits,
    /// MUBUF, VBUFFER.
    pub(in crate::isa) buffer: Bits,
    /// MIMG, VIMAGE.
    pub(in crate::isa) image: Bits,
}

pub(super) static GFX9: Features = GFX9_FIRST;
pub(super) static GFX90A: Features = GFX90A_FIRST;

const GFX9_FIRST: Features = Features {
    has_flat_scratch: true,
    m0: 124,
    null: None,
    has_literal64: false,
    has_vop3_literal: false,
    has_vop3_dpp: false,
    has_sdwa: true,
    has_dpp8: false,
    has_accumulation_bit: false,
    matrix_accumulates: None,
    scalar_load: ScalarLoad::Either {
        both: Bits(0, 14, 1),
        constant: Bits(0, 17, 1),
        offset: Bits(1, 0, 21),
    },
    flat: FlatFields {
        segment: Bits(0, 14, 2),
        offset: Bits(0, 0, 13),
        has_signed_flat_offset: false,
        base: Bits(1, 16, 7),
        no_base: &[127],
        has_flat_base: false,
        address: Bits(1, 0, 8),
        scratch_address: ScratchAddress::BaseIs(127),
        loaded: Bits(1, 24, 8),
        stored: Bits(1, 8, 8),
        to_lds: Some(Bits(0, 13, 1)),
    },
    buffer: BufferFields {
        offset_enabled: Bits(0, 12, 1),
        index_enabled: Bits(0, 13, 1),
        status: Some(Bits(1, 23, 1)),
        to_lds: Some(Bits(0, 16, 1)),
    },
    image: ImageFields {
        more_addresses: None,
        status: Some(Bits(0, 16, 1)),
        packed: Bits(1, 31, 1),
    },
    returns: Returns {
        scalar: Bits(0, 16, 1),
        flat: Bits(0, 16, 1),
        buffer: Bits(0, 14, 1),
        image: Bits(0, 13, 1),
    },
    policy: &[(Bits(0, 16, 1), "glc"), (Bits(0, 17, 1), "slc")],
    buffer_policy: &[
        (Bits(0, 14, 1), "glc"),
        (Bits(0, 17, 1), "slc"),
        (Bits(0, 16, 1), "lds"),
    ],
    wait_counts: GFX9_WAIT,
};

const GFX90A_FIRST: Features = Features {
    has_accumulation_bit: true,
    matrix_accumulates: Some(Bits(0, 15, 1)),
    buffer: BufferFields {
        status: None,
        ..GFX9_FIRST.buffer
    },
    image: ImageFields {
        status: None,
        ..GFX9_FIRST.image
    },
    policy: &[
        (Bits(0, 16, 1), "glc"),
        (Bits(0, 17, 1), "slc"),
        (Bits(0, 25, 1), "scc"),
    ],
    buffer_policy: &[
        (Bits(0, 14, 1), "glc"),
        (Bits(0, 17, 1), "slc"),
        (Bits(0, 15, 1), "scc"),
        (Bits(0, 16, 1), "lds"),
    ],
    ..GFX9_FIRST
};

/// gfx942 and gfx950.
pub(super) static GFX942: Features = Features {
    flat: FlatFields {
        scratch_address: ScratchAddress::Bit(Bits(0, 13, 1)),
        to_lds: None,
        ..GFX9_FIRST.flat
    },
    policy: &[
        (Bits(0, 16, 1), "sc0"),
        (Bits(0, 17, 1), "nt"),
        (Bits(0, 25, 1), "sc1"),
    ],
    buffer_policy: &[
        (Bits(0, 14, 1), "sc0"),
        (Bits(0, 17, 1), "nt"),
        (Bits(0, 15, 1), "sc1"),
        (Bits(0, 16, 1), "lds"),
    ],
    ..GFX90A_FIRST
};

pub(super) static GFX10: Features = Features {
    has_flat_scratch: false,
    m0: 124,
    null: Some(125),
    has_literal64: false,
    has_vop3_literal: true,
    has_vop3_dpp: false,
    has_sdwa: true,
    has_dpp8: true,
    has_accumulation_bit: false,
    matrix_accumulates: None,
    scalar_load: ScalarLoad::Both(Bits(1, 0, 21)),
    flat: FlatFields {
        offset: Bits(0, 0, 12),
        no_base: &[125, 127],
        scratch_address: ScratchAddress::BaseIs(125),
        ..GFX9_FIRST.flat
    },
    buffer: GFX9_FIRST.buffer,
    image: ImageFields {
        more_addresses: Some(Bits(0, 1, 2)),
        status: Some(Bits(0, 16, 1)),
        packed: Bits(1, 31, 1),
    },
    returns: GFX9_FIRST.returns,
    policy: &[
        (Bits(0, 16, 1), "glc"),
        (Bits(0, 17, 1), "slc"),
        (Bits(0, 12, 1), "dlc"),
    ],
    buffer_policy: &[
        (Bits(0, 14, 1), "glc"),
        (Bits(1, 22, 1), "slc"),
        (Bits(0, 15, 1), "dlc"),
        (Bits(0, 16, 1), "lds"),
    ],
    wait_counts: GFX10_WAIT,
};

pub(super) static GFX11: Features = Features {
    has_flat_scratch: false,
    m0: 125,
    null: Some(124),
    has_literal64: false,
    has_vop3_literal: true,
    has_vop3_dpp: true,
    has_sdwa: false,
    has_dpp8: true,
    has_accumulation_bit: false,
    matrix_accumulates: None,
    scalar_load: ScalarLoad::Both(Bits(1, 0, 21)),
    flat: FlatFields {
        segment: Bits(0, 16, 2),
        no_base: &[124],
        scratch_address: ScratchAddress::Bit(Bits(1, 23, 1)),
        to_lds: None,
        ..GFX9_FIRST.flat
    },
    buffer: BufferFields {
        offset_enabled: Bits(1, 22, 1),
        index_enabled: Bits(1, 23, 1),
        status: Some(Bits(1, 21, 1)),
        to_lds: None,
    },
    image: ImageFields {
        more_addresses: Some(Bits(0, 0, 1)),
        status: Some(Bits(1, 21, 1)),
        packed: Bits(0, 17, 1),
    },
    returns: Returns {
        scalar: Bits(0, 16, 1),
        flat: Bits(0, 14, 1),
        buffer: Bits(0, 14, 1),
        image: Bits(0, 14, 1),
    },
    policy: &[
        (Bits(0, 14, 1), "glc"),
        (Bits(0, 15, 1), "slc"),
        (Bits(0, 13, 1), "dlc"),
    ],
    buffer_policy: &[
        (Bits(0, 14, 1), "glc"),
        (Bits(0, 12, 1), "slc"),
        (Bits(0, 13, 1), "dlc"),
    ],
    wait_counts: GFX11_WAIT,
};

pub(super) static GFX12: Features = GFX12_FIRST;

const GFX12_FIRST: Features = Features {
    has_flat_scratch: false,
    m0: 125,
    null: Some(124),
    has_literal64: false,
    has_vop3_literal: true,
    has_vop3_dpp: true,
    has_sdwa: false,
    has_dpp8: true,
    has_accumulation_bit: false,
    matrix_accumulates: None,
    scalar_load: ScalarLoad::Both(Bits(1, 0, 24)),
    flat: FlatFields {
        segment: Bits(0, 24, 2),
        offset: Bits(2, 8, 24),
        has_signed_flat_offset: true,
        base: Bits(0, 0, 7),
        no_base: &[124],
        has_flat_base: false,
        address: Bits(2, 0, 8),
        scratch_address: ScratchAddress::Bit(Bits(1, 17, 1)),
        loaded: Bits(1, 0, 8),
        stored: Bits(1, 23, 8),
        to_lds: None,
    },
    // VBUFFER and VIMAGE, each of which has one form.
    buffer: BufferFields {
        offset_enabled: Bits(1, 30, 1),
        index_enabled: Bits(1, 31, 1),
        status: Some(Bits(0, 22, 1)),
        to_lds: None,
    },
    image: ImageFields {
        more_addresses: None,
        status: Some(Bits(1, 23, 1)),
        packed: Bits(0, 5, 1),
    },
    returns: Returns {
        scalar: Bits(1, 20, 1),
        flat: Bits(1, 20, 1),
        buffer: Bits(1, 20, 1),
        image: Bits(1, 20, 1),
    },
    policy: &[(Bits(1, 20, 3), "th"), (Bits(1, 18, 2), "scope")],
    buffer_policy: &[(Bits(1, 20, 3), "th"), (Bits(1, 18, 2), "scope")],
    wait_counts: GFX11_WAIT,
};

pub(super) static GFX12_5: Features = Features {
    has_literal64: true,
    flat: FlatFields {
        has_flat_base: true,
        ..GFX12_FIRST.flat
    },
    ..GFX12_FIRST
};
