//! Translates toy programs to AMDGPU instructions, as text for an assembler.
//!
//! A toy instruction becomes one or several instructions of the processor. Some pairs become one instruction: saving and narrowing EXEC is
//! `s_and_saveexec`, and a comparison that narrows EXEC is `v_cmpx`. Masks are spilled to scratch as in unoptimised code: through a lane of
//! a vector register that all lanes store.

use std::fmt::Write;

use hetdwarf::arch::WaveSize;

use super::back_end::Compiled;
use super::machine::{Half, Instruction, SIZE, Scalar};
use super::random::Random;

/// A processor that code is generated for.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the processor.
    pub processor: &'static str,
    /// The wave size.
    pub wave_size: WaveSize,
    /// True if the processor has scratch instructions, which address the bytes of one lane. Other instructions address the bytes of the
    /// wave.
    pub has_scratch: bool,
}

/// The targets, one for each variety of code.
pub const TARGETS: [Target; 5] = [
    Target::new("gfx1030", WaveSize::Wave32, false),
    Target::new("gfx1030", WaveSize::Wave64, false),
    Target::new("gfx1100", WaveSize::Wave32, true),
    Target::new("gfx1100", WaveSize::Wave64, true),
    Target::new("gfx90a", WaveSize::Wave64, false),
];

/// The vector register through which masks are spilled. It is unused otherwise.
const SPILL: &str = "v42";
/// The register that saves EXEC during a spill.
const SPILLED_EXEC: u16 = 54;
/// The register with the lanes that were active on entry: an argument of the function.
pub const ENTERED: u16 = 56;
/// A register for numbers on their way to vector registers.
const NUMBER: u16 = 58;

/// The registers that the toy machine does not have.
pub const TEMPORARY: [u16; 3] = [SPILLED_EXEC, SPILLED_EXEC + 1, NUMBER];
/// A register that saves the active lanes before all lanes execute.
pub const ACTIVE: u16 = 60;

/// The end of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The function ends the wave, as a kernel does.
    Wave,
    /// The function returns to its caller.
    Return,
}

/// A fact from a run. For each toy instruction that copies a mask to EXEC, returns true if the mask contained all active lanes every time.
/// The translation may then also add the lanes with OR.
pub type OnlyAdds<'r> = &'r dyn Fn(usize) -> bool;

impl Target {
    const fn new(processor: &'static str, wave_size: WaveSize, has_scratch: bool) -> Target {
        Target {
            processor,
            wave_size,
            has_scratch,
        }
    }

    fn is_wide(self) -> bool {
        self.wave_size == WaveSize::Wave64
    }

    /// Returns the suffix of instructions on masks.
    fn width(self) -> &'static str {
        if self.is_wide() { "b64" } else { "b32" }
    }

    fn registers(self, first: u16) -> String {
        if self.is_wide() {
            format!("s[{first}:{}]", first + 1)
        } else {
            format!("s{first}")
        }
    }

    /// Returns the operand of a mask.
    fn mask(self, scalar: Scalar) -> String {
        let low = if self.is_wide() { "" } else { "_lo" };
        match scalar {
            Scalar::Exec => format!("exec{low}"),
            Scalar::Vcc => format!("vcc{low}"),
            Scalar::Register(first) => self.registers(first),
            Scalar::Number(0) => "0".to_owned(),
            // The lanes on entry are the only other number that is used as a mask.
            Scalar::Number(_) => self.registers(ENTERED),
        }
    }

    /// Returns the options of the assembler.
    #[must_use]
    pub fn options(self) -> [String; 3] {
        [
            "--triple=amdgcn-amd-amdhsa".to_owned(),
            format!("--mcpu={}", self.processor),
            format!("--mattr=+wavefrontsize{}", self.wave_size.lanes()),
        ]
    }
}

/// Returns the register of a half.
fn half_of(scalar: Scalar, half: Half) -> String {
    let name = match half {
        Half::Low => "lo",
        Half::High => "hi",
    };
    match (scalar, half) {
        (Scalar::Exec, _) => format!("exec_{name}"),
        (Scalar::Vcc, _) => format!("vcc_{name}"),
        (Scalar::Register(first), Half::Low) => format!("s{first}"),
        (Scalar::Register(first), Half::High) => format!("s{}", first + 1),
        (Scalar::Number(_), _) => panic!("a number has no register"),
    }
}

/// Appends a function to the text.
///
/// The section `addresses` then has four bytes for each toy instruction: its offset from the start of the text, or all ones if it was
/// merged into the previous instruction.
///
/// * `number`: distinguishes the labels of functions.
pub fn append(
    text: &mut String,
    compiled: &Compiled,
    target: Target,
    (number, ending): (usize, Ending),
    only_adds: OnlyAdds<'_>,
    random: &mut Random,
) {
    let mut writer = Writer {
        text,
        target,
        number,
        is_whole_wave: false,
        is_section: false,
    };
    let jumps_to: Vec<u64> = compiled.labels.clone();
    let sections = &compiled.function.whole_wave;
    let mut parts = Vec::new();
    let mut index = 0;
    while let Some(one) = compiled.instructions.get(index) {
        let pc = u64::try_from(index).unwrap() * SIZE;
        let place = pc.into();
        writer.is_section =
            (sections.iter()).any(|one| one.code.start <= place && place < one.code.end);
        // If only whole quads execute, not every lane would store.
        let begins_with = compiled.instructions[..index]
            .iter()
            .rfind(|one| matches!(one, Instruction::Everyone | Instruction::Quads));
        writer.is_whole_wave = writer.is_section && begins_with == Some(&Instruction::Everyone);
        writer.line(&format!(".L{number}_{index}:"));
        let next = compiled.instructions.get(index + 1);
        let next = next.filter(|_| !jumps_to.contains(&(pc + SIZE)));
        let is_two = next.is_some_and(|next| writer.both(one, next, random));
        if is_two {
            parts.push(index + 1);
        } else {
            writer.one(one, index, ending, only_adds, random);
        }
        index += if is_two { 2 } else { 1 };
    }
    for (label, place) in compiled.labels.iter().enumerate() {
        // Unused labels may not be placed.
        if let Some(index) = place.checked_div(SIZE).filter(|_| *place != u64::MAX) {
            writer.line(&format!(".set .L{number}_label{label}, .L{number}_{index}"));
        }
    }
    writer.line(".p2align 8\n.section addresses");
    for index in 0..compiled.instructions.len() {
        if parts.contains(&index) {
            writer.line(".long -1");
        } else {
            writer.line(&format!(".long .L{number}_{index}-text"));
        }
    }
    writer.line(".text");
}

struct Writer<'t> {
    text: &'t mut String,
    target: Target,
    number: usize,
    /// True inside sections in which other lanes execute than in the program, and true if these are all lanes.
    is_section: bool,
    is_whole_wave: bool,
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").unwrap();
    }

    /// Writes an instruction on masks.
    fn masks(&mut self, name: &str, operands: &[Scalar]) {
        let names: Vec<String> = operands
            .iter()
            .map(|operand| self.target.mask(*operand))
            .collect();
        let width = self.target.width();
        self.line(&format!("s_{name}_{width} {}", names.join(", ")));
    }

    /// Writes one instruction for two toy instructions. Returns false if there is none.
    fn both(&mut self, first: &Instruction, second: &Instruction, random: &mut Random) -> bool {
        let narrows = Instruction::And(Scalar::Exec, Scalar::Exec, Scalar::Vcc);
        match (first, second) {
            (Instruction::Copy(to @ Scalar::Register(_), Scalar::Exec), Instruction::Everyone) => {
                let (to, width) = (self.target.mask(*to), self.target.width());
                self.line(&format!("s_or_saveexec_{width} {to}, -1"));
                true
            }
            (Instruction::Copy(to @ Scalar::Register(_), Scalar::Exec), second)
                if *second == narrows && random.percent(60) =>
            {
                self.masks("and_saveexec", &[*to, Scalar::Vcc]);
                true
            }
            (Instruction::Compare(_) | Instruction::Again(_), second)
                if *second == narrows
                    && self.target.processor != "gfx90a"
                    && random.percent(60) =>
            {
                self.line("v_cmpx_gt_u32_e32 7, v0");
                true
            }
            (_, _) => false,
        }
    }

    fn one(
        &mut self,
        one: &Instruction,
        index: usize,
        ending: Ending,
        only_adds: OnlyAdds<'_>,
        random: &mut Random,
    ) {
        let (number, is_section) = (self.number, self.is_section);
        let mut jump = |name: &str, label: usize| {
            self.line(&format!("{name} .L{number}_label{label}"));
        };
        match *one {
            Instruction::Work | Instruction::Start(_) => self.line("v_xor_b32_e32 v1, v0, v1"),
            Instruction::Compare(_) | Instruction::Again(_) => {
                let vcc = self.target.mask(Scalar::Vcc);
                self.line(&format!("v_cmp_gt_u32_e32 {vcc}, 7, v0"));
            }
            Instruction::Copy(Scalar::Exec, Scalar::Number(0)) if random.percent(50) => {
                self.masks("xor", &[Scalar::Exec; 3]);
            }
            Instruction::Copy(Scalar::Exec, from @ Scalar::Register(_))
                if only_adds(index) && !is_section && random.percent(70) =>
            {
                self.masks("or", &[Scalar::Exec, Scalar::Exec, from]);
            }
            Instruction::Copy(to @ Scalar::Register(_), Scalar::Number(word)) if word != 0 => {
                self.move_number(to, word);
            }
            Instruction::Copy(to, from) => self.masks("mov", &[to, from]),
            Instruction::AndNot(Scalar::Exec, mask, Scalar::Exec) if random.percent(50) => {
                // XOR works because the active lanes are a subset of the mask.
                self.masks("xor", &[Scalar::Exec, Scalar::Exec, mask]);
            }
            Instruction::AndNot(to, a, b) => self.masks("andn2", &[to, a, b]),
            Instruction::And(to, a, b) => self.masks("and", &[to, a, b]),
            Instruction::Or(to, a, b) => self.masks("or", &[to, a, b]),
            Instruction::WriteLane(vgpr, lane, from, half) => {
                let from = self.half(from, half);
                self.line(&format!("v_writelane_b32 v{vgpr}, {from}, {lane}"));
            }
            Instruction::ReadLane(to, half, vgpr, lane) => {
                let to = half_of(to, half);
                self.line(&format!("v_readlane_b32 {to}, v{vgpr}, {lane}"));
            }
            Instruction::Store(offset, from, half) => {
                let (row, lane) = self.row(offset);
                self.all_lanes(&[self.load(row), "s_waitcnt vmcnt(0)".to_owned()]);
                let from = self.half(from, half);
                self.line(&format!("v_writelane_b32 {SPILL}, {from}, {lane}"));
                self.all_lanes(&[self.store(row)]);
            }
            Instruction::Load(to, half, offset) => {
                let (row, lane) = self.row(offset);
                self.all_lanes(&[self.load(row), "s_waitcnt vmcnt(0)".to_owned()]);
                let to = half_of(to, half);
                self.line(&format!("v_readlane_b32 {to}, {SPILL}, {lane}"));
            }
            Instruction::Everyone => {
                let (saved, width) = (self.target.registers(ACTIVE), self.target.width());
                self.line(&format!("s_or_saveexec_{width} {saved}, -1"));
            }
            Instruction::Quads => self.masks("wqm", &[Scalar::Exec; 2]),
            Instruction::Jump(label) => jump("s_branch", label),
            Instruction::JumpIfNone(label) => jump("s_cbranch_execz", label),
            Instruction::JumpIfAny(label) => jump("s_cbranch_execnz", label),
            Instruction::End => self.line(match ending {
                Ending::Wave => "s_endpgm",
                Ending::Return => "s_setpc_b64 s[30:31]",
            }),
        }
    }

    /// Writes a number that is not a mask, for dead registers.
    fn move_number(&mut self, to: Scalar, word: u64) {
        let halves = match self.target.wave_size {
            WaveSize::Wave32 => vec![(Half::Low, word)],
            WaveSize::Wave64 => vec![(Half::Low, word), (Half::High, word >> 32)],
        };
        for (half, word) in halves {
            let (to, word) = (half_of(to, half), word & 0xffff_ffff);
            self.line(&format!("s_mov_b32 {to}, {word:#x}"));
        }
    }

    /// Returns the register of a half of a mask. A number is moved to a register first.
    fn half(&mut self, scalar: Scalar, half: Half) -> String {
        let Scalar::Number(word) = scalar else {
            return half_of(scalar, half);
        };
        let word = match half {
            Half::Low => word & 0xffff_ffff,
            Half::High => word >> 32,
        };
        self.line(&format!("s_mov_b32 s{NUMBER}, {word:#x}"));
        format!("s{NUMBER}")
    }

    /// Returns the row of scratch and the lane of a dword.
    fn row(&self, offset: u64) -> (u64, u64) {
        let lanes = u64::from(self.target.wave_size.lanes());
        let dword = offset / 4;
        (dword / lanes * 4, dword % lanes)
    }

    fn load(&self, row: u64) -> String {
        if self.target.has_scratch {
            format!("scratch_load_b32 {SPILL}, off, s33 offset:{row}")
        } else {
            format!("buffer_load_dword {SPILL}, off, s[0:3], s33 offset:{row}")
        }
    }

    fn store(&self, row: u64) -> String {
        if self.target.has_scratch {
            format!("scratch_store_b32 off, {SPILL}, s33 offset:{row}")
        } else {
            format!("buffer_store_dword {SPILL}, off, s[0:3], s33 offset:{row}")
        }
    }

    /// Writes instructions that all lanes execute.
    fn all_lanes(&mut self, lines: &[String]) {
        let [exec, saved] = [Scalar::Exec, Scalar::Register(SPILLED_EXEC)];
        let [exec, saved] = [exec, saved].map(|scalar| self.target.mask(scalar));
        let width = self.target.width();
        let wraps = !self.is_whole_wave;
        if wraps {
            self.line(&format!("s_or_saveexec_{width} {saved}, -1"));
        }
        for line in lines {
            self.line(line);
        }
        if wraps {
            self.line(&format!("s_mov_{width} {exec}, {saved}"));
        }
    }
}
