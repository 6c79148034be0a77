//! Holds the layouts of all generations.
//!
//! Each row gives the differences from the row it is based on. The words of a control stack follow ROCdbgapi's classes for the generation, the trap
//! temporaries follow the trap handlers.

use super::HardwareRegister::{
    Barrier, ExcpFlagPriv, ExcpFlagUser, Exec, FlatScratch, M0, Mode, Pc, StatePriv, Status,
    TrapCtrl, Trapsts, Vcc, XnackMask,
};
use super::{
    Accumulation, Layout, Parked, RecordLayout, RegisterPlace, Scalars, ScratchLayout, StateLayout,
    StatusLayout, TrapBits, TrapLayout, WaveLayout, Words, bit, bits,
};
use crate::arch::Family;
use crate::gpu_core::stop::rules;

/// Returns the layout of a family, or `None` if the driver writes no cores for it, or its layout is not published.
pub(in crate::gpu_core) const fn of_family(family: Family) -> Option<&'static Layout> {
    match family {
        Family::R600 | Family::Gfx6 | Family::Gfx7 | Family::Gfx8 => None,
        Family::Gfx9 => Some(&GFX900),
        Family::Gfx908 => Some(&GFX908),
        Family::Gfx90a => Some(&GFX90A),
        Family::Gfx942 => Some(&GFX942),
        Family::Gfx950 => Some(&GFX950),
        Family::Gfx10_1 => Some(&GFX10_1),
        Family::Gfx10_3 => Some(&GFX10_3),
        Family::Gfx11 => Some(&GFX11),
        Family::Gfx12 => Some(&GFX12),
        Family::Gfx12_5 => Some(&GFX12_5),
        Family::Gfx11_7 | Family::Gfx13 => None,
    }
}

const GFX900: Layout = Layout {
    state: StateLayout {
        has_second_word: false,
        vgprs: bits(0, 5),
        block_32: None,
        block_64: Some(4),
        accumulation: Accumulation::None,
        sgprs: Scalars::Blocks(bits(6, 8)),
        lds: bits(9, 17),
        lds_unit: 512,
        lds_large: None,
        wave32: None,
        shared: None,
    },
    wave: WaveLayout {
        scratch_slot: bits(0, 8),
        shader_engine: bits(11, 12),
        has_scratch: bit(15),
        is_last: bit(16),
        is_first: bit(17),
    },
    record: RecordLayout {
        gap: 64,
        hardware: 64,
        trap_in_scalars: false,
        aliases: 6,
    },
    registers: GFX9_REGISTERS,
    trap: &FIRST_TRAP,
    parked: Some(Parked {
        since: 0,
        ..IN_TTMP7
    }),
    scratch: &SCRATCH_OF_XCC,
    has_architected_scratch: false,
    stops: &[rules::TRAPSTS, rules::TRAP_IDS],
    no_vgprs: None,
    status: StatusLayout {
        halt: (Status, bit(13)),
        hidden: &[bit(5), bit(18)],
        skip_export: Some(bit(18)),
    },
};

const GFX908: Layout = Layout {
    state: StateLayout {
        accumulation: Accumulation::AsMany,
        ..GFX900.state
    },
    wave: WaveLayout {
        shader_engine: bits(11, 13),
        ..GFX900.wave
    },
    ..GFX900
};

const GFX90A: Layout = Layout {
    state: StateLayout {
        block_64: Some(8),
        accumulation: Accumulation::Rest(bits(24, 29)),
        lds: bits(9, 16),
        ..GFX900.state
    },
    wave: WaveLayout {
        shader_engine: bits(9, 11),
        ..GFX900.wave
    },
    ..GFX900
};

const GFX942: Layout = Layout {
    wave: WaveLayout {
        shader_engine: bits(9, 10),
        ..GFX900.wave
    },
    trap: &TrapLayout {
        packet: ttmp(11, bits(6, 30)),
        was_in_handler: Some(ttmp(11, bit(31))),
        ..FIRST_TRAP
    },
    parked: None,
    has_architected_scratch: true,
    stops: &[rules::TRAPSTS, rules::TRAPSTS_GFX94X, rules::TRAP_IDS],
    ..GFX90A
};

const GFX950: Layout = Layout {
    state: StateLayout {
        lds_unit: 1280,
        ..GFX942.state
    },
    ..GFX942
};

const GFX10_1: Layout = Layout {
    state: StateLayout {
        has_second_word: true,
        vgprs: bits(0, 5),
        block_32: Some(8),
        block_64: Some(4),
        accumulation: Accumulation::None,
        sgprs: Scalars::Fixed(128),
        lds: bits(10, 17),
        lds_unit: 512,
        lds_large: None,
        wave32: Some(bit(24)),
        shared: Some(bits(26, 29)),
    },
    wave: WaveLayout {
        scratch_slot: bits(0, 9),
        shader_engine: bits(24, 25),
        has_scratch: bit(11),
        is_last: bit(29),
        is_first: bit(12),
    },
    record: RecordLayout {
        gap: 0,
        aliases: 2,
        ..GFX900.record
    },
    registers: GFX10_1_REGISTERS,
    ..GFX900
};

const GFX10_3: Layout = Layout {
    registers: GFX10_REGISTERS,
    parked: None,
    ..GFX10_1
};

const GFX11: Layout = Layout {
    wave: WaveLayout {
        shader_engine: bits(24, 26),
        ..GFX10_1.wave
    },
    registers: GFX10_REGISTERS,
    parked: Some(Parked {
        since: 9,
        ..IN_TTMP7
    }),
    scratch: &ScratchLayout {
        waves: bits(0, 11),
        waves_of_engine: true,
        size: bits(12, 26),
        unit: 256,
    },
    has_architected_scratch: true,
    stops: &[rules::TRAPSTS, rules::TRAPSTS_GFX11, rules::TRAP_IDS],
    no_vgprs: Some((Status, bit(24))),
    ..GFX10_1
};

const GFX12: Layout = Layout {
    state: StateLayout {
        lds_large: Some((bit(6), 128 << 10)),
        ..GFX11.state
    },
    registers: GFX12_REGISTERS,
    trap: &GFX12_TRAP,
    parked: Some(Parked {
        since: 0,
        low: ttmp(10, bits(0, 31)),
        high: ttmp(11, bits(7, 22)),
    }),
    scratch: &ScratchLayout {
        waves: bits(0, 11),
        waves_of_engine: true,
        size: bits(12, 29),
        unit: 256,
    },
    stops: &[rules::EXCP_FLAGS, rules::TRAP_IDS],
    no_vgprs: Some((Status, bit(24))),
    status: StatusLayout {
        halt: (StatePriv, bit(14)),
        hidden: &[],
        skip_export: None,
    },
    ..GFX11
};

const GFX12_5: Layout = Layout {
    state: StateLayout {
        block_32: Some(16),
        block_64: None,
        lds: bits(10, 18),
        lds_unit: 1024,
        lds_large: None,
        shared: None,
        ..GFX12.state
    },
    wave: WaveLayout {
        is_last: bit(13),
        ..GFX12.wave
    },
    record: RecordLayout {
        hardware: 512,
        trap_in_scalars: true,
        ..GFX12.record
    },
    registers: GFX12_5_REGISTERS,
    trap: &TrapLayout {
        trap_id: ttmp(11, bits(28, 31)),
        ..GFX12_TRAP
    },
    parked: None,
    ..GFX12
};

const fn ttmp(ttmp: usize, bits: super::Bits) -> TrapBits {
    TrapBits { ttmp, bits }
}

/// The pc of a wave that is parked by the first trap handlers.
const IN_TTMP7: Parked = Parked {
    since: 0,
    low: ttmp(7, bits(0, 31)),
    high: ttmp(11, bits(7, 22)),
};

/// The trap temporaries of gfx9 to gfx11.
const FIRST_TRAP: TrapLayout = TrapLayout {
    always_set_up: false,
    not_set_up: Some(ttmp(6, bit(31))),
    packet: ttmp(6, bits(0, 24)),
    workgroup: [
        ttmp(8, bits(0, 31)),
        ttmp(9, bits(0, 31)),
        ttmp(10, bits(0, 31)),
    ],
    has_dimensions: None,
    wave_in_group: ttmp(11, bits(0, 5)),
    was_in_handler: None,
    stopped: ttmp(6, bit(30)),
    halted_before: ttmp(6, bit(29)),
    trap_id: ttmp(6, bits(25, 28)),
};

const GFX12_TRAP: TrapLayout = TrapLayout {
    always_set_up: true,
    not_set_up: None,
    packet: ttmp(8, bits(0, 24)),
    workgroup: [
        ttmp(9, bits(0, 31)),
        ttmp(7, bits(0, 15)),
        ttmp(7, bits(16, 31)),
    ],
    has_dimensions: Some(ttmp(8, bit(30))),
    wave_in_group: ttmp(8, bits(25, 29)),
    was_in_handler: Some(ttmp(8, bit(31))),
    ..FIRST_TRAP
};

const SCRATCH_OF_XCC: ScratchLayout = ScratchLayout {
    waves: bits(0, 11),
    waves_of_engine: false,
    size: bits(12, 24),
    unit: 1024,
};

/// One row a register: name, first word, and its bits in waves of 32 and of 64 lanes.
macro_rules! registers {
    ($($register:ident $place:ident $word:literal, $bits_32:literal $bits_64:literal;)*) => {
        &[$(RegisterPlace {
            register: $register,
            words: Words::$place($word),
            is_wide_in_wave32: $bits_32 == 64,
            is_wide: $bits_64 == 64,
        },)*]
    };
}

#[rustfmt::skip]
const GFX9_REGISTERS: &[RegisterPlace] = registers! {
    M0          Hardware 0, 32 32;
    Pc          Hardware 1, 64 64;
    Exec        Hardware 3, 64 64;
    Status      Hardware 5, 32 32;
    Trapsts     Hardware 6, 32 32;
    XnackMask   Hardware 7, 64 64;
    Mode        Hardware 9, 32 32;
    FlatScratch Alias 0,    64 64;
    Vcc         Alias 4,    64 64;
};

#[rustfmt::skip]
const GFX10_1_REGISTERS: &[RegisterPlace] = registers! {
    M0          Hardware 0, 32 32;
    Pc          Hardware 1, 64 64;
    Exec        Hardware 3, 32 64;
    Status      Hardware 5, 32 32;
    Trapsts     Hardware 6, 32 32;
    XnackMask   Hardware 7, 32 32;
    Mode        Hardware 8, 32 32;
    FlatScratch Hardware 9, 64 64;
    Vcc         Alias 0,    32 64;
};

#[rustfmt::skip]
const GFX10_REGISTERS: &[RegisterPlace] = registers! {
    M0          Hardware 0, 32 32;
    Pc          Hardware 1, 64 64;
    Exec        Hardware 3, 32 64;
    Status      Hardware 5, 32 32;
    Trapsts     Hardware 6, 32 32;
    Mode        Hardware 8, 32 32;
    FlatScratch Hardware 9, 64 64;
    Vcc         Alias 0,    32 64;
};

#[rustfmt::skip]
const GFX12_REGISTERS: &[RegisterPlace] = registers! {
    M0           Hardware 0,  32 32;
    Pc           Hardware 1,  64 64;
    Exec         Hardware 3,  32 64;
    StatePriv    Hardware 5,  32 32;
    ExcpFlagPriv Hardware 6,  32 32;
    Mode         Hardware 8,  32 32;
    FlatScratch  Hardware 9,  64 64;
    ExcpFlagUser Hardware 11, 32 32;
    TrapCtrl     Hardware 12, 32 32;
    Status       Hardware 13, 32 32;
    Vcc          Alias 0,     32 64;
};

#[rustfmt::skip]
const GFX12_5_REGISTERS: &[RegisterPlace] = registers! {
    M0           Hardware 0,  32 32;
    Pc           Hardware 1,  64 64;
    Exec         Hardware 3,  32 64;
    StatePriv    Hardware 5,  32 32;
    ExcpFlagPriv Hardware 6,  32 32;
    XnackMask    Hardware 7,  32 32;
    Mode         Hardware 8,  32 32;
    FlatScratch  Hardware 9,  64 64;
    ExcpFlagUser Hardware 11, 32 32;
    TrapCtrl     Hardware 12, 32 32;
    Status       Hardware 13, 32 32;
    Barrier      Hardware 14, 32 32;
    Vcc          Alias 0,     32 64;
};
