//! Implements `hetdwarf print`.

mod text;

use std::io::Write;
use std::path::Path;

use hetdwarf::arch::Lane;
use hetdwarf::display::Options;
use hetdwarf::inspect::Stop;
use hetdwarf::report::{AllWavesDocument, ExpressionDocument, PrintDocument, write_json_pretty};

use super::arguments::{Format, PrintArguments};
use super::core::{Chosen, ask_all_waves, with_chosen};
use super::failure::{Exit, Failure};
use super::input::chosen_frame;
use super::lane_places;
use super::lanes::{chosen_lanes, lane_choice};
use super::unwind::print_all_waves;

pub(crate) fn run(
    arguments: &PrintArguments,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    // With --core there is no OBJECT, and the first argument is an expression.
    let is_core = !arguments.wave.core.core.is_empty();
    let first = match arguments.object.to_str() {
        _ if !is_core => None,
        Some(text) => Some(text.to_owned()),
        None => return Err(Failure::new("EXPR: not UTF-8")),
    };
    let expressions: Vec<String> = first
        .into_iter()
        .chain(arguments.expressions.iter().cloned())
        .collect();
    if arguments.all_waves {
        return all_waves(arguments, &expressions, width, out, err);
    }
    let object = (!is_core).then_some(&*arguments.object);
    let chosen = Chosen::new(object, &arguments.wave, arguments.reading.options());
    let answer = with_chosen(&chosen, err, |stop, file| {
        let lanes = Lanes::of(arguments, stop)?;
        let document = document(arguments, &expressions, &lanes, stop, file)?;
        let mut places = Vec::new();
        let frame = chosen_frame(stop, arguments.frame)?;
        lane_places::print_where(&frame, lanes.chosen.as_deref(), width, &mut places)?;
        Ok((document, lanes.is_whole, places))
    })?;
    let (document, is_whole, places) = answer;
    match arguments.format {
        Format::Json => write_json_pretty(&document, &mut *out)?,
        Format::Text => {
            text::print(&document, is_whole, &places, width, out, err)?;
        }
    }
    Ok(exit(&document))
}

/// The selected lanes.
struct Lanes {
    /// The lanes of `--lane`, if it is given.
    chosen: Option<Vec<Lane>>,
    /// True if the selection has all lanes of the wave.
    is_whole: bool,
}

impl Lanes {
    fn of(arguments: &PrintArguments, stop: &Stop<'_, '_>) -> Result<Lanes, Failure> {
        let size = stop.wave().wave_size();
        let chosen = chosen_lanes(arguments.lane.as_deref(), size)?;
        let is_all = |chosen: &Vec<Lane>| chosen.len() == size.lanes() as usize;
        Ok(Lanes {
            is_whole: chosen.as_ref().is_none_or(is_all),
            chosen,
        })
    }
}

fn document(
    arguments: &PrintArguments,
    expressions: &[String],
    lanes: &Lanes,
    stop: &Stop<'_, '_>,
    file: &Path,
) -> Result<PrintDocument, Failure> {
    let frame = chosen_frame(stop, arguments.frame)?;
    let options = Options::default();
    let choice = lane_choice(arguments.lane.as_deref(), lanes.chosen.as_deref());
    PrintDocument::new(&frame, choice, expressions, &options)
        .map_err(|error| Failure::in_file(file, error))
}

/// Prints the answers of all waves of a core. Work-items are left out, because they would make every answer unique.
fn all_waves(
    arguments: &PrintArguments,
    expressions: &[String],
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let limits = arguments.wave.which.limits.limits();
    let options = arguments.reading.options();
    let (groups, completeness) =
        ask_all_waves(&arguments.wave.core, options, &limits, |stop, file| {
            let lanes = Lanes::of(arguments, stop)?;
            let mut document = document(arguments, expressions, &lanes, stop, file)?;
            let waiting = document.waiting_lanes.iter_mut();
            let waiting = waiting.flat_map(|place| &mut place.expressions);
            let expressions = document.expressions.iter_mut().chain(waiting);
            for lane in expressions.filter_map(|e| e.lanes.as_mut()).flatten() {
                lane.work_item = None;
            }
            Ok(document)
        })?;
    let answers = groups.iter().map(|group| group.document.as_ref());
    let mut exits: Vec<Exit> = answers.map(|d| d.map_or(Exit::Negative, exit)).collect();
    if groups.is_empty() {
        exits.push(Exit::Negative);
    }
    // The exit status is the worst of all waves.
    exits.push(Exit::Done.unless_limited(&completeness));
    let exit = exits.into_iter().max_by_key(|exit| exit.code());
    let document = AllWavesDocument::new("hetdwarf-print/1", completeness, groups);
    print_all_waves(&document, arguments.format, out, &mut |document, out| {
        text::print(document, false, &[], width, out, err)
    })?;
    Ok(exit.unwrap_or(Exit::Done))
}

fn exit(document: &PrintDocument) -> Exit {
    let mut expressions = document.places().flatten();
    let any = expressions.any(ExpressionDocument::has_value);
    let mut places = document.places();
    let failed = places.any(|place| place.iter().any(|one| one.error.is_some()));
    let exit = if any && !failed {
        Exit::Done
    } else {
        Exit::Negative
    };
    exit.unless_limited(&document.completeness)
}
