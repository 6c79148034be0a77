//! The lines of source files that a page shows.

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::{Serialize, SerializeSeq, Serializer};

use super::Read;
use crate::inspect::{FrameDescription, StopFrame};
use crate::meter::Meter;
use crate::report::lane_pc_picture;
use crate::report::text::{FileNames, base_name};
use crate::untrusted::Untrusted;

/// Lines that are shown before and after one that somebody is at.
const AROUND: u64 = 8;
/// Characters of a line that are shown.
const WIDTH: usize = 240;

/// The source files that waves are in.
pub(super) struct Sources<'r> {
    read: Read<'r>,
    /// Charged for the texts: one file can be named by any number of paths.
    meter: &'r Meter,
    files: Vec<File>,
    by_path: BTreeMap<String, usize>,
}

struct File {
    path: Untrusted<'static>,
    text: Option<String>,
    /// The lines to show.
    wanted: BTreeSet<u64>,
}

/// A place in a source file, as a page names it: the number of the file, and the line.
pub(super) type SourcePlace = (usize, u64);

impl<'r> Sources<'r> {
    pub(super) fn new(read: Read<'r>, meter: &'r Meter) -> Sources<'r> {
        Sources {
            read,
            meter,
            files: Vec::new(),
            by_path: BTreeMap::new(),
        }
    }

    /// Wants a line to be shown, and those around it. Nothing if the code belongs to none.
    pub(super) fn want(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        place: &FrameDescription,
    ) -> Option<SourcePlace> {
        let (file, unit, line) = (place.file.as_ref()?, place.unit?, place.line?);
        let index = match self.by_path.get(&*file.path) {
            Some(index) => *index,
            None => {
                // `read` keeps a copy.
                const COPIES: u64 = 2;
                let is_paid = |text: &String| {
                    let bytes = (text.len() as u64).saturating_mul(COPIES);
                    self.meter.hold(bytes).is_ok()
                };
                let text = match self.meter.refused() {
                    Some(_) => None,
                    None => lane_pc_picture::text(frame, unit, file, self.read).filter(is_paid),
                };
                self.files.push(File {
                    path: file.path.to_string().into(),
                    text,
                    wanted: BTreeSet::new(),
                });
                let index = self.files.len() - 1;
                self.by_path.insert(file.path.to_string(), index);
                index
            }
        };
        if let Some(file) = self.files.get_mut(index) {
            file.wanted.insert(line);
        }
        Some((index, line))
    }

    /// The names of files whose text is not known.
    pub(super) fn into_missing(self) -> BTreeSet<Untrusted<'static>> {
        let files = self.files.into_iter();
        let missing = files.filter(|file| file.text.is_none());
        missing
            .map(|file| base_name(file.path.raw()).to_owned().into())
            .collect()
    }
}

impl Serialize for Sources<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = FileNames::of(self.files.iter().map(|file| file.path.raw()));
        let files = self.files.iter();
        serializer.collect_seq(files.map(|file| Named(names.short(&file.path), file)))
    }
}

/// A file with its short name.
struct Named<'f>(Untrusted<'f>, &'f File);

impl Serialize for Named<'_> {
    /// The name, and then each line that is shown: its number and its text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let Named(name, file) = self;
        list.serialize_element(name)?;
        let lines = file.text.as_deref().unwrap_or_default().lines();
        for (number, line) in (1_u64..).zip(lines) {
            let around = number.saturating_sub(AROUND)..=number.saturating_add(AROUND);
            if file.wanted.range(around).next().is_some() {
                let text: String = line.replace('\t', "    ").chars().take(WIDTH).collect();
                list.serialize_element(&(number, text))?;
            }
        }
        list.end()
    }
}
