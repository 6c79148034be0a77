//! Generates pseudo-random numbers from a seed, or from given bytes.

/// A `SplitMix64` generator. The bytes of a fuzzer are used first.
#[derive(Clone, Debug)]
pub struct Random<'c> {
    choices: &'c [u8],
    state: u64,
}

pub fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl<'c> Random<'c> {
    pub fn new(seed: u64) -> Self {
        Random {
            choices: &[],
            state: mix(seed),
        }
    }

    pub fn from_choices(choices: &'c [u8]) -> Self {
        Random {
            choices,
            ..Random::new(0)
        }
    }

    /// Returns the next given byte.
    fn choice(&mut self) -> Option<u8> {
        let (first, rest) = self.choices.split_first()?;
        self.choices = rest;
        Some(*first)
    }

    pub fn bits(&mut self) -> u64 {
        if let Some((bytes, rest)) = self.choices.split_first_chunk() {
            self.choices = rest;
            return u64::from_le_bytes(*bytes);
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        if end <= 256
            && let Some(choice) = self.choice()
        {
            return usize::from(choice) % end;
        }
        usize::try_from(self.bits() % end as u64).unwrap()
    }

    pub fn byte(&mut self) -> u8 {
        self.choice()
            .unwrap_or_else(|| self.bits().to_le_bytes()[7])
    }

    /// Returns true with a chance of 1 in `n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Returns a number. Edge cases and small numbers are as likely as all others.
    pub fn number(&mut self) -> u64 {
        const EDGES: [u64; 12] = [
            0,
            1,
            u64::MAX,
            0x7f,
            0x80,
            0xff,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x1_0000_0000,
            i64::MAX as u64,
            1 << 63,
        ];
        match self.below(4) {
            0 => self.choose(&EDGES),
            1 => self.bits() % 64,
            2 => {
                let shift = self.below(64);
                self.bits() >> shift
            }
            _ => (self.bits() % 256).wrapping_sub(128),
        }
    }
}
