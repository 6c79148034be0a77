//! `hetdwarf vars`.

use std::io::Write;

use crate::display::Options;
use crate::eval::LaneFocus;
use crate::inspect::{Program, Stop, StopOptions};
use crate::location::Arena;
use crate::object::CodeObject;
use crate::report::{LaneDocument, VariableDocument, VarsDocument, VarsFrame};
use crate::wave::Wave;
use globset::Glob;

use super::arguments::{Format, VarsArguments};
use super::failure::{Exit, Failure};
use super::input::{choose, dialect, lane_focus, lanes_of, read_file, read_wave};
use super::lanes::ranges;
use super::table::table;

pub(crate) fn run(arguments: &VarsArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let path = &arguments.object;
    let place = |error: crate::Error| Failure::in_file(path, error);
    let data = read_file(path)?;
    let embedded = choose(path, &data, &arguments.which)?;
    let object = CodeObject::parse(&embedded.data).map_err(place)?;
    let dwo_data = arguments.which.dwo.as_deref().map(read_file).transpose()?;
    let dwo = dwo_data
        .as_deref()
        .map(CodeObject::parse)
        .transpose()
        .map_err(place)?;
    let mut program = Program::load(&object)
        .map_err(place)?
        .with_dialect(dialect(arguments.which.dialect));
    if let Some(dwo) = &dwo {
        program = program.with_split(dwo).map_err(place)?;
    }
    let wave = read_wave(&arguments.wave)?;
    let focus = lane_focus(arguments.lane.as_deref(), wave.wave_size())?.unwrap_or(LaneFocus::All);
    let lanes = lanes_of(focus, wave.wave_size());
    let glob = match &arguments.name {
        Some(glob) => Some(
            Glob::new(glob)
                .map_err(|e| Failure::new(format!("--name {glob}: {e}")))?
                .compile_matcher(),
        ),
        None => None,
    };
    let wanted = |name: &str| glob.as_ref().is_none_or(|glob| glob.is_match(name));
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.load_address).reading(arguments.reading.reading());
    let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
    let level = arguments.frame;
    let frame = stop.frame(level).ok_or_else(|| {
        let reason = stop.stack().error().map_or_else(
            || stop.stack().stopped().text().to_owned(),
            ToString::to_string,
        );
        Failure::new(format!(
            "--frame {level}: there are {} frames ({reason})",
            stop.frames().len()
        ))
    })?;
    let document =
        VarsDocument::new(&frame, &lanes, &wanted, &Options::default()).map_err(place)?;
    match arguments.format {
        Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&document)?)?,
        Format::Text => print(&document, out)?,
    }
    let read = |variable: &VariableDocument| {
        variable
            .lanes
            .iter()
            .any(|lane| matches!(lane.state, "ok" | "partial"))
    };
    Ok(if document.variables.iter().any(read) {
        Exit::Done
    } else {
        Exit::BadNews
    })
}

/// Where a frame is, as `helper at k.cl:4`.
pub(crate) fn frame_text(frame: &VarsFrame) -> String {
    let mut text = frame.function.clone().unwrap_or_else(|| "?".to_owned());
    for name in frame.inlined.iter().rev() {
        text = format!("{name} inlined into {text}");
    }
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{text} at {file}:{line}"),
        (Some(file), None) => format!("{text} in {file}"),
        (None, _) => text,
    }
}

/// The widest value that is shown in a table of lanes.
const WIDEST: usize = 18;
/// The width that tables keep to.
const WIDTH: usize = 110;

pub(crate) fn print(document: &VarsDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let bold = anstyle::Style::new().bold();
    writeln!(
        out,
        "#{} {bold}{}{bold:#} (pc {:#x})",
        document.frame.index,
        frame_text(&document.frame),
        document.pc.0
    )?;
    if document.variables.is_empty() {
        writeln!(out, "no variables in scope")?;
        return Ok(());
    }
    let (narrow, wide): (Vec<_>, Vec<_>) = document
        .variables
        .iter()
        .partition(|variable| is_narrow(variable));
    print_matrix(&narrow, out)?;
    for variable in wide {
        print_groups(variable, out)?;
    }
    let legacy: Vec<_> = document
        .variables
        .iter()
        .filter(|v| v.reading == "legacy-llvm")
        .map(|v| v.name.as_str())
        .collect();
    if !legacy.is_empty() {
        writeln!(
            out,
            "read as LLVM means them, not by the letter: {}",
            legacy.join(", ")
        )?;
    }
    Ok(())
}

/// Whether all values of a variable fit into a table of lanes.
fn is_narrow(variable: &VariableDocument) -> bool {
    variable.lanes.len() > 1
        && variable
            .lanes
            .iter()
            .all(|lane| lane.state != "error" && cell(lane).chars().count() <= WIDEST)
        && variable
            .lanes
            .iter()
            .any(|lane| matches!(lane.state, "ok" | "partial"))
}

/// A value, short.
fn cell(lane: &LaneDocument) -> String {
    match (&lane.value, lane.state) {
        (Some(value), _) => value.clone(),
        (None, "inactive") => "·".to_owned(),
        (None, state) => format!("<{state}>"),
    }
}

/// Variables over lanes, in as many tables as it takes.
fn print_matrix(variables: &[&VariableDocument], out: &mut dyn Write) -> Result<(), Failure> {
    let Some(first) = variables.first() else {
        return Ok(());
    };
    let count = first.lanes.len();
    let label = |v: &VariableDocument| {
        if v.ty.ends_with('*') {
            format!("{}{}", v.ty, v.name)
        } else {
            format!("{} {}", v.ty, v.name)
        }
    };
    let label_width = variables
        .iter()
        .map(|v| label(v).chars().count())
        .max()
        .unwrap_or(0);
    let widest = variables
        .iter()
        .flat_map(|v| &v.lanes)
        .map(|lane| cell(lane).chars().count())
        .max()
        .unwrap_or(1);
    let columns = WIDTH
        .saturating_sub(label_width)
        .checked_div(widest.saturating_add(2))
        .unwrap_or(1)
        .clamp(1, 16);
    let mut start = 0usize;
    while start < count {
        let end = start.saturating_add(columns).min(count);
        let lanes = |v: &VariableDocument| v.lanes.get(start..end).unwrap_or_default().to_vec();
        let mut header = vec!["lane".to_owned()];
        header.extend(lanes(first).iter().map(|lane| lane.lane.to_string()));
        let rows: Vec<Vec<String>> = variables
            .iter()
            .map(|v| {
                core::iter::once(label(v))
                    .chain(lanes(v).iter().map(cell))
                    .collect()
            })
            .collect();
        let all_inactive = variables
            .iter()
            .all(|v| lanes(v).iter().all(|lane| lane.state == "inactive"));
        if !all_inactive {
            writeln!(out, "{}", table(&header, &rows, 1))?;
        }
        start = end;
    }
    Ok(())
}

/// One variable, lanes with the same value together.
fn print_groups(variable: &VariableDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let mut groups: Vec<(String, Vec<u8>)> = Vec::new();
    for lane in &variable.lanes {
        let text = match (&lane.value, &lane.message) {
            (Some(value), _) => value.clone(),
            (None, Some(message)) => format!("<{}: {message}>", lane.state),
            (None, None) => format!("<{}>", lane.state),
        };
        match groups.iter_mut().find(|(value, _)| *value == text) {
            Some((_, lanes)) => lanes.push(lane.lane),
            None => groups.push((text, vec![lane.lane])),
        }
    }
    let bold = anstyle::Style::new().bold();
    let name = if variable.ty.ends_with('*') {
        format!("{}{}", variable.ty, variable.name)
    } else {
        format!("{} {}", variable.ty, variable.name)
    };
    if let [(value, _)] = groups.as_slice() {
        writeln!(out, "{bold}{name}{bold:#} = {value}")?;
        return Ok(());
    }
    writeln!(out, "{bold}{name}{bold:#}")?;
    for (value, lanes) in groups {
        writeln!(out, "  lanes {}: {value}", ranges(&lanes))?;
    }
    Ok(())
}
