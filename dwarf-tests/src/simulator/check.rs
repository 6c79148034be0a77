//! Runs a program both ways and compares at each step: the positions in the debugging information of the wave, and the true position of
//! each lane.

use core::fmt::{self, Display, Formatter};
use core::ops::AddAssign;

use hetdwarf::arch::{LoadAddress, WaveSize};
use hetdwarf::eval::Reading;
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::lane_pc;
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;

use super::back_end::{Compiled, compile};
use super::generate::smaller;
use super::lane::Lane;
use super::machine::Machine;
use super::object_file::{self, Addresses, Function};
use super::source::Source;

/// The load address of the code.
const LOADED_AT: u64 = 0x7f00_0000_0000;
/// The most steps. Programs that run longer are not checked.
const MOST_STEPS: usize = 600;
/// The functions, one for each wave size.
pub const NAMES: [(&str, WaveSize); 2] =
    [("wave32", WaveSize::Wave32), ("wave64", WaveSize::Wave64)];

/// The number of comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The number of programs.
    pub programs: usize,
    /// The number of their regions, for each wave size.
    pub regions: usize,
    /// The number of steps of waves.
    pub steps: usize,
    /// The number of lanes at all steps.
    pub lanes: usize,
    /// The number of inactive lanes with a position.
    pub waiting: usize,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Figures) {
        self.programs += other.programs;
        self.regions += other.regions;
        self.steps += other.steps;
        self.lanes += other.lanes;
        self.waiting += other.waiting;
    }
}

/// The reason why a program failed.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The program runs too long to be checked, which is not an error.
    TooLong,
    /// The toy back end is wrong, so there is no result about the library.
    BackEnd(String),
    /// The debugging information is wrong.
    Wrong(String),
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Failure::TooLong => f.write_str("it runs too long"),
            Failure::BackEnd(message) => write!(f, "the toy back end is wrong: {message}"),
            Failure::Wrong(message) => f.write_str(message),
        }
    }
}

/// The form in which a program is written and read.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The version of DWARF.
    pub version: u16,
    /// The representation of addresses.
    pub addresses: Addresses,
    /// The strictness of reading.
    pub reading: Reading,
}

impl Default for Form {
    /// Returns DWARF 5, with relocations, read exactly as specified.
    fn default() -> Form {
        Form {
            version: 5,
            addresses: Addresses::Symbols,
            reading: Reading::Strict,
        }
    }
}

/// A form with hooks for tests.
#[derive(Clone, Copy)]
pub struct Way<'w> {
    /// The form.
    pub form: Form,
    /// Changes the description before it is written, for tests of detection.
    pub change: &'w dyn Fn(&mut lane_pc::Program),
    /// Returns the description of a function's regions.
    pub regions: &'w dyn Fn(&Compiled) -> lane_pc::Function,
    /// True if waiting lanes may be without a position. A wrong position is an error in any case.
    pub may_be_unknown: bool,
    /// Writes the object.
    pub write: &'w dyn Fn(&[Function<'_>], Form) -> Vec<u8>,
}

impl Way<'static> {
    /// Returns the default hooks.
    #[must_use]
    pub fn new(form: Form) -> Way<'static> {
        Way {
            form,
            change: &|_| {},
            regions: &|compiled| compiled.function.clone(),
            may_be_unknown: false,
            write: &|functions, form| object_file::write(functions, form.version, form.addresses),
        }
    }
}

/// Checks a program, as waves of 32 and of 64 lanes, at every step.
///
/// # Errors
/// If a lane has a wrong position.
pub fn check(source: &Source, way: Way<'_>) -> Result<Figures, Failure> {
    let compiled = NAMES.map(|(_, wave_size)| compile(source, wave_size));
    for function in &compiled {
        run(source, function, 0, |_, _| Ok(()))?;
    }
    let mut programs = Vec::new();
    for function in &compiled {
        let program = lane_pc::Program::new(&(way.regions)(function));
        let mut program = program.map_err(|error| Failure::Wrong(error.to_string()))?;
        (way.change)(&mut program);
        programs.push(program);
    }
    let functions: Vec<_> = NAMES
        .iter()
        .zip(compiled.iter().zip(&programs))
        .map(|((name, _), (compiled, program))| Function {
            name,
            size: 4 * u64::try_from(compiled.instructions.len()).unwrap(),
            program,
        })
        .collect();
    let bytes = (way.write)(&functions, way.form);
    let wrong = |error: hetdwarf::Error| Failure::Wrong(error.to_string());
    let object = CodeObject::parse(&bytes).map_err(wrong)?;
    let program = Program::load(&object).map_err(wrong)?;
    let symbols = object.symbols().map_err(wrong)?.to_vec();
    let mut figures = Figures {
        programs: 1,
        ..Figures::default()
    };
    for (function, written) in compiled.iter().zip(&functions) {
        let symbol = symbols.iter().find(|symbol| symbol.name == written.name);
        let start = symbol.expect("each function has a symbol").address;
        figures.regions += written.program.regions;
        run(source, function, LOADED_AT + start, |machine, lanes| {
            figures.steps += 1;
            figures.lanes += lanes.len();
            figures.waiting += compare(&program, way, machine, lanes).map_err(|message| {
                Failure::Wrong(format!("{}, pc {:#x}: {message}", written.name, machine.pc))
            })?;
            Ok(())
        })?;
    }
    Ok(figures)
}

/// The position of a lane that was active on entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    /// The address.
    pub(super) pc: u64,
    /// True if the lane takes part in the wave's next instruction.
    pub(super) takes_part: bool,
    /// The next instruction that the lane takes part in, and the last that it took part in.
    pub(super) next: u64,
    pub(super) last: Option<u64>,
}

/// Runs a function as a wave, and each lane alone in parallel.
pub(super) fn run(
    source: &Source,
    compiled: &Compiled,
    base: u64,
    mut at_step: impl FnMut(&Machine, &[Option<Position>]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let wave_size = compiled.function.wave_size;
    let mut machine = Machine::new(wave_size, source.entry, base);
    let mut lanes: Vec<Option<Lane>> = (0..wave_size.lanes().into())
        .map(|lane| {
            let is_here = source.entry >> lane & 1 == 1;
            is_here.then(|| Lane::alone(lane, &compiled.body, compiled.end))
        })
        .collect();
    let whole_wave: Vec<_> = compiled
        .function
        .whole_wave
        .iter()
        .map(|section| &section.code)
        .collect();
    for _ in 0..MOST_STEPS {
        let mut active = 0_u64;
        let positions: Vec<Option<Position>> = lanes
            .iter_mut()
            .enumerate()
            .map(|(number, lane)| {
                let lane = lane.as_mut()?;
                let takes_part = lane.comes_to(machine.pc);
                active |= u64::from(takes_part) << number;
                Some(Position {
                    pc: lane.pc(),
                    takes_part,
                    next: lane.next(),
                    last: lane.last(),
                })
            })
            .collect();
        let pc = machine.pc.into();
        let is_whole = whole_wave
            .iter()
            .any(|code| code.start <= pc && pc < code.end);
        if !is_whole && active != machine.exec {
            let message = format!(
                "at {:#x} EXEC is {:#x}, but the lanes {active:#x} are there",
                machine.pc, machine.exec
            );
            return Err(Failure::BackEnd(message));
        }
        at_step(&machine, &positions)?;
        let index = usize::try_from(machine.pc / 4).unwrap();
        let goes_on = machine.step(compiled.instructions[index], &compiled.labels);
        for (lane, position) in lanes.iter_mut().zip(&positions) {
            if let (Some(lane), Some(position)) = (lane, position)
                && position.takes_part
            {
                lane.took_part();
            }
        }
        if !goes_on {
            if lanes.iter().flatten().all(Lane::is_done) {
                return Ok(());
            }
            return Err(Failure::BackEnd("lanes are left behind".to_owned()));
        }
    }
    Err(Failure::TooLong)
}

/// Compares the described positions with the true positions. Returns the number of waiting lanes with a position.
fn compare(
    program: &Program<'_>,
    way: Way<'_>,
    machine: &Machine,
    lanes: &[Option<Position>],
) -> Result<usize, String> {
    let arena = Arena::new();
    let pc = machine.base + machine.pc;
    let stop = Stop::new(
        program,
        machine,
        pc,
        StopOptions::loaded_at(LoadAddress(LOADED_AT)).reading(way.form.reading),
        &arena,
    );
    let frame = stop.call_frame(0).ok_or("there is no frame")?;
    let found = frame.lane_pcs().map_err(|error| error.to_string())?;
    if !found.is_known() {
        return Err("nothing is said of lanes".to_owned());
    }
    let mut waiting = 0;
    let mut active = 0_u64;
    for (number, (lane, pc)) in lanes.iter().zip(found.pcs()).enumerate() {
        let pc = pc.map(u64::from);
        let expected = lane.map(|lane| machine.base + lane.pc);
        let waits = lane.is_some_and(|lane| !lane.takes_part);
        if pc.is_none() && waits && way.may_be_unknown {
            continue;
        }
        if expected != pc {
            let text = |pc: Option<u64>| match pc {
                Some(pc) => format!("at {:#x}", pc.wrapping_sub(machine.base)),
                None => "nowhere".to_owned(),
            };
            return Err(format!(
                "lane {number} is {}, and said to be {}",
                text(expected),
                text(pc)
            ));
        }
        match lane {
            Some(lane) if lane.takes_part => active |= 1 << number,
            Some(_) => waiting += 1,
            None => {}
        }
    }
    if found.pcs().len() != lanes.len() {
        return Err(format!(
            "there are {} lanes, not {}",
            lanes.len(),
            found.pcs().len()
        ));
    }
    if found.active() != active {
        return Err(format!(
            "the lanes {active:#x} are active, and said to be are {:#x}",
            found.active()
        ));
    }
    Ok(waiting)
}

/// Returns the smallest similar program that fails in the same way, with its failure.
#[must_use]
pub fn shrink(source: &Source, failure: &Failure, way: Way<'_>) -> (Source, Failure) {
    let mut smallest = (source.clone(), failure.clone());
    'again: loop {
        for candidate in smaller(&smallest.0) {
            if let Err(failure) = check(&candidate, way)
                && core::mem::discriminant(&failure) == core::mem::discriminant(&smallest.1)
            {
                smallest = (candidate, failure);
                continue 'again;
            }
        }
        return smallest;
    }
}
