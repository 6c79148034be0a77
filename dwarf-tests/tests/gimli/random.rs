//! Numbers that look random and are the same for the same seed.

/// `SplitMix64`: enough for tests, and nothing to depend on.
#[derive(Clone, Debug)]
pub struct Random(u64);

pub fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(mix(seed))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.bits() % end as u64).unwrap()
    }

    pub fn byte(&mut self) -> u8 {
        self.bits().to_le_bytes()[7]
    }

    /// Whether something that happens once in `n` times happens.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number of which edges and small ones are as likely as any other.
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
