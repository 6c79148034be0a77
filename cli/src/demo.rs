//! `hetdwarf demo`: a core file that is built in, as the other commands show it.
//!
//! Where the files come from is said in `demo/README.md`.

use std::io::Write;

use hetdwarf::location::Arena;
use hetdwarf::report::{CoreDocument, GroupBy, LanePcDocument};

use super::arguments::DemoArguments;
use super::core::{Opened, Printer, with_bytes};
use super::failure::{Exit, Failure};
use super::lane_pc;
use super::outputs::{Kind, Outputs};
use super::sources::Sources;

const CORE: &[u8] = include_bytes!("demo/demo.core");
/// The source, and its path as the debugging information has it.
const SOURCE: (&str, &str) = ("./calls-O2.cl", include_str!("demo/calls-O2.cl"));

pub(crate) fn run(
    arguments: &DemoArguments,
    width: usize,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    if let Some(path) = &arguments.save {
        let mut outputs = Outputs::new(arguments.force, []);
        outputs.plan(path, Kind::Core)?.write(CORE)?;
        return Ok(Exit::Done);
    }
    with_bytes(CORE, |opened| show(opened, width, out))
}

fn show(opened: &Opened<'_>, width: usize, out: &mut dyn Write) -> Result<Exit, Failure> {
    let (core, programs) = (opened.core, opened.programs);
    let document = CoreDocument::new(core, programs, &[], GroupBy::Stack);
    writeln!(
        out,
        "A kernel has died, and this is its core file, which is built in. It was compiled with -O2.\n"
    )?;
    let sources = Sources::of(SOURCE.0, SOURCE.1);
    Printer::new(&document, opened, sources, width).first(out)?;
    let wave = core.select(Default::default())?;
    let arena = Arena::new();
    let stop = programs.stop(&wave, &arena);
    let Some(frame) = stop.as_ref().and_then(|stop| stop.call_frame(0)) else {
        return Err(Failure::new("the example has no frames"));
    };
    writeln!(out, "\nWhere each lane of wave {} is", wave.index() + 1)?;
    lane_pc::print(&LanePcDocument::new(&frame)?, out)?;
    writeln!(
        out,
        "\nThe same on this core, or on one of your own (the README says how to get one):\n  \
        hetdwarf demo --save demo.core\n  \
        hetdwarf core demo.core\n  \
        hetdwarf core demo.core --html demo.html\n  \
        hetdwarf vars --core demo.core --frame 1\n  \
        hetdwarf print --core demo.core 'x * 2' 'g[a & 3]'"
    )?;
    Ok(Exit::Done)
}
