//! The toy instructions as those of AMDGPU processors: the same program, as text for an assembler.
//!
//! One toy instruction is one or several of the processor, and sometimes two are one: what saves EXEC and narrows it
//! is `s_and_saveexec`, and a comparison that narrows it is `v_cmpx`. Masks that go to scratch go there as compilers
//! without optimisation bring them there: through a lane of a vector register that all lanes store.

use std::fmt::Write;

use hetdwarf::arch::WaveSize;

use super::back_end::Compiled;
use super::machine::{Half, Instruction, SIZE, Scalar};
use super::random::Random;

/// A processor that the code is for.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub processor: &'static str,
    /// How many lanes its waves have.
    pub wave_size: WaveSize,
    /// True if it has scratch instructions, which count the bytes of one lane; the others count those of the wave.
    pub has_scratch: bool,
}

/// Those of every kind of code.
pub const TARGETS: [Target; 5] = [
    Target::new("gfx1030", WaveSize::Wave32, false),
    Target::new("gfx1030", WaveSize::Wave64, false),
    Target::new("gfx1100", WaveSize::Wave32, true),
    Target::new("gfx1100", WaveSize::Wave64, true),
    Target::new("gfx90a", WaveSize::Wave64, false),
];

/// The vector register through which masks go to scratch; nothing is in it before or after.
const SPILL: &str = "v42";
/// Where EXEC is meanwhile.
const SPILLED_EXEC: u16 = 54;
/// The lanes that the wave began with: an argument of the function.
pub const ENTERED: u16 = 56;
/// For numbers on their way to vector registers.
const NUMBER: u16 = 58;

/// Registers of which the toy machine knows nothing.
pub const TEMPORARY: [u16; 3] = [SPILLED_EXEC, SPILLED_EXEC + 1, NUMBER];
/// The active lanes from where all lanes begin to execute, in a register of the processor's code.
pub const ACTIVE: u16 = 60;

/// How the function ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is a kernel.
    Wave,
    /// It returns.
    Return,
}

/// What is known of a run: for each toy instruction that makes EXEC another mask's copy, whether the mask had every
/// active lane at all times. It may then add the lanes as well.
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

    /// The suffix of instructions on masks.
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

    /// A mask of all lanes as an operand.
    fn mask(self, scalar: Scalar) -> String {
        let low = if self.is_wide() { "" } else { "_lo" };
        match scalar {
            Scalar::Exec => format!("exec{low}"),
            Scalar::Vcc => format!("vcc{low}"),
            Scalar::Register(first) => self.registers(first),
            Scalar::Number(0) => "0".to_owned(),
            // The only number that is used as a mask.
            Scalar::Number(_) => self.registers(ENTERED),
        }
    }

    /// The names that the assembler needs.
    #[must_use]
    pub fn options(self) -> [String; 3] {
        [
            "--triple=amdgcn-amd-amdhsa".to_owned(),
            format!("--mcpu={}", self.processor),
            format!("--mattr=+wavefrontsize{}", self.wave_size.lanes()),
        ]
    }
}

/// The register of a half.
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
/// After it, the section `addresses` has four bytes for each toy instruction: where it begins, counted from the start of the
/// text; all ones if it is a part of the instruction before.
///
/// * `number`: tells the labels of functions from one another.
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
        // Where only quads execute, not every lane would store.
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
        // Labels that nothing goes to may have no place.
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
    /// True if other lanes execute here than those of the program, and whether all do.
    is_section: bool,
    is_whole_wave: bool,
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").unwrap();
    }

    /// An instruction on masks.
    fn masks(&mut self, name: &str, operands: &[Scalar]) {
        let names: Vec<String> = operands
            .iter()
            .map(|operand| self.target.mask(*operand))
            .collect();
        let width = self.target.width();
        self.line(&format!("s_{name}_{width} {}", names.join(", ")));
    }

    /// One instruction that does what two do. Says whether there is one.
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
                // Active lanes are among those of the mask.
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

    /// A number that is no mask of the program: what dead registers have.
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

    /// A half of a mask in a register, where a number is brought first.
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

    /// The row of scratch and the lane of a dword.
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

    /// Instructions that all lanes execute.
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
