//! Finds the address at which a lane resumes with a second, concrete method. It follows LLVM's disassembly with the values of registers and
//! memory at the stop, and takes both directions at every branch. It never joins states, reads the wave again, or forgets a value, and it
//! uses no code of the library.

use std::collections::{BTreeMap, BTreeSet};

use dwarf_tests::disassembly::Line;

/// The value of a dword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dword {
    Word(u32),
    /// The bit of the lane.
    Bit(bool),
    Unknown,
}

/// The positions of special registers among all registers.
const VCC: usize = 106;
const M0: usize = 108;
const SCALARS: usize = 109;

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    /// Scalar registers: the first, and their number.
    Scalars(usize, usize),
    /// EXEC: the first dword, and the number of dwords.
    Exec(usize, usize),
    /// Vector registers: the first, and their number. Accumulation registers follow from 1024.
    Vectors(usize, usize),
    Number(i64),
    Other,
}

fn operand(text: &str, wave_dwords: usize) -> Operand {
    let text = text.split_whitespace().next().unwrap_or("");
    match text {
        "vcc" => return Operand::Scalars(VCC, 2),
        "vcc_lo" => return Operand::Scalars(VCC, 1),
        "vcc_hi" => return Operand::Scalars(VCC + 1, 1),
        "m0" => return Operand::Scalars(M0, 1),
        "exec" => return Operand::Exec(0, wave_dwords),
        "exec_lo" => return Operand::Exec(0, 1),
        "exec_hi" => return Operand::Exec(1, 1),
        _ => {}
    }
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let literal = text.strip_prefix("lit(").and_then(|t| t.strip_suffix(')'));
    if let Some(value) = number(literal.unwrap_or(text)) {
        return Operand::Number(value);
    }
    let Some(kind) = text.chars().next() else {
        return Operand::Other;
    };
    let rest = &text[1..];
    let range = match rest.strip_prefix('[').and_then(|r| r.strip_suffix(']')) {
        Some(range) => range.split_once(':').and_then(|(first, last)| {
            let first: usize = first.parse().ok()?;
            Some((first, last.parse::<usize>().ok()? - first + 1))
        }),
        None => rest
            .split('.')
            .next()
            .and_then(|n| Some((n.parse().ok()?, 1))),
    };
    match (kind, range) {
        ('s', Some((first, count))) => Operand::Scalars(first, count),
        ('v', Some((first, count))) => Operand::Vectors(first, count),
        ('a', Some((first, count))) => Operand::Vectors(first + 1024, count),
        _ => Operand::Other,
    }
}

/// The relevant parts of an instruction.
#[derive(Clone, Debug)]
struct Step {
    address: u64,
    next: u64,
    mnemonic: String,
    operands: Vec<Operand>,
    /// The value of `offset:` in a memory instruction.
    offset: i64,
    target: u64,
}

/// One function.
pub struct Code {
    steps: Vec<Step>,
    wave_dwords: usize,
}

/// The state at a stop: scalar registers, lanes of vector registers and dwords of scratch.
pub trait Machine {
    fn scalar(&self, index: usize) -> u32;
    fn vector(&self, register: usize, lane: usize) -> u32;
    fn scratch(&self, address: i64) -> u32;
}

/// The end of a lane's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The lane resumes at one of these addresses. `leaves` and `ends` describe the paths on which it does not resume in the function.
    Found {
        on: BTreeSet<u64>,
        leaves: bool,
        ends: BTreeSet<u64>,
    },
    /// A required value was unknown.
    Unknown,
    /// There were too many paths.
    TooMany,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    scalars: Vec<Dword>,
    vectors: BTreeMap<(usize, usize), Dword>,
    unknown_vectors: BTreeSet<usize>,
    scratch: BTreeMap<i64, Dword>,
    /// True if all lanes are on, in a whole-wave section.
    whole: bool,
    /// True if only lanes that were off are on.
    inactive: bool,
}

impl Code {
    pub fn new(lines: &[Line], wave_lanes: usize) -> Code {
        let wave_dwords = wave_lanes / 32;
        let steps = lines.iter().map(|line| {
            let (mnemonic, rest) = line.text.split_once(' ').unwrap_or((&line.text, ""));
            let offset = rest
                .split_whitespace()
                .find_map(|word| word.strip_prefix("offset:")?.parse().ok());
            let words = line.dwords[0] as u16 as i16;
            Step {
                address: line.address,
                next: line.address + 4 * line.dwords.len() as u64,
                mnemonic: mnemonic
                    .trim_end_matches("_e32")
                    .trim_end_matches("_e64")
                    .to_owned(),
                operands: rest
                    .split(", ")
                    .map(|text| operand(text, wave_dwords))
                    .collect(),
                offset: offset.unwrap_or(0),
                target: (line.address + 4).wrapping_add_signed(i64::from(words) * 4),
            }
        });
        Code {
            steps: steps.collect(),
            wave_dwords,
        }
    }

    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        self.steps.iter().map(|step| step.address)
    }

    /// Follows an inactive lane from an address on.
    pub fn follow(&self, machine: &impl Machine, pc: u64, lane: usize) -> End {
        let state = State {
            scalars: (0..SCALARS)
                .map(|n| Dword::Word(machine.scalar(n)))
                .collect(),
            vectors: BTreeMap::new(),
            unknown_vectors: BTreeSet::new(),
            scratch: BTreeMap::new(),
            whole: false,
            inactive: false,
        };
        let (mut on, mut leaves, mut ends) = (BTreeSet::new(), false, BTreeSet::new());
        let mut seen = BTreeSet::new();
        let Ok(start) = self.steps.binary_search_by_key(&pc, |step| step.address) else {
            return End::Unknown;
        };
        let mut work = vec![(start, state)];
        let mut left = 5_000;
        while let Some((mut index, mut state)) = work.pop() {
            loop {
                let Some(step) = self.steps.get(index) else {
                    return End::Unknown;
                };
                left -= 1;
                if left == 0 {
                    return End::TooMany;
                }
                let mut walker = Walker {
                    machine,
                    lane,
                    wave_dwords: self.wave_dwords,
                    state,
                };
                match walker.step(step) {
                    Some(true) => {
                        on.insert(step.next);
                        break;
                    }
                    Some(false) => {}
                    None => return End::Unknown,
                }
                state = walker.state;
                match step.mnemonic.as_str() {
                    "s_endpgm" => {
                        ends.insert(step.address);
                        break;
                    }
                    "s_setpc_b64" => {
                        leaves = true;
                        break;
                    }
                    "s_rfe_b64" | "s_code_end" => return End::Unknown,
                    name if name == "s_branch" || name.starts_with("s_cbranch") => {
                        let Ok(to) = self.steps.binary_search_by_key(&step.target, |s| s.address)
                        else {
                            return End::Unknown;
                        };
                        if seen.insert((to, state.clone())) {
                            work.push((to, state.clone()));
                        }
                        if name == "s_branch" {
                            break;
                        }
                    }
                    _ => {}
                }
                index += 1;
            }
        }
        End::Found { on, leaves, ends }
    }
}

struct Walker<'m, M> {
    machine: &'m M,
    lane: usize,
    wave_dwords: usize,
    state: State,
}

/// The results of a bitwise operation for `a` and `b`: both clear, only `b` set, only `a` set, both set.
fn bitwise(name: &str) -> Option<[bool; 4]> {
    Some(match name {
        "and" => [false, false, false, true],
        "or" => [false, true, true, true],
        "xor" => [false, true, true, false],
        "andn2" | "and_not1" => [false, false, true, false],
        "orn2" | "or_not1" => [true, false, true, true],
        "andn1" | "and_not0" => [false, true, false, false],
        "orn1" | "or_not0" => [true, true, false, true],
        "nand" => [true, true, true, false],
        "nor" => [true, false, false, false],
        "xnor" => [true, false, false, true],
        _ => return None,
    })
}

impl<M: Machine> Walker<'_, M> {
    fn bit(&self, dword: Dword) -> Option<bool> {
        match dword {
            Dword::Word(word) => Some(word >> (self.lane % 32) & 1 != 0),
            Dword::Bit(bit) => Some(bit),
            Dword::Unknown => None,
        }
    }

    fn apply(&self, table: [bool; 4], a: Dword, b: Dword) -> Dword {
        if let (Dword::Word(a), Dword::Word(b)) = (a, b) {
            let cases = [!a & !b, !a & b, a & !b, a & b];
            let chosen = cases.iter().zip(table).filter(|(_, result)| *result);
            return Dword::Word(chosen.fold(0, |all, (bits, _)| all | bits));
        }
        let both = [false, true];
        let possible =
            |known: Option<bool>| both.iter().filter(move |b| known.is_none_or(|k| k == **b));
        let mut results = BTreeSet::new();
        for x in possible(self.bit(a)) {
            for y in possible(self.bit(b)) {
                results.insert(table[usize::from(*x) * 2 + usize::from(*y)]);
            }
        }
        match results.len() {
            1 => Dword::Bit(results.contains(&true)),
            _ => Dword::Unknown,
        }
    }

    fn exec(&self, n: usize) -> Dword {
        if self.state.whole {
            Dword::Word(u32::MAX)
        } else if n == self.lane / 32 {
            Dword::Bit(self.state.inactive)
        } else {
            Dword::Unknown
        }
    }

    fn read(&self, operand: Operand, n: usize) -> Dword {
        match operand {
            Operand::Scalars(first, count) if n < count => self
                .state
                .scalars
                .get(first + n)
                .copied()
                .unwrap_or(Dword::Unknown),
            Operand::Exec(first, count) if n < count => self.exec(first + n),
            Operand::Number(value) if n == 0 => Dword::Word(value as u32),
            Operand::Number(value) => Dword::Word(if value < 0 { u32::MAX } else { 0 }),
            _ => Dword::Unknown,
        }
    }

    fn write(&mut self, operand: Operand, value: [Dword; 2]) {
        if let Operand::Scalars(first, count) = operand {
            for n in 0..count {
                if let Some(slot) = self.state.scalars.get_mut(first + n) {
                    *slot = value.get(n).copied().unwrap_or(Dword::Unknown);
                }
            }
        }
    }

    fn lanes(&self, register: usize, lane: usize) -> Dword {
        let known = self.state.vectors.get(&(register, lane)).copied();
        known.unwrap_or_else(|| {
            if self.state.unknown_vectors.contains(&register) {
                Dword::Unknown
            } else {
                Dword::Word(self.machine.vector(register, lane))
            }
        })
    }

    fn lose_vector(&mut self, register: usize) {
        self.state
            .vectors
            .retain(|(known, _), _| *known != register);
        self.state.unknown_vectors.insert(register);
    }

    /// Sets EXEC. Returns true if the lane is then on, or None if this is unknown.
    fn set_exec(
        &mut self,
        first: usize,
        count: usize,
        value: [Dword; 2],
        saved_all: Option<bool>,
    ) -> Option<bool> {
        let own = self.lane / 32;
        let whole = value
            .iter()
            .take(count)
            .all(|dword| *dword == Dword::Word(u32::MAX));
        if let Some(inactive) = saved_all {
            (self.state.whole, self.state.inactive) = (!inactive, inactive);
            return Some(false);
        }
        if whole && count == self.wave_dwords {
            (self.state.whole, self.state.inactive) = (true, false);
            return Some(false);
        }
        if !(first..first + count).contains(&own) {
            return if self.state.whole || self.state.inactive {
                None
            } else {
                Some(false)
            };
        }
        (self.state.whole, self.state.inactive) = (false, false);
        self.bit(value[own - first])
    }

    /// Executes an instruction. Returns true if the lane is then on, or None if this is unknown.
    fn step(&mut self, step: &Step) -> Option<bool> {
        let operand = |n: usize| step.operands.get(n).copied().unwrap_or(Operand::Other);
        let (dst, a, b) = (operand(0), operand(1), operand(2));
        let name = step.mnemonic.as_str();
        if let Some(found) = self.scalar(step, name, [dst, a, b]) {
            return found;
        }
        if name.starts_with("v_cmp") {
            // The bit of an inactive lane is clear.
            let own = self.lane / 32;
            let section = self.state.whole || self.state.inactive;
            let mut result = [Dword::Unknown; 2];
            if !section {
                result[own] = Dword::Bit(false);
            }
            self.write(dst, result);
            return if name.starts_with("v_cmpx") && section {
                None
            } else {
                Some(false)
            };
        }
        match name {
            "v_readlane_b32" => {
                let value = match (a, b) {
                    (Operand::Vectors(register, _), Operand::Number(lane)) => {
                        self.lanes(register, lane as usize)
                    }
                    _ => Dword::Unknown,
                };
                self.write(dst, [value, Dword::Unknown]);
            }
            "v_writelane_b32" => {
                if let (Operand::Vectors(register, _), Operand::Number(lane)) = (dst, b) {
                    let value = self.read(a, 0);
                    self.state.vectors.insert((register, lane as usize), value);
                } else if let Operand::Vectors(register, _) = dst {
                    self.lose_vector(register);
                }
            }
            "s_swappc_b64" | "s_call_b64" => self.call(),
            _ => self.memory_or_other(step, name),
        }
        Some(false)
    }

    /// Executes a scalar operation. Returns None if it is not one.
    fn scalar(
        &mut self,
        step: &Step,
        name: &str,
        [dst, a, b]: [Operand; 3],
    ) -> Option<Option<bool>> {
        let body = name.strip_prefix("s_")?;
        let body = body
            .strip_suffix("_b32")
            .or(body.strip_suffix("_b64"))
            .unwrap_or(body);
        let pair = |walker: &Self, operand| [0, 1].map(|n| walker.read(operand, n));
        let exec = [self.exec(0), self.exec(1)];
        if let Some(op) = body.strip_suffix("_saveexec") {
            let table = bitwise(op)?;
            let source = pair(self, a);
            let all = source
                .iter()
                .take(self.wave_dwords)
                .all(|d| *d == Dword::Word(u32::MAX));
            let new = [0, 1].map(|n| self.apply(table, source[n], exec[n]));
            self.write(dst, exec);
            let section = match op {
                "or" if all => Some(false),
                "xor" if all => Some(true),
                _ => None,
            };
            return Some(self.set_exec(0, self.wave_dwords, new, section));
        }
        if let Some(op) = body.strip_suffix("_wrexec") {
            let table = bitwise(op)?;
            let source = pair(self, a);
            let new = [0, 1].map(|n| self.apply(table, source[n], exec[n]));
            self.write(dst, new);
            return Some(self.set_exec(0, self.wave_dwords, new, None));
        }
        let [x, y] = [a, b].map(|operand| pair(self, operand));
        let new = match (body, bitwise(body)) {
            (_, Some(table)) => [0, 1].map(|n| self.apply(table, x[n], y[n])),
            ("mov", _) => x,
            ("not", _) => [0, 1].map(|n| self.apply([true, true, false, false], x[n], x[n])),
            ("add_i32" | "add_u32" | "add_co_i32" | "add_co_u32", _) => match (x[0], y[0]) {
                (Dword::Word(x), Dword::Word(y)) if is_stack(dst) => {
                    [Dword::Word(x.wrapping_add(y)), Dword::Unknown]
                }
                _ => [Dword::Unknown; 2],
            },
            ("addk_i32" | "addk_co_i32", _) => match (self.read(dst, 0), x[0]) {
                (Dword::Word(x), Dword::Word(y)) if is_stack(dst) => {
                    [Dword::Word(x.wrapping_add(y)), Dword::Unknown]
                }
                _ => [Dword::Unknown; 2],
            },
            ("cselect", _) => [0, 1].map(|n| if x[n] == y[n] { x[n] } else { Dword::Unknown }),
            _ => return None,
        };
        let _ = step;
        Some(match dst {
            Operand::Exec(first, count) => self.set_exec(first, count, new, None),
            _ => {
                self.write(dst, new);
                Some(false)
            }
        })
    }

    /// Makes the registers unknown that the calling convention allows a callee to change.
    fn call(&mut self) {
        for n in 0..SCALARS {
            let kept = matches!(n, 32..=39 | 48..=55 | 64..=71 | 80..=87 | 96..=105);
            if !kept {
                self.state.scalars[n] = Dword::Unknown;
            }
        }
        for register in (0..256).filter(|n| *n < 40 || n % 16 < 8).chain(1024..1056) {
            self.lose_vector(register);
        }
    }

    fn memory_or_other(&mut self, step: &Step, name: &str) {
        let operands = &step.operands;
        let is_store = name.contains("_store");
        let stack = match operands.as_slice() {
            // The instructions are `scratch_store off, v9, s33` and `scratch_load v9, off, s33`.
            [Operand::Other, Operand::Vectors(register, 1), base]
                if name.starts_with("scratch_store") =>
            {
                Some((*register, *base, self.wave_dwords as i64 * 32))
            }
            [Operand::Vectors(register, 1), Operand::Other, base]
                if name.starts_with("scratch_load") =>
            {
                Some((*register, *base, self.wave_dwords as i64 * 32))
            }
            // The instruction is `buffer_store_dword v9, off, s[0:3], s33` or the matching load.
            [
                Operand::Vectors(register, 1),
                Operand::Other,
                Operand::Scalars(0, 4),
                base,
            ] if name.starts_with("buffer_") => Some((*register, *base, 1)),
            _ => None,
        };
        let is_whole_dword = name.ends_with("_dword") || name.ends_with("_b32");
        if let Some((register, base, scale)) = stack.filter(|_| is_whole_dword && self.state.whole)
        {
            let address = match self.read(base, 0) {
                Dword::Word(base) => {
                    i64::from(base) * scale + step.offset * self.wave_dwords as i64 * 32
                }
                _ if base == Operand::Other => step.offset * self.wave_dwords as i64 * 32,
                _ => return self.lose_vector(register),
            };
            for lane in 0..self.wave_dwords * 32 {
                let at = address + 4 * lane as i64;
                if is_store {
                    let value = self.lanes(register, lane);
                    self.state.scratch.insert(at, value);
                } else {
                    let stored = self.state.scratch.get(&at).copied();
                    let value = stored.unwrap_or_else(|| Dword::Word(self.machine.scratch(at)));
                    self.state.vectors.insert((register, lane), value);
                }
            }
            return;
        }
        if is_store {
            // Only active lanes store these rows, so their values are unknown. Masks are never loaded from them.
            if let Some((_, base, scale)) = stack
                && let Dword::Word(base) = self.read(base, 0)
            {
                let address = i64::from(base) * scale + step.offset * self.wave_dwords as i64 * 32;
                for lane in 0..self.wave_dwords * 32 {
                    self.state
                        .scratch
                        .insert(address + 4 * lane as i64, Dword::Unknown);
                }
            }
            return;
        }
        let copies = matches!(
            name,
            "v_mov_b32" | "v_accvgpr_write_b32" | "v_accvgpr_read_b32"
        );
        if let (true, true, [Operand::Vectors(to, 1), Operand::Vectors(from, 1)]) =
            (copies, self.state.whole, operands.as_slice())
        {
            for lane in 0..self.wave_dwords * 32 {
                let value = self.lanes(*from, lane);
                self.state.vectors.insert((*to, lane), value);
            }
            return;
        }
        let reads_only = [
            "s_cmp",
            "s_bitcmp",
            "s_wait",
            "s_nop",
            "s_setreg",
            "s_cbranch",
            "s_branch",
            "s_setpc",
        ];
        if reads_only.iter().any(|start| name.starts_with(start)) {
            return;
        }
        // Every other instruction writes its first operand, and the second one too if that is a mask.
        for operand in operands
            .iter()
            .take(if name.starts_with("v_") { 2 } else { 1 })
        {
            match *operand {
                Operand::Scalars(first, _) if name.starts_with("v_") && operand != &operands[0] => {
                    let masks = ["_co_", "div_scale", "v_mad_u64", "v_mad_i64"];
                    let count = masks.iter().filter(|part| name.contains(**part)).count();
                    let mask = Operand::Scalars(first, self.wave_dwords * count.min(1));
                    self.write(mask, [Dword::Unknown; 2]);
                }
                Operand::Scalars(..) => self.write(*operand, [Dword::Unknown; 2]),
                Operand::Vectors(first, count) if operand == &operands[0] => {
                    (first..first + count).for_each(|register| self.lose_vector(register));
                }
                _ => {}
            }
        }
        if name.starts_with("v_dual") {
            // The second half names its destination after `::`. It never writes a mask.
            for register in 0..1024 {
                let text_has_it = operands
                    .iter()
                    .any(|o| matches!(o, Operand::Vectors(first, 1) if *first == register));
                if text_has_it {
                    self.lose_vector(register);
                }
            }
        }
    }
}

fn is_stack(operand: Operand) -> bool {
    matches!(operand, Operand::Scalars(32..=34, 1))
}
