//! Implements `hetdwarf unwind`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use hetdwarf::arch::{Lane, WaveSize};
use hetdwarf::frame::Stopped;
use hetdwarf::inspect::Stop;
use hetdwarf::report::text::FileNames;
use hetdwarf::report::{
    AllWavesDocument, CallDocument, LanePcDocument, RegisterValue, UnwindDocument, UnwindFrame,
    UnwindLane, WaveGroup, write_json_pretty,
};
use hetdwarf::untrusted::Untrusted;

use super::arguments::{Format, UnwindArguments};
use super::core::{Chosen, ask_all_waves, with_chosen};
use super::failure::{Exit, Failure, print_limit, print_warnings};
use super::lane_places;
use super::lanes::{chosen_lanes, item_text, work_items};
use super::style::BOLD;
use super::variables::styled_frame;

pub(crate) fn run(
    arguments: &UnwindArguments,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    if arguments.all_waves {
        return all_waves(arguments, out);
    }
    let chosen = Chosen::of(&arguments.stop, arguments.reading.options());
    let (exit, warnings) = with_chosen(&chosen, err, |stop, file| {
        answer(arguments, stop, file, width, out)
    })?;
    print_warnings(&warnings, err)?;
    Ok(exit)
}

/// Prints the call stack. Also returns the warnings.
fn answer(
    arguments: &UnwindArguments,
    stop: &Stop<'_, '_>,
    file: &Path,
    width: usize,
    out: &mut dyn Write,
) -> Result<(Exit, Vec<Untrusted<'static>>), Failure> {
    let chosen = chosen_lanes(arguments.lane.as_deref(), stop.wave().wave_size())?;
    let document = document(chosen.as_deref(), stop, file)?;
    match arguments.format {
        Format::Json => write_json_pretty(&document, &mut *out)?,
        Format::Text => {
            let lanes = chosen.unwrap_or_else(|| stop.wave().wave_size().all_lanes().collect());
            print(&document, arguments.registers.then_some(&lanes), out)?;
            print_waiting(stop, width, out)?;
        }
    }
    Ok((exit(&document), document.warnings))
}

/// Returns the exit status for a call stack, which is incomplete if an error ended it.
fn exit(document: &UnwindDocument) -> Exit {
    let exit = match document.stopped == Stopped::Error.name() {
        true => Exit::Negative,
        false => Exit::Done,
    };
    exit.unless_limited(&document.completeness)
}

/// Prints the positions of the inactive lanes, as `lane-pc` reports them. The call stack is printed even if these positions are unknown.
fn print_waiting(stop: &Stop<'_, '_>, width: usize, out: &mut dyn Write) -> Result<(), Failure> {
    let places = (stop.call_frame(0)).and_then(|frame| LanePcDocument::new(&frame).ok());
    match places.filter(|places| places.known) {
        Some(places) => lane_places::print_inactive(&places, width, out),
        None => Ok(()),
    }
}

/// Makes the document. The first lane supplies the values of scalar registers that were saved in per-lane memory.
fn document(
    lanes: Option<&[Lane]>,
    stop: &Stop<'_, '_>,
    file: &Path,
) -> Result<UnwindDocument, Failure> {
    let first = lanes.and_then(|lanes| lanes.first().copied());
    UnwindDocument::for_lane(stop, first.unwrap_or(Lane(0)))
        .map_err(|error| Failure::in_file(file, error))
}

/// Prints the call stacks of all waves of a core. Registers are left out, because they would make almost every answer unique.
fn all_waves(arguments: &UnwindArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let limits = arguments.stop.wave.which.limits.limits();
    let options = arguments.reading.options();
    let (groups, completeness) =
        ask_all_waves(&arguments.stop.wave.core, options, &limits, |stop, file| {
            let chosen = chosen_lanes(arguments.lane.as_deref(), stop.wave().wave_size())?;
            let mut document = document(chosen.as_deref(), stop, file)?;
            for lane in &mut document.lanes {
                lane.work_item = None;
            }
            if !arguments.registers {
                let frames = document.frames.iter_mut();
                for call in frames.filter_map(|frame| frame.call.as_mut()) {
                    call.registers.clear();
                }
            }
            Ok(document)
        })?;
    let of_group = |group: &WaveGroup<UnwindDocument>| match &group.document {
        Some(document) => exit(document),
        None => Exit::Negative,
    };
    let exits = groups.iter().map(of_group);
    let exit = exits.fold(Exit::Done.unless_limited(&completeness), Ord::max);
    let document = AllWavesDocument::new("hetdwarf-unwind/2", completeness, groups);
    print_all_waves(&document, arguments.format, out, &mut |document, out| {
        let all = document.lanes.iter().map(|lane| Lane(lane.lane));
        let chosen: Vec<Lane> = match &arguments.lane {
            Some(text) => {
                let size = WaveSize::from_lanes(document.lanes.len() as u64);
                size.and_then(|size| chosen_lanes(Some(text), size).ok()?)
                    .unwrap_or_default()
            }
            None => all.collect(),
        };
        print(document, arguments.registers.then_some(&chosen), out)
    })?;
    Ok(exit)
}

/// Prints the answers of all waves.
///
/// * `print`: prints one answer as text.
pub(crate) fn print_all_waves<T: serde::Serialize>(
    document: &AllWavesDocument<T>,
    format: Format,
    out: &mut dyn Write,
    print: &mut dyn FnMut(&T, &mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match format {
        Format::Json => write_json_pretty(document, &mut *out)?,
        Format::Text => {
            for group in &document.groups {
                print_group(group, out)?;
                if let Some(answer) = &group.document {
                    print(answer, out)?;
                }
                writeln!(out)?;
            }
            print_limit(&document.completeness, out)?;
        }
    }
    Ok(())
}

/// Prints the waves of a group. If they have no answer, prints the reason.
fn print_group<T>(group: &WaveGroup<T>, out: &mut dyn Write) -> Result<(), Failure> {
    let title = match &*group.waves {
        [wave] => format!("wave {wave}"),
        waves => format!(
            "{} waves: {}",
            waves.len(),
            super::core::numbers(waves, false)
        ),
    };
    writeln!(out, "{BOLD}{title}{BOLD:#}")?;
    if let Some(message) = &group.message {
        writeln!(out, "{message}")?;
    }
    Ok(())
}

/// * `registers`: the lanes whose vector register values are printed. If None, no registers are printed.
pub(crate) fn print(
    document: &UnwindDocument,
    registers: Option<&Vec<Lane>>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let lanes: Option<Vec<UnwindLane>> = registers.map(|chosen| {
        let lanes = document.lanes.iter().copied();
        lanes
            .filter(|lane| chosen.contains(&Lane(lane.lane)))
            .collect()
    });
    let files = document
        .frames
        .iter()
        .filter_map(|frame| frame.frame.file.as_ref());
    let names = FileNames::of(files.map(Untrusted::raw));
    for frame in &document.frames {
        print_frame(frame, &names, out)?;
        if let (Some(lanes), Some(call)) = (&lanes, &frame.call) {
            print_registers(call, lanes, document.lanes.len(), out)?;
        }
    }
    writeln!(out, "{}", document.message)?;
    print_corrected(document, out)?;
    print_derived(document, out)?;
    print_limit(&document.completeness, out)?;
    let mut calls = document
        .frames
        .iter()
        .filter_map(|frame| frame.call.as_ref());
    let has_lists = calls.any(|call| {
        let mut values = call.registers.values().map(|register| &register.value);
        values.any(|value| matches!(value, Some(RegisterValue::Lanes(_))))
    });
    let items = lanes.filter(|_| has_lists).and_then(|lanes| {
        let lanes: Vec<_> = lanes
            .iter()
            .map(|lane| (lane.lane, lane.work_item))
            .collect();
        work_items(&lanes)
    });
    if let Some(items) = items {
        writeln!(out, "lanes and work-items: {items}")?;
    }
    Ok(())
}

/// Prints the names of the wrong rules, once for all frames with the same ones.
fn print_corrected(document: &UnwindDocument, out: &mut dyn Write) -> Result<(), Failure> {
    /// The most names that are printed.
    const MOST: usize = 4;
    let mut frames: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
    for UnwindFrame { frame, call, .. } in &document.frames {
        let rules = call.as_ref().map_or(&[][..], |call| &call.corrected);
        if !rules.is_empty() {
            let names = rules.iter().map(|rule| match rule.name.as_str() {
                "cfa" => "the CFA",
                "pc" => "the return address",
                register => register,
            });
            frames.entry(names.collect()).or_default().push(frame.index);
        }
    }
    for (names, frames) in frames {
        let frames = named(&frames);
        let left = names.len().saturating_sub(MOST);
        let more = if left > 0 {
            format!(" and {left} more")
        } else {
            String::new()
        };
        let shown: Vec<_> = names.into_iter().take(MOST).collect();
        let names = shown.join(", ");
        writeln!(
            out,
            "{frames}: the call frame information of {names}{more} is wrong; the machine code was used"
        )?;
    }
    Ok(())
}

/// Prints the frames without call frame information whose caller was found.
fn print_derived(document: &UnwindDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let is_derived = |frame: &&UnwindFrame| {
        let call = frame.call.as_ref();
        call.is_some_and(|call| call.derived == Some(true))
    };
    let derived = document.frames.iter().filter(is_derived);
    let frames: Vec<usize> = derived.map(|frame| frame.frame.index).collect();
    if frames.is_empty() {
        return Ok(());
    }
    let frames = named(&frames);
    let text = "there is no call frame information; the machine code was used";
    Ok(writeln!(out, "{frames}: {text}")?)
}

/// Returns the numbers of frames as text: `frame 1`, `frames 0-2`.
fn named(frames: &[usize]) -> String {
    let noun = if frames.len() == 1 { "frame" } else { "frames" };
    format!("{noun} {}", super::core::numbers(frames, false))
}

fn print_frame(
    frame: &UnwindFrame,
    names: &FileNames<'_>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let cfa = match frame.call.as_ref().and_then(|call| call.cfa.as_ref()) {
        Some(cfa) => format!(", frame at {}#{:#x}", cfa.address_space, cfa.address.0),
        None => String::new(),
    };
    let frame = &frame.frame;
    let text = styled_frame(frame, names);
    writeln!(
        out,
        "#{:<3}{:#018x} in {text}{cfa}",
        frame.index, frame.pc.0
    )?;
    Ok(())
}

/// Prints the registers of a frame. Vector registers show the values of `lanes`, labelled by lane unless these are all lanes.
fn print_registers(
    call: &CallDocument,
    lanes: &[UnwindLane],
    lanes_of_wave: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let all = lanes.len() == lanes_of_wave;
    for (name, register) in &call.registers {
        let value = match (&register.value, &register.message) {
            (Some(RegisterValue::Scalar(value)), _) => format!("{:#x}", value.0),
            (Some(RegisterValue::Lanes(values)), _) => {
                let texts = lanes.iter().map(|lane| {
                    let value = values.get(usize::from(lane.lane)).copied().flatten();
                    let text = value.map_or("?".to_owned(), |value| format!("{:#x}", value.0));
                    match lane.work_item {
                        _ if all => text,
                        Some(item) => format!("lane {} {}: {text}", lane.lane, item_text(item)),
                        None => format!("lane {}: {text}", lane.lane),
                    }
                });
                let texts: Vec<_> = texts.collect();
                texts.join(if all { " " } else { ", " })
            }
            (None, Some(message)) => format!("<{message}>"),
            (None, None) => "<unavailable>".to_owned(),
        };
        let doubt = if register.assumes_exec == Some(true) {
            " (by a mask without a rule)"
        } else {
            ""
        };
        writeln!(out, "      {name} = {value} [{}{doubt}]", register.rule)?;
    }
    Ok(())
}
