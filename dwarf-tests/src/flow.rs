//! Builds machine code of gfx90a that is hard to analyse: deeply nested or irreducible control flow, very many masks, and overlapping
//! functions.
//!
//! Bytes choose the instructions ([`code`]), so that a fuzzer writes programs rather than noise. [`KINDS`] are programs of any length.
//! Encodings: AMD's "CDNA2" instruction set architecture, sections SOP1, SOP2, SOPC, SOPP, VOPC and VOP3. `tests/hostile/machine.rs` checks
//! the names against LLVM's disassembler.

use core::ops::Range;

use crate::elf::linked_code;

const EXEC: u32 = 0x7e;
const VCC: u32 = 0x6a;
/// The constant -1 as an operand.
const ALL_ONES: u32 = 0xc1;

/// An instruction, which [`encode`] assembles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// `s_nop 0`.
    Nop,
    /// `v_cmp_eq_u32 vcc, N, v0`.
    Compare(u32),
    /// `v_add_u32 v1, v1, v2`.
    Add,
    /// `s_mov_b64`: destination and source.
    Move(u32, u32),
    /// `s_{and,or,xor,andn2}_b64` (0 to 3): destination, first and second source.
    Bits(u32, u32, u32, u32),
    /// `s_{and,or,xor,andn2}_saveexec_b64` (0 to 3): destination and source.
    Save(u32, u32, u32),
    /// `v_writelane_b32`: vector register, scalar register and lane.
    WriteLane(u32, u32, u32),
    /// `v_readlane_b32`: scalar register, vector register and lane.
    ReadLane(u32, u32, u32),
    /// `s_cmp_eq_u32 sN, 0`.
    CompareScalar(u32),
    /// `s_cbranch_…` (0: always, or scc0, scc1, vccz, vccnz, execz, execnz) to the item with this number.
    Branch(u32, usize),
    /// `s_swappc_b64 s[30:31], s[N:N+1]`.
    Call(u32),
    /// `s_setpc_b64 s[30:31]`.
    Return,
    /// `s_endpgm`.
    End,
}

/// The opcodes of [`Item::Branch`].
const BRANCHES: [u32; 7] = [2, 4, 5, 6, 7, 8, 9];

/// Assembles a program. A branch beyond the range of its operand goes as far as possible.
///
/// # Panics
/// If it has too many instructions.
#[must_use]
pub fn encode(items: &[Item]) -> Vec<u8> {
    let mut starts = Vec::with_capacity(items.len() + 1);
    let mut at = 0_usize;
    for item in items {
        starts.push(at);
        at += if matches!(item, Item::WriteLane(..) | Item::ReadLane(..)) {
            2
        } else {
            1
        };
    }
    let end = at;
    let mut words: Vec<u32> = Vec::with_capacity(end);
    let sop1 = |op: u32, to: u32, from: u32| 0xbe80_0000 | to << 16 | op << 8 | from;
    for item in items {
        match *item {
            Item::Nop => words.push(0xbf80_0000),
            Item::Compare(n) => words.push(0x7d94_0080 + n % 60),
            Item::Add => words.push(0x6802_0501),
            Item::Move(to, from) => words.push(sop1(1, to, from)),
            Item::Bits(which, to, first, second) => {
                let op = [13, 15, 17, 19][which as usize % 4];
                words.push(0x8000_0000 | op << 23 | to << 16 | second << 8 | first);
            }
            Item::Save(which, to, from) => words.push(sop1(32 + which % 4, to, from)),
            Item::WriteLane(vector, scalar, lane) => {
                words.push(0xd28a_0000 | vector & 0xff);
                words.push(scalar | (0x80 + lane % 64) << 9);
            }
            Item::ReadLane(scalar, vector, lane) => {
                words.push(0xd289_0000 | scalar);
                words.push(0x100 | vector & 0xff | (0x80 + lane % 64) << 9);
            }
            Item::CompareScalar(n) => words.push(0xbf06_8000 | n),
            Item::Branch(which, to) => {
                let op = BRANCHES[which as usize % BRANCHES.len()];
                let to = starts.get(to).copied().unwrap_or(end);
                let from = words.len() + 1;
                let offset = i64::try_from(to).unwrap() - i64::try_from(from).unwrap();
                let offset = offset.clamp(i16::MIN.into(), i16::MAX.into());
                let offset = i16::try_from(offset).unwrap().cast_unsigned();
                words.push(0xbf80_0000 | op << 16 | u32::from(offset));
            }
            Item::Call(n) => words.push(sop1(30, 30, n & !1)),
            Item::Return => words.push(sop1(29, 0, 30)),
            Item::End => words.push(0xbf81_0000),
        }
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns the program that bytes choose: four for each instruction.
#[must_use]
pub fn code(bytes: &[u8]) -> Vec<Item> {
    let chunks = bytes.as_chunks::<4>().0;
    let count = chunks.len();
    let mask = |byte: u8| match byte % 32 {
        0..=5 => EXEC,
        6..=9 => VCC,
        // Even scalar registers, some caller-saved and some callee-saved.
        n => 2 * (u32::from(n) - 10) + if byte & 0x80 == 0 { 0 } else { 40 },
    };
    let scalar = |byte: u8| u32::from(byte) % 100;
    let mut items: Vec<Item> = (chunks.iter().enumerate())
        .map(|(number, &[what, a, b, c])| match what % 16 {
            0 => Item::Nop,
            1 => Item::Compare(a.into()),
            2 => Item::Add,
            3 => Item::Move(mask(a), mask(b)),
            4 | 5 => Item::Bits(u32::from(what >> 4), mask(a), mask(b), mask(c)),
            6 | 7 => Item::Save(u32::from(what >> 4), mask(a), mask(b)),
            8 => Item::Save(1, mask(a), ALL_ONES),
            9 => Item::WriteLane(40 + u32::from(a % 8), scalar(b), c.into()),
            10 => Item::ReadLane(scalar(a), 40 + u32::from(b % 8), c.into()),
            11 => Item::CompareScalar(scalar(a)),
            12 | 13 => {
                // Forward or backward, mostly over a short distance.
                let far = usize::from(b) % 64 + if c % 8 == 0 { count / 2 } else { 0 };
                let to = match c & 0x80 {
                    0 => number + 1 + far,
                    _ => number.saturating_sub(far),
                };
                Item::Branch(a.into(), to)
            }
            14 => Item::Call(scalar(a)),
            _ if c % 8 == 0 => Item::Return,
            _ => Item::Move(EXEC, mask(b)),
        })
        .collect();
    items.push(Item::Return);
    items
}

/// Returns a code object with this program as one function, or as several overlapping functions.
#[must_use]
pub fn object(items: &[Item], overlapping: usize) -> Vec<u8> {
    let code = encode(items);
    let step = (code.len() / 4 / overlapping.max(1)).max(1) * 4;
    let starts = (0..code.len()).step_by(step).take(overlapping.max(1));
    let functions: Vec<Range<usize>> = starts.map(|start| start..code.len()).collect();
    linked_code(&code, &functions)
}

/// A kind of program of any length: its name, its generator, and the number of overlapping functions.
pub type Kind = (&'static str, fn(usize) -> Vec<Item>, fn(usize) -> usize);

/// All kinds of programs.
pub const KINDS: &[Kind] = &[
    ("regions in one another", nested, one),
    ("loops in one another", loops, one),
    ("jumps to everywhere", irreducible, one),
    ("masks that narrow", narrowing, one),
    ("masks in lanes", lanes, one),
    ("masks in lanes after a chain of jumps", chain, one),
    ("whole-wave sections", whole_wave, one),
    ("code that does nothing", nothing, one),
    ("calls", calls, one),
    ("programs at random", random, one),
    ("functions that overlap", nested, |count| count / 8),
    ("programs at random that overlap", random, |count| {
        count / 16
    }),
];

fn one(_: usize) -> usize {
    1
}

fn region(number: usize) -> u32 {
    u32::try_from(number % 48).unwrap() * 2
}

/// Returns nested regions: each narrows EXEC, and restores it after the inner regions.
fn nested(count: usize) -> Vec<Item> {
    let depth = count / 6;
    let mut items = Vec::with_capacity(count);
    for level in 0..depth {
        // The innermost region ends first: five items on the way in, and one on the way out.
        let end = depth * 5 + (depth - 1 - level);
        items.extend([
            Item::Compare(region(level)),
            Item::Save(0, region(level), VCC),
            Item::Bits(2, region(level), EXEC, region(level)),
            Item::Branch(5, end),
            Item::Add,
        ]);
    }
    items.extend(
        (0..depth)
            .rev()
            .map(|level| Item::Bits(1, EXEC, EXEC, region(level))),
    );
    items.push(Item::Return);
    items
}

/// Returns nested loops that lanes leave one by one.
fn loops(count: usize) -> Vec<Item> {
    let depth = count / 5;
    let mut items = Vec::with_capacity(count);
    items.extend((0..depth).flat_map(|level| [Item::Move(region(level), EXEC), Item::Add]));
    for level in (0..depth).rev() {
        items.extend([
            Item::Compare(region(level)),
            Item::Bits(3, EXEC, EXEC, VCC),
            Item::Branch(6, level * 2),
        ]);
    }
    items.push(Item::Return);
    items
}

/// Returns branches into the middle of skipped code, forward and backward.
fn irreducible(count: usize) -> Vec<Item> {
    let mut items: Vec<Item> = (0..count)
        .map(|n| match n % 4 {
            0 => Item::Compare(region(n)),
            1 => Item::Save(u32::try_from(n / 4 % 4).unwrap(), region(n / 4), VCC),
            2 => Item::Branch(1 + u32::try_from(n % 6).unwrap(), n * 7919 % count),
            _ => Item::Bits(u32::try_from(n / 4 % 4).unwrap(), EXEC, EXEC, region(n / 3)),
        })
        .collect();
    items.push(Item::Return);
    items
}

/// Returns code in which each instruction makes another mask, and nothing restores EXEC before the end.
fn narrowing(count: usize) -> Vec<Item> {
    let mut items = vec![Item::Move(98, EXEC)];
    for n in 0..count / 3 {
        items.extend([
            Item::Compare(region(n)),
            Item::Save(0, 34 + region(n % 31), VCC),
            Item::Add,
        ]);
    }
    items.extend([Item::Move(EXEC, 98), Item::Add, Item::Return]);
    items
}

/// Returns code that saves masks in lanes of vector registers and restores them.
fn lanes(count: usize) -> Vec<Item> {
    let mut items = Vec::with_capacity(count);
    let number = |n: usize| u32::try_from(n).unwrap();
    for n in 0..count / 8 {
        let (vector, lane) = (40 + number(n / 32 % 200), number(n % 32 * 2));
        items.extend([
            Item::Compare(number(n)),
            Item::Save(0, 4, VCC),
            Item::WriteLane(vector, 4, lane),
            Item::WriteLane(vector, 5, lane + 1),
        ]);
    }
    for n in (0..count / 8).rev() {
        let (vector, lane) = (40 + number(n / 32 % 200), number(n % 32 * 2));
        items.extend([
            Item::ReadLane(4, vector, lane),
            Item::ReadLane(5, vector, lane + 1),
            Item::Bits(1, EXEC, EXEC, 4),
            Item::Add,
        ]);
    }
    items.push(Item::Return);
    items
}

/// Returns masks in lanes of many vector registers that decide paths after a long chain of jumps, each of which has a state with all of them.
fn chain(count: usize) -> Vec<Item> {
    let number = |n: usize| u32::try_from(n).unwrap();
    let (jumps, reads) = (count / 2, count / 6);
    let vectors = reads.div_ceil(32).min(60);
    let mut items = vec![Item::Save(0, 6, 4), Item::Nop];
    for n in 0..vectors {
        let vector = number(n);
        items.extend([Item::WriteLane(vector, 4, 0), Item::WriteLane(vector, 5, 1)]);
    }
    let first = items.len() + 1;
    let end = first + jumps;
    items.push(Item::Branch(0, end - 1));
    items.push(Item::Branch(0, end));
    items.extend((first + 1..end).map(|jump| Item::Branch(0, jump - 1)));
    items.extend([Item::Bits(1, EXEC, EXEC, 4), Item::Add]);
    for n in 0..reads {
        let (vector, lane) = (number(n / 32 % vectors), number(n % 32 * 2));
        items.extend([
            Item::ReadLane(8, vector, lane),
            Item::ReadLane(9, vector, lane + 1),
            Item::Bits(1, EXEC, EXEC, 8),
        ]);
    }
    items.push(Item::End);
    items
}

/// Returns nested sections of all lanes, with branches.
fn whole_wave(count: usize) -> Vec<Item> {
    let mut items: Vec<Item> = (0..count)
        .map(|n| match n % 5 {
            0 => Item::Save(1, region(n / 5), ALL_ONES),
            1 => Item::Compare(region(n)),
            2 => Item::Branch(3, n + 1 + n % 40),
            3 => Item::Add,
            _ => Item::Move(EXEC, region(n / 5 + n % 3)),
        })
        .collect();
    items.push(Item::Return);
    items
}

fn nothing(count: usize) -> Vec<Item> {
    let mut items = vec![
        Item::Compare(1),
        Item::Save(0, 4, VCC),
        Item::Branch(5, count),
    ];
    items.resize(count, Item::Nop);
    items.extend([Item::Bits(1, EXEC, EXEC, 4), Item::Return]);
    items
}

fn calls(count: usize) -> Vec<Item> {
    let mut items: Vec<Item> = (0..count)
        .map(|n| match n % 4 {
            0 => Item::Compare(region(n)),
            1 => Item::Save(0, 34 + region(n / 4 % 20), VCC),
            2 => Item::Call(region(n / 4)),
            _ => Item::Bits(1, EXEC, EXEC, 34 + region(n / 4 % 20)),
        })
        .collect();
    items.push(Item::Return);
    items
}

fn random(count: usize) -> Vec<Item> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let bytes = core::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state.to_le_bytes()[6]
    });
    code(&bytes.take(4 * count).collect::<Vec<_>>())
}
