//! Keeps the lines of records, so that they can be read again in the order of a report.
//!
//! The lines are in a temporary file, since those of a fleet are more than a memory holds; what is kept of a line is which record of
//! which file it is, and where.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry as MapEntry};
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use hetdwarf::report::RecordKey;
use hetdwarf::untrusted::Untrusted;

/// Where a line came from: the number of an input, and of a line in it.
pub(super) type Place = (usize, u64);

/// What is kept of a line.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// The number of its file in [`Store::files`].
    file: usize,
    number: u64,
    /// Where it is in the temporary file, in bytes.
    offset: u64,
    length: usize,
    hash: u64,
    place: Place,
}

/// What lines are about: a name and a SHA-256.
type Name = (Untrusted<'static>, Option<String>);

/// The lines.
pub(super) struct Store {
    lines: Vec<Line>,
    files: Vec<Name>,
    known: HashMap<Name, usize>,
    kept: BufWriter<File>,
    length: u64,
}

/// Two lines with the same key and other contents.
pub(super) struct Conflict {
    pub(super) file: Untrusted<'static>,
    pub(super) first: Place,
    pub(super) second: Place,
}

/// The lines of one file, by their numbers.
pub(super) struct Lines {
    pub(super) file: Untrusted<'static>,
    /// Each with where it came from.
    pub(super) lines: Vec<(Place, String)>,
}

impl Store {
    pub(super) fn new() -> io::Result<Store> {
        Ok(Store {
            lines: Vec::new(),
            files: Vec::new(),
            known: HashMap::new(),
            kept: BufWriter::new(tempfile::tempfile()?),
            length: 0,
        })
    }

    /// Takes a line.
    pub(super) fn add(&mut self, key: RecordKey, line: &str, place: Place) -> io::Result<()> {
        let next = self.files.len();
        let file = match self.known.entry((key.file, key.sha256)) {
            MapEntry::Occupied(known) => *known.get(),
            MapEntry::Vacant(new) => {
                self.files.push(new.key().clone());
                *new.insert(next)
            }
        };
        // With fixed keys, so that what is chosen of two lines does not depend on the run.
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        self.kept.write_all(line.as_bytes())?;
        self.lines.push(Line {
            file,
            number: key.number,
            offset: self.length,
            length: line.len(),
            hash: hasher.finish(),
            place,
        });
        self.length = self.length.saturating_add(line.len() as u64);
        Ok(())
    }

    /// Sorts the lines and drops those that are there already. Of two with the same key and other contents one is chosen, whatever
    /// their order is.
    pub(super) fn sort(&mut self) -> Vec<Conflict> {
        self.known = HashMap::new();
        let mut order: Vec<usize> = (0..self.files.len()).collect();
        order.sort_by_key(|index| self.files.get(*index));
        let mut ranks = vec![0; order.len()];
        for (rank, index) in order.iter().enumerate() {
            if let Some(slot) = ranks.get_mut(*index) {
                *slot = rank;
            }
        }
        let rank = |line: &Line| ranks.get(line.file).copied();
        self.lines
            .sort_by_key(|line| (rank(line), line.number, line.hash, line.place));
        let mut conflicts = Vec::new();
        let files = &self.files;
        self.lines.dedup_by(|next, kept| {
            let is_same = (next.file, next.number) == (kept.file, kept.number);
            if is_same && next.hash != kept.hash {
                let name = files.get(next.file).map(|(name, _)| name.clone());
                conflicts.push(Conflict {
                    file: name.unwrap_or_default(),
                    first: kept.place.min(next.place),
                    second: kept.place.max(next.place),
                });
            }
            is_same
        });
        conflicts
    }

    /// Gives the lines of each file, in the order of names.
    ///
    /// * `wrong`: what an error of the temporary file is for the caller.
    pub(super) fn each<E>(
        &mut self,
        wrong: impl Fn(io::Error) -> E,
        mut take: impl FnMut(Lines) -> Result<(), E>,
    ) -> Result<(), E> {
        self.kept.flush().map_err(&wrong)?;
        let kept = self.kept.get_mut();
        let mut at = u64::MAX;
        let mut reader = io::BufReader::new(kept);
        for group in self.lines.chunk_by(|a, b| a.file == b.file) {
            let mut lines = Vec::with_capacity(group.len());
            for line in group {
                let text = read(&mut reader, line, at).map_err(&wrong)?;
                at = line.offset.saturating_add(line.length as u64);
                lines.push((line.place, text));
            }
            let name = group.first().and_then(|line| self.files.get(line.file));
            let file = name.map(|(file, _)| file.clone()).unwrap_or_default();
            take(Lines { file, lines })?;
        }
        Ok(())
    }
}

/// Reads a line.
///
/// * `at`: where the reader is.
fn read(reader: &mut (impl Read + Seek), line: &Line, at: u64) -> io::Result<String> {
    // Most lines follow each other, and what was read ahead is kept then.
    if line.offset != at {
        reader.seek(SeekFrom::Start(line.offset))?;
    }
    let mut bytes = vec![0; line.length];
    reader.read_exact(&mut bytes)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}
