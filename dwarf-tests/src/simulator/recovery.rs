//! Runs programs as waves. At every step, compares the true position of each lane with the position recovered from the machine code and the
//! wave's registers alone.

use core::ops::{AddAssign, Range};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use std::sync::Arc;

use hetdwarf::arch::{LoadAddress, Processor, Register, RegisterClass, WaveSize};
use hetdwarf::lane_flow::{Function, LaneFlow, LaneState, Reason};
use hetdwarf::limits::Limits;
use hetdwarf::meter::Meter;
use hetdwarf::wave::{AccessError, Memory, Wave};
use object::{Object, ObjectSection};

use super::amdgpu::{self, ACTIVE, ENTERED, Ending, TEMPORARY, Target};
use super::back_end::{Compiled, compile};
use super::check::{Failure, Position, run};
use super::machine::{BASE, BASE_ADDRESS, Instruction, Machine, Scalar, all};
use super::random::Random;
use super::source::Source;

/// The number of comparisons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The programs that were run.
    pub programs: usize,
    /// The stops of waves.
    pub stops: usize,
    /// The active lanes that were recovered as active.
    pub active: usize,
    /// The waiting lanes that were recovered where they resume.
    pub waiting: usize,
    /// The waiting lanes whose switch-off point was recovered, and is right.
    pub left: usize,
    /// The lanes that were inactive at the start, and were recovered as such.
    pub elsewhere: usize,
    /// The lanes that only the right instruction can have switched off, independent of the masks.
    pub charged: usize,
    /// The lanes that could not be recovered, by reason.
    pub unknown: BTreeMap<&'static str, usize>,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Figures) {
        self.programs += other.programs;
        self.stops += other.stops;
        self.active += other.active;
        self.waiting += other.waiting;
        self.left += other.left;
        self.elsewhere += other.elsewhere;
        self.charged += other.charged;
        for (reason, count) in other.unknown {
            *self.unknown.entry(reason).or_default() += count;
        }
    }
}

/// A program for one processor.
struct Encoded {
    source: Source,
    compiled: Compiled,
    ending: Ending,
    /// The address of each toy instruction. None for instructions that were merged into the previous one.
    addresses: Vec<Option<u64>>,
}

/// Compares programs of one processor.
///
/// * `assembler`: `llvm-mc`.
/// * `sources`: the programs. Those that run too long are skipped.
///
/// # Errors
/// A program with a lane whose recovered position is wrong, and the difference.
///
/// # Panics
/// If the assembler rejects the code.
pub fn compare(
    assembler: &Path,
    target: Target,
    sources: &[Source],
) -> Result<Figures, (Box<Source>, Failure)> {
    let mut programs = Vec::new();
    let mut text = ".text\ntext:\n".to_owned();
    for source in sources {
        let compiled = compile(source, target.wave_size);
        // The executed instructions that set EXEC to a mask, and true if the mask always contained all active lanes.
        let mut only_adds: BTreeMap<usize, bool> = BTreeMap::new();
        let ran = run(source, &compiled, 0, |machine, _| {
            let index = usize::try_from(machine.pc / 4).unwrap();
            if let Instruction::Copy(Scalar::Exec, from) = compiled.instructions[index] {
                let adds = machine.exec & !machine.get(from) == 0;
                *only_adds.entry(index).or_insert(true) &= adds;
            }
            Ok(())
        });
        match ran {
            Ok(()) => {}
            Err(Failure::TooLong) => continue,
            Err(failure) => return Err((Box::new(source.clone()), failure)),
        }
        let mut random = Random::new(source.choices ^ 0xa3d6);
        let ending = if random.percent(50) {
            Ending::Wave
        } else {
            Ending::Return
        };
        amdgpu::append(
            &mut text,
            &compiled,
            target,
            (programs.len(), ending),
            &|index| only_adds.get(&index) == Some(&true),
            &mut random,
        );
        programs.push(Encoded {
            source: source.clone(),
            compiled,
            ending,
            addresses: Vec::new(),
        });
    }
    let bytes = assemble(assembler, target, &text);
    let file = object::File::parse(&*bytes).unwrap();
    let section = |name: &str| file.section_by_name(name).unwrap().data().unwrap();
    let (code, mut addresses) = (section(".text"), section("addresses"));
    for program in &mut programs {
        let size = 4 * program.compiled.instructions.len();
        let (own, others) = addresses.split_at(size);
        addresses = others;
        program.addresses = own
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .map(|word| (word != u32::MAX).then_some(word.into()))
            .collect();
    }
    let starts = programs.iter().map(|program| program.addresses[0].unwrap());
    let ends = starts.clone().skip(1).chain([code.len() as u64]);
    let functions = starts.zip(ends).zip(&programs);
    let functions = functions.map(|((start, end), program)| Function {
        address: start,
        code: &code[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()],
        is_kernel: program.ending == Ending::Wave,
    });
    let processor = Processor::by_name(target.processor).unwrap();
    let meter = Arc::new(Meter::new(&Limits::DEFAULT, code.len() as u64));
    let flow = LaneFlow::new(processor, target.wave_size, functions, &meter);
    let mut figures = Figures::default();
    for program in &programs {
        figures.programs += 1;
        let mut registers = Registers::default();
        let ran = run(
            &program.source,
            &program.compiled,
            0,
            |machine, positions| {
                registers.come_to(program, machine);
                let wave = Stopped {
                    machine,
                    target,
                    entered: program.source.entry & all(target.wave_size),
                    registers: &registers,
                };
                let found = stop(&flow, program, &wave, positions);
                figures += found.map_err(|message| {
                    let name = target.processor;
                    let pc = machine.pc;
                    Failure::Wrong(format!("{name} {:?}, {pc:#x}: {message}", target.wave_size))
                })?;
                Ok(())
            },
        );
        ran.map_err(|failure| (Box::new(program.source.clone()), failure))?;
    }
    Ok(figures)
}

/// Assembles a text into an object.
fn assemble(assembler: &Path, target: Target, text: &str) -> Vec<u8> {
    let mut child = Command::new(assembler)
        .args(target.options())
        .args(["--filetype=obj", "-o", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(text.as_bytes()).unwrap());
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "the assembler refuses:\n{text}");
    output.stdout
}

/// Compares the lanes of one stop.
fn stop(
    flow: &LaneFlow<'_>,
    program: &Encoded,
    wave: &Stopped<'_>,
    positions: &[Option<Position>],
) -> Result<Figures, String> {
    let mut figures = Figures::default();
    let address = |pc: u64| program.addresses[usize::try_from(pc / 4).unwrap()];
    // A wave cannot stop within an instruction.
    let Some(pc) = address(wave.machine.pc) else {
        return Ok(figures);
    };
    let dispatched = match program.ending {
        Ending::Wave => wave.entered,
        Ending::Return => all(wave.wave_size()),
    };
    // The limits of a stop in the smallest of files.
    let meter = Meter::new(&Limits::DEFAULT, 0);
    let found = flow
        .stop(wave, pc, LoadAddress(0), Some(dispatched), &meter)
        .unwrap();
    figures.stops = 1;
    let possible = flow.possibly_off(pc, &meter);
    for (number, position) in positions.iter().enumerate() {
        let state = found.frames[0].lanes[number];
        let wrong = || {
            let really = position.map(|lane| (lane.takes_part, address(lane.next), lane.last));
            format!("lane {number} at {pc:#x}: {state:x?}, but it is {really:x?}")
        };
        match (position, state) {
            (Some(lane), LaneState::Active) if lane.takes_part => figures.active += 1,
            (
                Some(lane),
                LaneState::Waiting {
                    pc, left, resumes, ..
                },
            ) if !lane.takes_part => {
                // No other address of the gap is common to all paths.
                if resumes != address(lane.next) || Some(pc) != resumes {
                    return Err(wrong());
                }
                figures.waiting += 1;
                let last = lane.last.ok_or_else(wrong)?;
                // It may be the second half of an instruction.
                let halves = [Some(last), last.checked_sub(4)];
                let last = halves.into_iter().flatten().find_map(address);
                if left.is_some() {
                    if left != last {
                        return Err(wrong());
                    }
                    figures.left += 1;
                }
                // A profiler does not have the masks.
                if let Ok(place) = &possible {
                    let switches = &place.halves[number / 32].switches;
                    if !last.is_some_and(|last| switches.contains(&last)) {
                        return Err(format!("{}, not by {switches:x?}", wrong()));
                    }
                    figures.charged += usize::from(switches.len() == 1);
                }
            }
            // The function has no caller.
            (None, LaneState::Elsewhere | LaneState::Unknown(Reason::Caller)) => {
                figures.elsewhere += 1;
            }
            (_, LaneState::Unknown(reason)) => {
                *figures.unknown.entry(reason.name()).or_default() += 1;
            }
            (_, _) => return Err(wrong()),
        }
    }
    Ok(figures)
}

/// The registers whose values differ between the processor's code and the toy machine.
#[derive(Debug, Default)]
struct Registers {
    /// The previous toy instruction, if any.
    last: Option<usize>,
    /// VCC, which comparisons that write EXEC do not change.
    vcc: u64,
    is_vcc_kept: bool,
    /// The lanes that were active before all lanes began to execute.
    active: u64,
    exec: u64,
}

impl Registers {
    /// Updates the registers when the wave reaches its next instruction.
    fn come_to(&mut self, program: &Encoded, machine: &Machine) {
        if let Some(index) = self.last {
            match program.compiled.instructions[index] {
                Instruction::Compare(_) | Instruction::Again(_) => {
                    let next = program.addresses.get(index + 1);
                    self.is_vcc_kept = next == Some(&None);
                }
                // An instruction merged into the previous one has a register of its own.
                Instruction::Everyone if program.addresses[index].is_some() => {
                    self.active = self.exec;
                }
                _ => {}
            }
        }
        if !self.is_vcc_kept {
            self.vcc = machine.get(Scalar::Vcc);
        }
        self.exec = machine.exec;
        self.last = Some(usize::try_from(machine.pc / 4).unwrap());
    }
}

/// The wave, with the registers that only the processor's code has.
struct Stopped<'m> {
    machine: &'m Machine,
    target: Target,
    entered: u64,
    registers: &'m Registers,
}

impl Wave for Stopped<'_> {
    fn wave_size(&self) -> WaveSize {
        self.machine.wave_size()
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        let lanes = u64::from(self.target.wave_size.lanes());
        let base = match self.target.has_scratch {
            true => BASE_ADDRESS / lanes,
            false => BASE_ADDRESS,
        };
        if register.class() == Some(RegisterClass::Vcc) {
            let bytes = usize::try_from(bits.start / 8).unwrap()..;
            out.copy_from_slice(&self.registers.vcc.to_le_bytes()[bytes][..out.len()]);
            return Ok(());
        }
        let is_scalar = register.class() == Some(RegisterClass::Sgpr);
        let own = match register.index().filter(|_| is_scalar) {
            Some(BASE) => base,
            Some(ENTERED) => self.entered & 0xffff_ffff,
            Some(index) if index == ENTERED + 1 => self.entered >> 32,
            Some(ACTIVE) => self.registers.active & 0xffff_ffff,
            Some(index) if index == ACTIVE + 1 => self.registers.active >> 32,
            // The toy machine does not know the values of these registers.
            Some(index) if TEMPORARY.contains(&index) => return Err(AccessError::Unavailable),
            // There is no caller.
            Some(30 | 31) => 0,
            _ => return self.machine.read_register(register, bits, out),
        };
        out.copy_from_slice(&own.to_le_bytes()[..4]);
        Ok(())
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        self.machine.read_memory(memory, address, out)
    }
}
