//! Prints where inactive lanes are, as lines of text.

use std::collections::BTreeMap;
use std::io::Write;

use hetdwarf::arch::Lane;
use hetdwarf::inspect::LanePlace;
use hetdwarf::inspect::StopFrame;
use hetdwarf::report::text::FileNames;
use hetdwarf::report::{LanePcDocument, LanePcLane, NOT_ENTERED, NOT_STARTED};
use hetdwarf::untrusted::Untrusted;

use super::failure::Failure;
use super::lanes::numbered;
use super::or_unknown;
use super::wrap::filled;

/// Prints where the inactive lanes of a frame are: waiting in it, or not in it. Chosen lanes that wait in it are left out, because their
/// values are printed together with their positions.
///
/// * `chosen`: the lanes to print; all if it is `None`.
pub(crate) fn print_where(
    frame: &StopFrame<'_, '_, '_>,
    chosen: Option<&[Lane]>,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    match inactive_places(frame, chosen) {
        Some(found) => print_places(&found, chosen, width, out),
        None => Ok(()),
    }
}

/// Returns where lanes of a frame are. Returns `None` if all of them are active, or if the positions of inactive lanes are unknown.
pub(crate) fn inactive_places(
    frame: &StopFrame<'_, '_, '_>,
    chosen: Option<&[Lane]>,
) -> Option<LanePcDocument> {
    let is_wanted = |lane: &Lane| chosen.is_none_or(|chosen| chosen.contains(lane));
    let mut lanes = frame.wave_size().all_lanes().filter(is_wanted);
    if lanes.all(|lane| frame.is_active(lane)) {
        return None;
    }
    let places = LanePcDocument::new(frame).ok();
    let mut places = places.filter(|found| found.known)?;
    let lane = |lane: &LanePcLane| u8::try_from(lane.lane).map(Lane);
    places
        .lanes
        .retain(|one| lane(one).is_ok_and(|lane| is_wanted(&lane)));
    Some(places)
}

/// Prints the positions that [`print_where`] prints.
pub(crate) fn print_places(
    document: &LanePcDocument,
    chosen: Option<&[Lane]>,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    match chosen {
        Some(_) => print_others(document, width, out),
        None => print_inactive(document, width, out),
    }
}

/// Prints the positions of inactive lanes, a line for each position.
pub(crate) fn print_inactive(
    document: &LanePcDocument,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let names = file_names(document);
    let mut places: BTreeMap<(u128, String), Vec<u8>> = BTreeMap::new();
    for lane in document
        .lanes
        .iter()
        .filter(|lane| lane.place != LanePlace::Active)
    {
        let (Some(pc), Ok(number)) = (lane.pc, u8::try_from(lane.lane)) else {
            continue;
        };
        let text = match (&lane.file, lane.line) {
            (Some(file), Some(line)) => {
                format!("waiting at {}:{line}", names.short(file))
            }
            (_, _) => format!("waiting at {:#x}", pc.0),
        };
        places.entry((pc.0, text)).or_default().push(number);
    }
    for ((_, text), lanes) in places {
        let line = format!("{}: {text}", numbered(&lanes));
        writeln!(out, "{}", filled(&line, 0, width))?;
    }
    print_others(document, width, out)
}

/// Prints the lanes that are not in a row of the chart, grouped by the known facts about them.
pub(super) fn print_others(
    document: &LanePcDocument,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let names = file_names(document);
    let mut callers: BTreeMap<(usize, String), Vec<u8>> = BTreeMap::new();
    let mut nowhere: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for lane in &document.lanes {
        let Ok(number) = u8::try_from(lane.lane) else {
            continue;
        };
        if let Some(caller) = &lane.caller {
            let function = or_unknown(caller.function.as_ref());
            let frame = caller.frame;
            let text = match (&caller.file, caller.line) {
                (Some(file), Some(line)) => {
                    let file = names.short(file);
                    format!("{NOT_ENTERED}; waiting in frame {frame}, {function} at {file}:{line}")
                }
                (_, _) => format!(
                    "{NOT_ENTERED}; waiting in frame {frame}, {function} ({:#x})",
                    caller.pc.0
                ),
            };
            callers.entry((frame, text)).or_default().push(number);
            continue;
        }
        let text = match lane.place {
            LanePlace::Unknown(why) => format!("position unknown: {why}"),
            LanePlace::NotDispatched => NOT_STARTED.to_owned(),
            LanePlace::Elsewhere => NOT_ENTERED.to_owned(),
            LanePlace::Active | LanePlace::Waiting { .. } | _ => continue,
        };
        nowhere.entry(text).or_default().push(number);
    }
    let callers = callers.into_iter().map(|((_, text), lanes)| (text, lanes));
    for (text, lanes) in callers.chain(nowhere) {
        let line = format!("{}: {text}", numbered(&lanes));
        writeln!(out, "{}", filled(&line, 0, width))?;
    }
    Ok(())
}

/// Returns short names of the files in a document.
pub(super) fn file_names(document: &LanePcDocument) -> FileNames<'_> {
    let lanes = document.lanes.iter();
    let files = lanes.flat_map(|lane| {
        let of_caller = lane.caller.as_ref().and_then(|caller| caller.file.as_ref());
        [lane.file.as_ref(), of_caller]
    });
    FileNames::of(files.flatten().map(Untrusted::raw))
}
