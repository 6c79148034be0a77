//! Implements `hetdwarf demo`: shows a built-in core file as the other commands do. `examples/particles` describes how it was made.

use std::io::Write;

use hetdwarf::report::{CoreReport, GroupBy};

use super::arguments::DemoArguments;
use super::core::{Opened, Printer, with_bytes};
use super::failure::{Exit, Failure};
use super::outputs::{Kind, Outputs};
use super::sources::Sources;

const CORE: &[u8] = include_bytes!("demo/particles.core");

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
    let report = CoreReport::new(opened.core, opened.programs, &[], GroupBy::Stack);
    writeln!(
        out,
        "Built-in example: the core file of a HIP kernel that crashed on gfx1100, compiled with -O2.\n"
    )?;
    Printer::new(&report, opened, Sources::new(&[]), width).first(out)?;
    writeln!(
        out,
        "\nTry these commands on this core, or on one of your own:\n  \
        hetdwarf demo --save demo.core\n  \
        hetdwarf core demo.core --html demo.html\n  \
        hetdwarf vars --core demo.core --frame 1\n  \
        hetdwarf print --core demo.core 'slot - 2048' 'cells[particle & 31]'\n  \
        hetdwarf lane-pc --core demo.core"
    )?;
    Ok(Exit::Done)
}
