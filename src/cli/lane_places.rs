//! Where lanes are that are not active, as lines of text.

use std::collections::BTreeMap;
use std::io::Write;

use crate::arch::Lane;
use crate::inspect::StopFrame;
use crate::report::LanePcDocument;

use super::failure::Failure;
use super::lanes::ranges;
use super::or_unknown;
use super::style::FAINT;

/// Says where lanes are that wait, or that are not in the frame; and of a caller, without it, why lanes are missing that
/// [`StopFrame::readable_lanes`] leaves out.
pub(crate) fn print_unsure(
    shown: &[Lane],
    frame: &StopFrame<'_, '_, '_>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let all = || frame.wave_size().all_lanes();
    let hidden: Vec<u8> = (all().filter(|lane| !shown.contains(lane)))
        .map(|lane| lane.0)
        .collect();
    let is_unsure = frame.exec().is_none() && !hidden.is_empty();
    if !is_unsure && all().all(|lane| frame.is_active(lane)) {
        return Ok(());
    }
    // Without a place they are said not to be active, or below.
    let places = LanePcDocument::new(frame).ok();
    if is_unsure && places.as_ref().is_none_or(|found| !found.tells_all()) {
        let lanes = ranges(&hidden);
        writeln!(
            out,
            "{FAINT}lanes {lanes} may be active too: EXEC has no rule here{FAINT:#}"
        )?;
    }
    match places.filter(|found| found.known) {
        Some(found) => print_inactive(&found, out),
        None => Ok(()),
    }
}

/// Where lanes are that are not active, a line for each place.
pub(crate) fn print_inactive(
    document: &LanePcDocument,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut places: BTreeMap<(u128, String), Vec<u8>> = BTreeMap::new();
    for lane in document.lanes.iter().filter(|lane| !lane.active) {
        let (Some(pc), Ok(number)) = (lane.pc, u8::try_from(lane.lane)) else {
            continue;
        };
        let text = match (&lane.file, lane.line) {
            (Some(file), Some(line)) if line != 0 => format!("waiting at {file}:{line}"),
            (_, _) => format!("waiting at {:#x}", pc.0),
        };
        places.entry((pc.0, text)).or_default().push(number);
    }
    for ((_, text), lanes) in places {
        writeln!(out, "lanes {}: {text}", ranges(&lanes))?;
    }
    print_others(document, out)
}

/// Lanes that are in no row, by what is known of them.
pub(super) fn print_others(document: &LanePcDocument, out: &mut dyn Write) -> Result<(), Failure> {
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
                (Some(file), Some(line)) if line != 0 => {
                    format!("in frame {frame}, {function} at {file}:{line}")
                }
                (_, _) => format!("in frame {frame}, {function} ({:#x})", caller.pc.0),
            };
            callers.entry((frame, text)).or_default().push(number);
        } else if let Some(why) = lane.why {
            let text = format!("not known where: {why}");
            nowhere.entry(text).or_default().push(number);
        } else if lane.reason.is_some() {
            let text = "not started by the dispatch".to_owned();
            nowhere.entry(text).or_default().push(number);
        }
    }
    let callers = callers.into_iter().map(|((_, text), lanes)| (text, lanes));
    for (text, lanes) in callers.chain(nowhere) {
        writeln!(out, "lanes {}: {text}", ranges(&lanes))?;
    }
    Ok(())
}
