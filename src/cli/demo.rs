//! `hetdwarf demo`: a stopped wave that is built in, as the other commands show it.
//!
//! Where the files come from is said in `demo/README.md`.

use std::io::Write;

use crate::inspect::{Program, Stop, StopFrame, StopOptions};
use crate::location::Arena;
use crate::object::CodeObject;
use crate::report::{LaneChoice, LanePcDocument, UnwindDocument, VarsDocument, VarsRequest};
use crate::wave::{Snapshot, Wave};

use super::failure::{Exit, Failure};
use super::{lane_pc, unwind, vars};

const OBJECT: &[u8] = include_bytes!("demo/calls-O2.rocm.hsaco");
const WAVE: &[u8] = include_bytes!("demo/stop.json");
const SOURCE: &str = include_str!("demo/calls-O2.cl");

pub(crate) fn run(width: usize, out: &mut dyn Write) -> Result<Exit, Failure> {
    let object = CodeObject::parse(OBJECT)?;
    let program = Program::load(&object)?;
    let wave = Snapshot::from_json(WAVE)?;
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.load_address);
    let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
    let frame = stop
        .frame(0)
        .ok_or_else(|| Failure::new("the example has no frames"))?;
    writeln!(
        out,
        "A wave of {} lanes on {} has stopped at a MARK (which does nothing), in code built with -O2.\n",
        wave.wave_size().lanes(),
        program.processor().name()
    )?;
    print_source(&frame, out)?;
    for (title, level) in [
        ("The variables of each lane", 0),
        ("The variables of the caller", 1),
    ] {
        print_title(title, &format!("vars --frame {level}"), out)?;
        if let Some(frame) = stop.frame(level) {
            let request = VarsRequest::default().lanes(LaneChoice::Readable);
            let document = VarsDocument::new(&frame, &request)?;
            vars::Printer::new(width).print(&document.content, out)?;
            vars::print_unsure(&frame.readable_lanes(), &frame, out)?;
        }
    }
    print_title("The call stack", "unwind", out)?;
    unwind::print(&UnwindDocument::new(&stop)?, None, out)?;
    unwind::print_waiting(&stop, out)?;
    print_title("Where each lane is", "lane-pc", out)?;
    lane_pc::print(&LanePcDocument::new(&frame)?, out)?;
    writeln!(
        out,
        "\nThe same on files of your own (the README says what is in STOP.json):\n  \
        hetdwarf vars KERNEL.hsaco --wave STOP.json\n  \
        hetdwarf unwind KERNEL.hsaco --wave STOP.json\n  \
        hetdwarf lane-pc KERNEL.hsaco --wave STOP.json"
    )?;
    Ok(Exit::Done)
}

fn print_title(title: &str, command: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let (bold, dim) = (anstyle::Style::new().bold(), anstyle::Style::new().dimmed());
    writeln!(
        out,
        "\n{bold}{title}{bold:#} {dim}(hetdwarf {command}){dim:#}"
    )?;
    Ok(())
}

/// The lines around the one that a frame is at.
fn print_source(frame: &StopFrame<'_, '_, '_>, out: &mut dyn Write) -> Result<(), Failure> {
    const BEFORE: u64 = 2;
    const AFTER: u64 = 4;
    let bold = anstyle::Style::new().bold();
    let Some(at) = frame.line()? else {
        return Ok(());
    };
    let around = at.line.saturating_sub(BEFORE)..=at.line.saturating_add(AFTER);
    for (number, line) in (1u64..).zip(SOURCE.lines()) {
        if number == at.line {
            writeln!(out, "{bold}> {number:3}  {line}{bold:#}")?;
        } else if around.contains(&number) {
            writeln!(out, "  {number:3}  {line}")?;
        }
    }
    Ok(())
}
