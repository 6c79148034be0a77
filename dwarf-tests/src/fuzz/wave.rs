//! A wave with pseudo-random contents in every register and byte of memory, some of which are unavailable.

use core::ops::Range;

use hetdwarf::arch::{Apertures, Register, WaveSize};
use hetdwarf::wave::{AccessError, Memory, Wave};

/// Pseudo-random contents. Repeated accesses return the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct Scrambled {
    pub wave_size: WaveSize,
    pub seed: u8,
    pub apertures: Option<Apertures>,
}

/// Returns a pseudo-random number that depends only on the input (the last steps of `SplitMix64`).
pub fn mix(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Scrambled {
    pub fn new(wave_size: WaveSize, seed: u8) -> Scrambled {
        Scrambled {
            wave_size,
            seed,
            apertures: seed.is_multiple_of(2).then_some(Apertures {
                shared_base: 1 << 48,
                private_base: 2 << 48,
            }),
        }
    }

    /// Returns a byte. Small numbers are likely, so that registers are useful as offsets and addresses.
    fn byte(self, what: u64, address: u64) -> u8 {
        let random = mix(address ^ what << 48 ^ u64::from(self.seed) << 56);
        if random >> 32 & 3 == 0 {
            random.to_le_bytes()[0]
        } else {
            0
        }
    }
}

impl Wave for Scrambled {
    fn wave_size(&self) -> WaveSize {
        self.wave_size
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        let number = u64::from(register.number());
        let size = register
            .size_in_bits()
            .expect("a register without a size was asked for");
        assert!(
            bits.start.is_multiple_of(8)
                && bits.end <= size
                && bits.end - bits.start == 8 * out.len() as u32,
            "{bits:?} of {register:?} into {} bytes",
            out.len()
        );
        // One register in sixteen is missing, and another lacks its bits from 512 on.
        let available = match mix(number ^ u64::from(self.seed)) & 15 {
            0 => 0,
            1 => 512,
            _ => u32::MAX,
        };
        if bits.end > available {
            return Err(AccessError::Unavailable);
        }
        for (at, out) in (bits.start / 8..).zip(out) {
            *out = self.byte(0x8000 | number, at.into());
        }
        Ok(())
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        let last = address.checked_add((out.len() as u64).saturating_sub(1));
        let last = last.expect("memory past the end was asked for");
        // The scratch of a wave has a dword for each of 64 lanes for each dword of the lane's 2^32 bytes.
        let end = match memory {
            Memory::Global => u64::MAX,
            Memory::Region | Memory::Local => u32::MAX.into(),
            Memory::PrivateWave => (1 << 38) - 1,
        };
        assert!(last <= end, "{memory:?} {address:#x}");
        for (address, out) in (address..=last).zip(out) {
            // One in sixteen pages of 64 bytes is missing.
            if mix(address >> 6 ^ u64::from(self.seed) << 50) & 15 == 0 {
                return Err(AccessError::Unavailable);
            }
            *out = self.byte(memory as u64, address);
        }
        Ok(())
    }

    fn apertures(&self) -> Option<Apertures> {
        self.apertures
    }
}
