//! Computes the number of extra dwords of an encoding: literals, the controls of DPP and SDWA, further addresses.
//!
//! Source: AMD's instruction set architecture documents, "Literal Constants", "DPP and SDWA", "Dual Issue
//! VALU" and "Non-Sequential Address".

use super::field::{Raw, low_byte};
use super::table::{Encoding, Features, Op, flag};

/// The code of a source that is in an extra dword.
const LITERAL: u32 = 255;
const LITERAL64: u32 = 254;
const SDWA: u32 = 249;
const DPP16: u32 = 250;
const DPP8: u32 = 233;
const DPP8_FETCH_INVALID: u32 = 234;

/// Returns the number of extra dwords. `None` if the processor does not support the code of an operand.
pub(super) fn extra_dwords(raw: &Raw<'_>) -> Option<u8> {
    let scalar = |low| raw.bits(0, low, 8);
    let vector = |low| raw.bits(1, low, 9);
    match raw.encoding {
        Encoding::Sopk => Some(fixed(raw)),
        Encoding::Sop1 => Some(literals(raw, &[scalar(0)])),
        // `s_set_gpr_idx_on`: its second source is an immediate.
        Encoding::Sopc if raw.row.op == Op::GprIndex => Some(literals(raw, &[scalar(0)])),
        Encoding::Sop2 | Encoding::Sopc => Some(literals(raw, &[scalar(0), scalar(8)])),
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => {
            let source = raw.bits(0, 0, 9);
            match follows(raw.features(), source) {
                0 => Some(literals(raw, &[source])),
                control => Some(control.saturating_add(fixed(raw))),
            }
        }
        Encoding::Vop3 | Encoding::Vop3p => {
            let sources = [vector(0), vector(9), vector(18)];
            let dpp = raw.features().has_vop3_dpp
                && matches!(sources, [DPP16 | DPP8 | DPP8_FETCH_INVALID, ..]);
            match (dpp, raw.features().has_vop3_literal) {
                (true, _) => Some(1),
                (false, true) => Some(literals(raw, &sources)),
                (false, false) => (!sources.contains(&LITERAL)).then_some(0),
            }
        }
        Encoding::Vopd => Some(dual(raw)),
        Encoding::Mimg => {
            let more = raw.features().image.more_addresses;
            Some(more.map_or(0, |field| low_byte(raw.field(field))))
        }
        Encoding::Mubuf | Encoding::Mtbuf => (raw.bits(1, 24, 8) != LITERAL).then_some(0),
        Encoding::Vopd3 => {
            (literals(raw, &[raw.bits(0, 0, 9), raw.bits(1, 0, 9)]) == 0).then_some(0)
        }
        Encoding::Sopp
        | Encoding::Smem
        | Encoding::Vintrp
        | Encoding::Vinterp
        | Encoding::Ldsdir
        | Encoding::Ds
        | Encoding::Flat
        | Encoding::Vbuffer
        | Encoding::Vimage
        | Encoding::Vsample
        | Encoding::Exp => Some(0),
    }
}

/// Returns the number of literal dwords that the opcode alone requires.
fn fixed(raw: &Raw<'_>) -> u8 {
    if raw.row.has(flag::LITERAL) {
        1
    } else if raw.row.has(flag::LITERAL64) {
        2
    } else {
        0
    }
}

/// Returns the number of literal dwords. All operands share one literal.
fn literals(raw: &Raw<'_>, sources: &[u32]) -> u8 {
    let fixed = fixed(raw);
    if fixed != 0 {
        fixed
    } else if raw.features().has_literal64 && sources.contains(&LITERAL64) {
        2
    } else {
        u8::from(sources.contains(&LITERAL))
    }
}

/// Returns the number of extra dwords with the controls of a vector instruction with this first source.
fn follows(features: &Features, source: u32) -> u8 {
    u8::from(match source {
        SDWA => features.has_sdwa,
        DPP16 => true,
        DPP8 | DPP8_FETCH_INVALID => features.has_dpp8,
        _ => false,
    })
}

/// Returns the number of literal dwords of a dual instruction. Both halves share one literal. The opcodes 1 and 2 always have one.
fn dual(raw: &Raw<'_>) -> u8 {
    let opcodes = [raw.bits(0, 22, 4), raw.bits(0, 17, 5)];
    let sources = [raw.bits(0, 0, 9), raw.bits(1, 0, 9)];
    if opcodes.iter().any(|op| matches!(op, 1 | 2)) {
        1
    } else {
        literals(raw, &sources)
    }
}

/// Returns true if the first source of a vector instruction is replaced by DPP or SDWA controls.
pub(super) fn has_controls(raw: &Raw<'_>) -> bool {
    match raw.encoding {
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => {
            follows(raw.features(), raw.bits(0, 0, 9)) != 0
        }
        Encoding::Vop3 | Encoding::Vop3p => {
            raw.features().has_vop3_dpp
                && matches!(raw.bits(1, 0, 9), DPP16 | DPP8 | DPP8_FETCH_INVALID)
        }
        Encoding::Sop1
        | Encoding::Sop2
        | Encoding::Sopc
        | Encoding::Sopk
        | Encoding::Sopp
        | Encoding::Smem
        | Encoding::Vopd
        | Encoding::Vopd3
        | Encoding::Vintrp
        | Encoding::Vinterp
        | Encoding::Ldsdir
        | Encoding::Ds
        | Encoding::Flat
        | Encoding::Mubuf
        | Encoding::Mtbuf
        | Encoding::Vbuffer
        | Encoding::Mimg
        | Encoding::Vimage
        | Encoding::Vsample
        | Encoding::Exp => false,
    }
}

/// Returns true for an instruction with SDWA controls.
pub(super) fn is_sdwa(raw: &Raw<'_>) -> bool {
    has_controls(raw)
        && matches!(
            raw.encoding,
            Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc
        )
        && raw.bits(0, 0, 9) == SDWA
}
