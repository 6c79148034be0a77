//! Reads code objects for the emulator: instructions from LLVM's disassembly, and the loaded bytes.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use hetdwarf::arch::WaveSize;
use object::{Object, ObjectSegment, ObjectSymbol};

use crate::disassembly::{Line, disassemble};

/// The positions of EXEC, VCC and M0 among the scalar registers.
pub const EXEC: usize = 126;
/// See [`EXEC`].
pub const VCC: usize = 106;
/// See [`EXEC`].
pub const M0: usize = 124;
/// Accumulation registers follow the vector registers.
pub const AGPRS: usize = 256;

/// The upper half of addresses of the private aperture.
pub const PRIVATE_BASE: u32 = 0x0002_0000;
/// The first address of the aperture of local memory.
pub const SHARED_BASE: u64 = 0x0001_0000_0000_0000;

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Scalar registers: the first, and their number.
    Scalars(usize, usize),
    /// Vector registers: the first, and their number.
    Vectors(usize, usize),
    /// An integer. 64-bit integers are sign-extended.
    Number(i64),
    /// `null` or `off`.
    Null,
    /// Any other operand.
    Other,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The address.
    pub address: u64,
    /// The address of the next instruction.
    pub next: u64,
    /// The disassembler's text.
    pub text: String,
    /// The name without `_e32` and `_e64`.
    pub name: String,
    /// The operands of the instruction, or of both halves of a pair of instructions.
    pub operands: Vec<Operand>,
    /// The name of the second half of a pair of instructions (`v_dual_…`), and the number of operands of the first half.
    pub second: Option<(String, usize)>,
    /// The value of `offset:` in a memory access.
    pub offset: i64,
    /// The target of a branch.
    pub target: u64,
    /// True if the instruction is the target of a jump or follows a jump.
    pub is_first: bool,
}

/// The instructions and loaded bytes of an object, and the addresses of their parts.
pub struct Program {
    /// The instructions, sorted by address.
    pub instructions: Vec<Instruction>,
    indices: HashMap<u64, usize>,
    /// The segments.
    pub image: Vec<(u64, Vec<u8>)>,
    /// The wave size.
    pub wave_size: WaveSize,
    /// The address of the kernel `k`.
    pub entry: u64,
    /// The scalar register with the address of the kernel's arguments.
    pub arguments: usize,
    /// True if the first four scalar registers have the buffer descriptor of scratch.
    pub has_scratch_descriptor: bool,
}

fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn operand(text: &str) -> Operand {
    let text = text.split_whitespace().next().unwrap_or("");
    match text {
        "vcc" => return Operand::Scalars(VCC, 2),
        "vcc_lo" => return Operand::Scalars(VCC, 1),
        "vcc_hi" => return Operand::Scalars(VCC + 1, 1),
        "flat_scratch_lo" => return Operand::Scalars(102, 1),
        "flat_scratch_hi" => return Operand::Scalars(103, 1),
        "flat_scratch" => return Operand::Scalars(102, 2),
        "m0" => return Operand::Scalars(M0, 1),
        "exec" => return Operand::Scalars(EXEC, 2),
        "exec_lo" => return Operand::Scalars(EXEC, 1),
        "exec_hi" => return Operand::Scalars(EXEC + 1, 1),
        "null" | "off" => return Operand::Null,
        "src_private_base" => return Operand::Number(i64::from(PRIVATE_BASE) << 32),
        "src_shared_base" => return Operand::Number(SHARED_BASE.cast_signed()),
        _ => {}
    }
    let literal = text
        .strip_prefix("lit(")
        .and_then(|text| text.strip_suffix(')'));
    if let Some(value) = number(literal.unwrap_or(text)) {
        return Operand::Number(value);
    }
    let Some((kind, rest)) = text.split_at_checked(1) else {
        return Operand::Other;
    };
    let range = match rest.strip_prefix('[').and_then(|r| r.strip_suffix(']')) {
        Some(range) => range.split_once(':').and_then(|(first, last)| {
            let first: usize = first.parse().ok()?;
            Some((first, last.parse::<usize>().ok()? + 1 - first))
        }),
        None => rest.parse().ok().map(|n| (n, 1)),
    };
    match (kind, range) {
        ("s", Some((first, count))) => Operand::Scalars(first, count),
        ("v", Some((first, count))) => Operand::Vectors(first, count),
        ("a", Some((first, count))) => Operand::Vectors(first + AGPRS, count),
        _ => Operand::Other,
    }
}

fn base_name(name: &str) -> String {
    let name = name.strip_suffix("_e32").unwrap_or(name);
    name.strip_suffix("_e64").unwrap_or(name).to_owned()
}

fn instruction(line: &Line) -> Instruction {
    let (name, rest) = line.text.split_once(' ').unwrap_or((&line.text, ""));
    let offset = rest
        .split_whitespace()
        .find_map(|word| number(word.strip_prefix("offset:")?));
    let words = line.dwords[0] as u16 as i16;
    let (first, second) = match rest.split_once(" :: ") {
        Some((first, second)) => (first, second.split_once(' ')),
        None => (rest, None),
    };
    let mut operands: Vec<Operand> = first.split(", ").map(operand).collect();
    let second = second.map(|(name, rest)| {
        let count = operands.len();
        operands.extend(rest.split(", ").map(operand));
        (base_name(name), count)
    });
    Instruction {
        address: line.address,
        next: line.address + 4 * line.dwords.len() as u64,
        text: line.text.clone(),
        name: base_name(name),
        operands,
        second,
        offset: offset.unwrap_or(0),
        target: (line.address + 4).wrapping_add_signed(i64::from(words) * 4),
        is_first: false,
    }
}

impl Instruction {
    /// Returns true if the next instruction executed may not be the following one.
    #[must_use]
    pub fn is_branch(&self) -> bool {
        self.name == "s_branch" || self.name.starts_with("s_cbranch")
    }

    /// Returns true if the instruction acts on the active lanes. Scalar instructions, branches and waits do not, nor do instructions that
    /// access one lane of a vector register.
    #[must_use]
    pub fn acts(&self) -> bool {
        match self.name.as_str() {
            "v_readlane_b32" | "v_writelane_b32" | "v_readfirstlane_b32" | "v_nop" => false,
            "s_swappc_b64" | "s_barrier" => true,
            name => !name.starts_with("s_"),
        }
    }
}

impl Program {
    /// Reads an object whose kernel is `k`.
    #[must_use]
    pub fn read(objdump: &Path, path: &Path, wave_size: WaveSize) -> Program {
        let bytes = std::fs::read(path).unwrap();
        let file = object::File::parse(&bytes[..]).unwrap();
        let image: Vec<(u64, Vec<u8>)> = file
            .segments()
            .map(|one| (one.address(), one.data().unwrap().to_vec()))
            .collect();
        let symbol = |name: &str| {
            let mut symbols = file.symbols();
            let found = symbols.find(|symbol| symbol.name() == Ok(name));
            found.unwrap().address()
        };
        let kd = symbol("k.kd");
        let (start, segment) = image
            .iter()
            .find(|(start, data)| (*start..start + data.len() as u64).contains(&kd))
            .unwrap();
        let properties = &segment[(kd - start) as usize + 56..];
        let properties = u16::from_le_bytes([properties[0], properties[1]]);
        let mut arguments = 0;
        for (bit, count) in [(0, 4), (1, 2), (2, 2)] {
            arguments += if properties >> bit & 1 == 1 { count } else { 0 };
        }
        assert_eq!(properties >> 3 & 1, 1, "the kernel has no arguments");
        let lines = disassemble(objdump, path, wave_size);
        let mut instructions: Vec<Instruction> = lines.iter().map(instruction).collect();
        let targets: BTreeSet<u64> = instructions
            .iter()
            .filter(|one| one.is_branch())
            .flat_map(|one| [one.target, one.next])
            .collect();
        for one in &mut instructions {
            one.is_first = targets.contains(&one.address);
        }
        let indices = instructions
            .iter()
            .enumerate()
            .map(|(index, one)| (one.address, index))
            .collect();
        Program {
            instructions,
            indices,
            image,
            wave_size,
            entry: symbol("k"),
            arguments,
            has_scratch_descriptor: properties & 1 == 1,
        }
    }

    /// Returns the index of the instruction at an address.
    #[must_use]
    pub fn index_of(&self, address: u64) -> Option<usize> {
        self.indices.get(&address).copied()
    }
}
