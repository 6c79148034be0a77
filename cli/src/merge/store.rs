//! Stores the lines of records, so that they can be read again in the order of a report.
//!
//! The lines are in a temporary file, because the lines of a fleet may not fit into memory. Only the key and the position of each line stay
//! in memory.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry as MapEntry};
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use hetdwarf::report::RecordKey;
use hetdwarf::untrusted::Untrusted;

/// The origin of a line: the number of its input, and its line number.
pub(super) type Place = (usize, u64);

/// The position and the key of a line.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// The number of its file in [`Store::files`].
    file: usize,
    number: u64,
    /// The offset in the temporary file, in bytes.
    offset: u64,
    length: usize,
    hash: u64,
    place: Place,
}

/// The name and the SHA-256 of a file.
type Name = (Untrusted<'static>, Option<String>);

/// The stored lines.
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

/// The lines of one file, ordered by their numbers.
pub(super) struct Lines {
    pub(super) file: Untrusted<'static>,
    /// The lines, each with its origin.
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

    /// Adds a line.
    pub(super) fn add(&mut self, key: RecordKey, line: &str, place: Place) -> io::Result<()> {
        let next = self.files.len();
        let file = match self.known.entry((key.file, key.sha256)) {
            MapEntry::Occupied(known) => *known.get(),
            MapEntry::Vacant(new) => {
                self.files.push(new.key().clone());
                *new.insert(next)
            }
        };
        // The hasher has fixed keys, so that every run chooses the same of two conflicting lines.
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
        self.length += line.len() as u64;
        Ok(())
    }

    /// Sorts the lines and removes duplicates. Of two lines with the same key and different contents, one is chosen, regardless of their
    /// order.
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

    /// Calls the callback with the lines of each file, ordered by file name.
    ///
    /// * `wrong`: converts an error of the temporary file to the caller's type.
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
                at = line.offset + line.length as u64;
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
/// * `at`: the current position of the reader.
fn read(reader: &mut (impl Read + Seek), line: &Line, at: u64) -> io::Result<String> {
    // Most lines are consecutive. Seeking would discard the reader's buffer.
    if line.offset != at {
        reader.seek(SeekFrom::Start(line.offset))?;
    }
    let mut bytes = vec![0; line.length];
    reader.read_exact(&mut bytes)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}
