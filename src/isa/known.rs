//! Caches decoded instructions by their dwords. Code is repetitive, and decoding takes longer than a lookup.

use super::{CallTarget, Decoder, Effect, Instruction};
use crate::error::Result;

/// The number of instructions that are kept; a new one replaces an old one.
const SLOTS: usize = 1 << 10;

/// Decoded instructions of one decoder.
#[derive(Debug, Default)]
pub(crate) struct KnownInstructions {
    /// Empty, until the first instruction is kept.
    slots: Vec<Option<Known>>,
}

#[derive(Clone, Debug)]
struct Known {
    dwords: Dwords,
    instruction: Instruction,
}

/// The dwords of an instruction that has one or two.
type Dwords = (u32, Option<u32>);

impl KnownInstructions {
    /// Returns the result of [`Decoder::decode`].
    pub(super) fn decode(
        &mut self,
        decoder: &Decoder,
        bytes: &[u8],
        address: u64,
    ) -> Result<Instruction> {
        let (dwords, _) = bytes.as_chunks();
        let [first, second, ..] = *dwords else {
            return decoder.decode(bytes, address);
        };
        let (first, second) = (u32::from_le_bytes(first), u32::from_le_bytes(second));
        for dwords in [(first, None), (first, Some(second))] {
            if let Some(Some(known)) = self.slots.get(slot(dwords))
                && known.dwords == dwords
            {
                return Ok(Instruction {
                    address,
                    ..known.instruction.clone()
                });
            }
        }
        let (instruction, is_alone) = decoder.decode_told(bytes, address)?;
        let dwords = match instruction.length {
            4 => Some((first, None)),
            8 => Some((first, Some(second))),
            _ => None,
        };
        if let Some(dwords) = dwords.filter(|_| is_alone && !depends_on_address(&instruction)) {
            if self.slots.is_empty() {
                self.slots = vec![None; SLOTS];
            }
            if let Some(place) = self.slots.get_mut(slot(dwords)) {
                let instruction = instruction.clone();
                *place = Some(Known {
                    dwords,
                    instruction,
                });
            }
        }
        Ok(instruction)
    }
}

/// Returns the slot of an instruction, by Knuth's multiplicative hash.
fn slot((first, second): Dwords) -> usize {
    let mixed = u64::from(first) << 32 | u64::from(second.unwrap_or(0));
    let hash = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(hash >> 54).unwrap_or(0)
}

/// Returns true if the effect contains an address relative to the instruction's own.
fn depends_on_address(instruction: &Instruction) -> bool {
    matches!(
        instruction.effect,
        Effect::Branch { .. }
            | Effect::Call {
                target: CallTarget::Address(_),
                ..
            }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Family, Processor};

    /// Draws dwords from a small set, so that equal first dwords occur with different second ones and at different addresses. The kept
    /// instructions equal the decoded ones.
    #[test]
    fn what_is_kept_is_what_is_decoded() {
        let mut state = 7u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            u32::try_from(state >> 32).unwrap()
        };
        let mut decoded = 0;
        for family in Family::ALL {
            let processor = Processor::ALL.iter().find(|p| p.family() == Some(*family));
            let processor = processor.unwrap();
            let Some(decoder) = Decoder::new(processor, None) else {
                continue;
            };
            let name = processor.name();
            let mut known = KnownInstructions::default();
            let firsts: Vec<u32> = (0..4000).map(|_| next()).collect();
            let seconds: Vec<u32> = (0..8).map(|_| next()).collect();
            for address in (0..40_000).map(|number| number * 4) {
                let first = firsts[next() as usize % firsts.len()];
                let mut bytes = first.to_le_bytes().to_vec();
                for _ in 0..3 {
                    let second = seconds[next() as usize % seconds.len()];
                    bytes.extend(second.to_le_bytes());
                }
                let (found, expected) = (
                    known.decode(&decoder, &bytes, address),
                    decoder.decode(&bytes, address),
                );
                decoded += usize::from(expected.is_ok());
                assert_eq!(found, expected, "{name} {bytes:x?}");
            }
        }
        assert!(decoded > 20_000, "{decoded}");
    }
}
