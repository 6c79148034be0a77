//! `hetdwarf vars`.

use std::io::Write;
use std::path::Path;

use crate::display::Options;
use crate::inspect::Stop;
use crate::report::{
    AllVarsDocument, FrameVariables, NameFilter, VarsDocument, VarsRequest, write_json_pretty,
};

use super::arguments::{Format, FrameChoice, VarsArguments};
use super::core::{Chosen, with_chosen};
use super::failure::{Exit, Failure, print_limit};
use super::input::frame_at;
use super::lane_places::print_unsure;
use super::lanes::{chosen_lanes, lane_choice};
use super::pattern::pattern;
use super::variables::Printer;

pub(crate) fn run(
    arguments: &VarsArguments,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let chosen = Chosen::of(&arguments.stop, arguments.reading.reading());
    if arguments.children.is_some() && arguments.format == Format::Text {
        return Err(Failure::new(
            "--children: parts are listed only with --format json; text has all of a value",
        ));
    }
    with_chosen(&chosen, err, |stop, file| {
        show(arguments, stop, file, width, out)
    })
}

fn show(
    arguments: &VarsArguments,
    stop: &Stop<'_, '_>,
    file: &Path,
    width: usize,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let place = |error: crate::Error| Failure::in_file(file, error);
    let chosen = chosen_lanes(arguments.lane.as_deref(), stop.wave().wave_size())?;
    let glob = match &arguments.name {
        Some(glob) => {
            Some(pattern(glob).map_err(|error| Failure::new(format!("--name: {error}")))?)
        }
        None => None,
    };
    let matches = |name: &str| glob.as_ref().is_none_or(|glob| glob.is_match(name));
    let names = arguments.name.as_deref().map(|text| NameFilter {
        text,
        matches: &matches,
    });
    let request = VarsRequest::default()
        .lanes(lane_choice(
            arguments.lane.as_deref(),
            chosen.as_deref(),
            arguments.format,
        ))
        .names(names)
        .display(display_options(arguments))
        .children(arguments.children.unwrap_or(0));
    let mut answer = Answer {
        stop,
        format: arguments.format,
        says_unsure: chosen.is_none(),
        printer: Printer::new(width),
        out,
    };
    let (is_readable, completeness) = match arguments.frame {
        FrameChoice::One(level) => {
            let frame = frame_at(stop, level)?;
            let document = VarsDocument::new(&frame, &request).map_err(place)?;
            answer.one(&document)?;
            (
                document.content.is_readable(),
                document.content.completeness,
            )
        }
        FrameChoice::All => {
            let document = AllVarsDocument::new(stop, &request).map_err(place)?;
            answer.all(&document)?;
            let mut frames = document.frames.iter();
            (
                frames.any(FrameVariables::is_readable),
                document.completeness,
            )
        }
    };
    let exit = if is_readable {
        Exit::Done
    } else {
        Exit::BadNews
    };
    Ok(exit.unless_limited(&completeness))
}

fn display_options(arguments: &VarsArguments) -> Options {
    let mut options = Options::default();
    options.max_depth = arguments.depth.unwrap_or(options.max_depth);
    options
}

/// An answer that is printed.
struct Answer<'v, 'p, 'a> {
    stop: &'v Stop<'p, 'a>,
    format: Format,
    /// Whether to say why lanes are missing that nobody chose.
    says_unsure: bool,
    printer: Printer,
    out: &'v mut dyn Write,
}

impl Answer<'_, '_, '_> {
    fn one(&mut self, document: &VarsDocument) -> Result<(), Failure> {
        match self.format {
            Format::Json => write_json_pretty(document, &mut *self.out)?,
            Format::Text => {
                self.frame(&document.content)?;
                print_limit(&document.content.completeness, self.out)?;
            }
        }
        Ok(())
    }

    fn all(&mut self, document: &AllVarsDocument) -> Result<(), Failure> {
        match self.format {
            Format::Json => write_json_pretty(document, &mut *self.out)?,
            Format::Text => {
                for frame in &document.frames {
                    self.frame(frame)?;
                    writeln!(self.out)?;
                }
                writeln!(self.out, "{}", document.message)?;
                print_limit(&document.completeness, self.out)?;
            }
        }
        Ok(())
    }

    fn frame(&mut self, content: &FrameVariables) -> Result<(), Failure> {
        self.printer.print(content, self.out)?;
        let frame = self.stop.frame(content.frame.index);
        if let Some(frame) = frame.filter(|_| self.says_unsure) {
            print_unsure(&frame.readable_lanes(), &frame, self.out)?;
        }
        Ok(())
    }
}
