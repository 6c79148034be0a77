//! Opens every file that a command reads, and standard input.
//!
//! The type of a file is checked before it is opened, because opening a device can have effects. It is checked again afterwards, because
//! the path may meanwhile lead to another file. Opening does not block, so a pipe that has replaced the file cannot stall the command.
//!
//! Files are read into memory, where no other process can change them. A file that is truncated during reading is an error for that file
//! alone. Only files above a size limit are mapped, and most commands read only a small part of them. If a mapped file is truncated, its
//! bytes are gone, and `interrupt` ends the command with an error.
//!
//! Code objects and cores may be compressed ([`Packing`]). They are decompressed into memory, or into a temporary file that is mapped if
//! they are too large. Standard input is read in the same way.

use core::fmt;
use core::ops::Deref;
use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use memmap2::Mmap;

use super::packing::Packing;

/// The path that names standard input in arguments.
pub(crate) const STANDARD_INPUT: &str = "-";

/// Returns the name of a file for messages: its path, or `standard input`.
pub(crate) fn input_name(path: &Path) -> &Path {
    if path == Path::new(STANDARD_INPUT) {
        Path::new("standard input")
    } else {
        path
    }
}

/// The contents of standard input, kept after its first bytes were read to recognize the format. Standard input can be read only once.
static RECOGNIZED: Mutex<Option<Contents>> = Mutex::new(None);

/// The purpose for which a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// The code object or core of a query that reads only a small part of it.
    Object,
    /// A code object for symbolization. Only a small part is read, and several code objects may be open at once.
    Lookup,
    /// A code object that is read completely, perhaps as one of many. A signal that ends the command would lose the results of the others.
    Whole,
    /// The snapshot of a stopped wave that an argument names.
    Wave,
    /// The snapshot of a stopped wave that a line of a batch names.
    WaveOfBatch,
    /// A line of a batch. The number of lines is not limited.
    Batch,
    /// A baseline of accepted findings.
    Baseline,
    /// `hetdwarf.toml`.
    Configuration,
    /// A source file.
    Source,
    /// A program's log.
    Log,
    /// A profiler's file. All of it is read, once or twice.
    Profile,
}

/// The rules for reading one kind of input.
#[derive(Clone, Copy, Debug)]
struct Rule {
    name: &'static str,
    /// The most bytes that are read.
    most: u64,
    /// True if a larger file is mapped. Otherwise it is an error.
    maps: bool,
    /// True if the input may be a pipe. A shell makes one for `<(…)`.
    pipe: bool,
}

impl Rule {
    /// Returns true if the file may be compressed, as code objects and cores may.
    fn unpacks(self) -> bool {
        self.name == "code object"
    }
}

impl Input {
    #[rustfmt::skip]
    fn rule(self) -> Rule {
        let row = |name, most, maps, pipe| Rule { name, most, maps, pipe };
        match self {
            Input::Object        => row("code object",    64 << 20, true,  false),
            Input::Lookup        => row("code object",     8 << 20, true,  false),
            Input::Whole         => row("code object",     1 << 30, true,  false),
            Input::Wave          => row("wave snapshot", 256 << 20, false, true),
            Input::WaveOfBatch   => row("wave snapshot", 256 << 20, false, false),
            Input::Batch         => row("line",           16 << 20, false, true),
            Input::Baseline      => row("baseline",      256 << 20, false, false),
            Input::Configuration => row("configuration", 256 << 10, false, false),
            Input::Source        => row("source file",    16 << 20, false, false),
            Input::Log           => row("log",           256 << 20, false, true),
            Input::Profile       => row("profile",        16 << 20, true,  false),
        }
    }
}

/// The bytes of a file.
pub(crate) enum Contents {
    /// A copy in memory.
    Read(Vec<u8>),
    /// The mapped file.
    Mapped(Mmap, File),
}

impl Contents {
    /// Reads or maps a file.
    ///
    /// # Errors
    /// If the path cannot be opened or read, is not a file, exceeds the size limit of `input`, or is truncated while it is read.
    pub(crate) fn open(path: &Path, input: Input) -> io::Result<Contents> {
        Opened::new(path, input)?.contents()
    }

    /// Opens the file that an argument names, or standard input for `-`.
    ///
    /// # Errors
    /// Returns the errors of [`Contents::open`].
    pub(crate) fn of_argument(path: &Path, input: Input) -> io::Result<Contents> {
        if path != Path::new(STANDARD_INPUT) {
            return Contents::open(path, input);
        }
        let mut recognized = RECOGNIZED.lock().unwrap_or_else(PoisonError::into_inner);
        match recognized.take() {
            Some(contents) => Ok(contents),
            None => standard_input(input),
        }
    }

    /// Returns the first bytes of the file that an argument names, decompressed, to recognize its format.
    pub(crate) fn start_of_argument(path: &Path) -> io::Result<Vec<u8>> {
        if path != Path::new(STANDARD_INPUT) {
            return Contents::start(path);
        }
        let mut recognized = RECOGNIZED.lock().unwrap_or_else(PoisonError::into_inner);
        let contents = match recognized.take() {
            Some(contents) => contents,
            None => standard_input(Input::Object)?,
        };
        first_bytes(&*recognized.insert(contents) as &[u8])
    }

    /// Returns the first bytes of a file, decompressed, to recognize its format.
    pub(crate) fn start(path: &Path) -> io::Result<Vec<u8>> {
        let Opened { file, metadata, .. } = Opened::new(path, Input::Whole)?;
        let start = first_bytes(&file)?;
        match Packing::of(&start) {
            Some(packing) => first_bytes(packing.reader((&*start).chain(file), metadata.len())),
            None => Ok(start),
        }
    }

    /// Releases the memory of a mapped file. Later accesses read the file again.
    pub(crate) fn release(&self) {
        self.release_part(self);
    }

    /// Releases the memory of a part of a mapped file. Ignores a part outside of the mapping, such as a decompressed copy.
    #[cfg_attr(
        unix,
        expect(
            unsafe_code,
            reason = "advice about a mapped file; see the comment within"
        )
    )]
    pub(crate) fn release_part(&self, part: &[u8]) {
        #[cfg(unix)]
        if let Contents::Mapped(map, _) = self
            && let Some(offset) = part.as_ptr().addr().checked_sub(map.as_ptr().addr())
            && offset
                .checked_add(part.len())
                .is_some_and(|end| end <= map.len())
        {
            let advice = memmap2::UncheckedAdvice::DontNeed;
            // SAFETY: the mapping is of a file and never written to, so discarded pages are read again from the file. Refused advice has no
            // effect.
            let _ = unsafe { map.unchecked_advise_range(advice, offset, part.len()) };
        }
    }

    /// Fails if the file is shorter than it was when it was mapped. Call this after using a mapped file.
    pub(crate) fn check_length(&self) -> io::Result<()> {
        match self {
            Contents::Read(_) => Ok(()),
            Contents::Mapped(map, file) => is_whole(file.metadata()?.len(), map.len() as u64),
        }
    }
}

impl Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Contents::Read(bytes) => bytes,
            Contents::Mapped(map, _) => map,
        }
    }
}

/// Reads standard input to its end.
///
/// # Errors
/// If it cannot be read, or exceeds the size limit of an `input` that is not mapped.
fn standard_input(input: Input) -> io::Result<Contents> {
    let rule = input.rule();
    let from = io::stdin().lock();
    let contents = match rule.maps {
        true => kept(from, rule)?,
        false => Contents::Read(read(from, 0, rule)?),
    };
    match Packing::of(&contents).filter(|_| rule.unpacks()) {
        Some(packing) => kept(packing.reader(&*contents, contents.len() as u64), rule),
        None => Ok(contents),
    }
}

/// Reads enough bytes to recognize a file format.
fn first_bytes(input: impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    input.take(512).read_to_end(&mut start)?;
    Ok(start)
}

/// An open file from which nothing has been read.
struct Opened {
    file: File,
    metadata: Metadata,
    rule: Rule,
}

impl Opened {
    fn new(path: &Path, input: Input) -> io::Result<Opened> {
        let rule = input.rule();
        accept(std::fs::metadata(path)?.file_type(), rule)?;
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(
            &mut options,
            rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
        );
        let file = options.open(path)?;
        let metadata = file.metadata()?;
        accept(metadata.file_type(), rule)?;
        // The writer of a pipe may take its time, so reads block from now on.
        #[cfg(unix)]
        if is_pipe(metadata.file_type()) {
            rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::empty())?;
        }
        Ok(Opened {
            file,
            metadata,
            rule,
        })
    }

    fn contents(mut self) -> io::Result<Contents> {
        let length = self.metadata.len();
        if self.rule.unpacks() && self.metadata.is_file() {
            let mut start = Vec::new();
            (&self.file).take(4).read_to_end(&mut start)?;
            self.file.rewind()?;
            if let Some(packing) = Packing::of(&start) {
                return kept(packing.reader(self.file, length), self.rule);
            }
        }
        if length > self.rule.most && self.rule.maps {
            let map = map(&self.file)?;
            return Ok(Contents::Mapped(map, self.file));
        }
        let bytes = read(&self.file, length, self.rule)?;
        if bytes.is_empty() && is_pipe(self.metadata.file_type()) {
            return Err(nobody_writes());
        }
        Ok(Contents::Read(bytes))
    }
}

/// Reads the input into memory, or into a temporary file that is mapped.
fn kept(mut input: impl Read, rule: Rule) -> io::Result<Contents> {
    let mut bytes = Vec::new();
    let most = rule.most.saturating_add(1);
    (&mut input).take(most).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < most {
        return Ok(Contents::Read(bytes));
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(&bytes)?;
    drop(bytes);
    io::copy(&mut input, &mut file)?;
    let map = map(&file)?;
    Ok(Contents::Mapped(map, file))
}

fn nobody_writes() -> io::Error {
    io::Error::other("this is a pipe that no process writes to")
}

/// Reads the input to its end and fails if it has fewer than `length` bytes.
fn read(input: impl Read, length: u64, rule: Rule) -> io::Result<Vec<u8>> {
    let too_large = |has: fmt::Arguments<'_>| {
        let Rule { name, most, .. } = rule;
        let message = format!("it has {has} bytes, but a {name} can have at most {most}");
        io::Error::other(message)
    };
    if length > rule.most {
        return Err(too_large(format_args!("{length}")));
    }
    let mut bytes = Vec::new();
    let no_memory = |_| io::Error::other(format!("not enough memory for its {length} bytes"));
    let size = usize::try_from(length).unwrap_or(usize::MAX);
    bytes.try_reserve_exact(size).map_err(no_memory)?;
    let mut input = input.take(rule.most.saturating_add(1));
    input.read_to_end(&mut bytes)?;
    let found = bytes.len() as u64;
    if found > rule.most {
        return Err(too_large(format_args!("more than {}", rule.most)));
    }
    is_whole(found, length)?;
    Ok(bytes)
}

fn is_whole(found: u64, length: u64) -> io::Result<()> {
    if found >= length {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "the file became shorter while it was read: {found} of {length} bytes are left"
    )))
}

/// Fails if files of this type are not read.
fn accept(found: FileType, rule: Rule) -> io::Result<()> {
    let what = match type_name(found) {
        None => return Ok(()),
        Some("pipe") if rule.pipe => return Ok(()),
        Some("pipe") => "this is a pipe; only --wave, --batch and logs may be pipes".to_owned(),
        Some(name) => format!("this is a {name}, not a file"),
    };
    Err(io::Error::other(what))
}

fn is_pipe(found: FileType) -> bool {
    type_name(found) == Some("pipe")
}

/// Returns the name of a file type. Returns None for regular files.
fn type_name(found: FileType) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if found.is_fifo() {
            return Some("pipe");
        } else if found.is_socket() {
            return Some("socket");
        } else if found.is_char_device() || found.is_block_device() {
            return Some("device");
        }
    }
    match (found.is_file(), found.is_dir()) {
        (true, _) => None,
        (false, true) => Some("directory"),
        (false, false) => Some("special file"),
    }
}

/// An iterator over the lines of a batch. It ends after the first error.
pub(crate) struct Lines {
    input: Option<BufReader<Box<dyn Read>>>,
    count: u64,
}

impl Lines {
    /// Opens a file, or standard input if `path` is None.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Lines> {
        let (input, is_opened_pipe): (Box<dyn Read>, bool) = match path {
            Some(path) => {
                let Opened { file, metadata, .. } = Opened::new(path, Input::Batch)?;
                (Box::new(file), is_pipe(metadata.file_type()))
            }
            None => (Box::new(io::stdin().lock()), false),
        };
        let mut input = BufReader::new(input);
        if is_opened_pipe && input.fill_buf()?.is_empty() {
            return Err(nobody_writes());
        }
        Ok(Lines {
            input: Some(input),
            count: 0,
        })
    }

    /// Returns true if the next line has not been read yet, so that reading it may wait for another program. Earlier answers have to be written
    /// before.
    pub(crate) fn may_wait(&self) -> bool {
        let read = self.input.as_ref().map_or(&[][..], BufReader::buffer);
        !read.contains(&b'\n')
    }
}

impl Iterator for Lines {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        let most = Input::Batch.rule().most;
        let mut line = Vec::new();
        self.count += 1;
        let mut input = self.input.as_mut()?.take(most.saturating_add(1));
        let error = match input.read_until(b'\n', &mut line) {
            Ok(0) => return None,
            Ok(length) if length as u64 <= most => return Some(Ok(line)),
            Ok(_) => io::Error::other(format!("line {} has more than {most} bytes", self.count)),
            Err(error) => error,
        };
        self.input = None;
        Some(Err(error))
    }
}

/// Maps a file.
#[expect(unsafe_code, reason = "mapping a file; see the comment within")]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the bytes must not change while they are mapped, and no program can ensure that for a file. They are only read, and the
    // mapping outlives all borrows. A process that writes to the file at the same time can make the answer wrong or end this process, as
    // with every program that maps files.
    unsafe { Mmap::map(file) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let name = format!("hetdwarf-contents-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// A released part is read from the file again. Memory outside of the mapping is left alone.
    #[test]
    fn released_parts_are_read_again() {
        let folder = folder("released");
        let path = folder.join("file");
        let size = usize::try_from(Input::Lookup.rule().most).unwrap() + 0x5001;
        let bytes: Vec<u8> = (0..size).map(|number| (number / 7) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let contents = Contents::open(&path, Input::Lookup).unwrap();
        assert!(matches!(contents, Contents::Mapped(..)));
        for part in [0..size, 0x1003..0x4001, size - 1..size, 0..0] {
            contents.release_part(contents.get(part).unwrap());
            assert!(*contents == *bytes);
        }
        let copy = bytes.clone();
        contents.release_part(&copy);
        Contents::Read(Vec::new()).release_part(&copy);
        assert!(copy == bytes);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn large_files_are_mapped_and_others_read() {
        let folder = folder("mapped");
        let path = folder.join("file");
        let most = Input::Object.rule().most;
        for (size, is_mapped) in [(0, false), (1000, false), (most + 1, true)] {
            // The file is sparse.
            let file = File::create(&path).unwrap();
            file.set_len(size).unwrap();
            let contents = Contents::open(&path, Input::Object).unwrap();
            let found = matches!(contents, Contents::Mapped(..));
            assert_eq!((found, contents.len() as u64), (is_mapped, size));
            contents.check_length().unwrap();
            file.set_len(size / 2).unwrap();
            let after = contents.check_length();
            assert_eq!(after.is_err(), is_mapped, "{after:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_is_cut_between_opening_and_reading_is_an_error() {
        let folder = folder("cut");
        let path = folder.join("file");
        std::fs::write(&path, [7; 1000]).unwrap();
        let opened = Opened::new(&path, Input::Whole).unwrap();
        let other = OpenOptions::new().write(true).open(&path).unwrap();
        other.set_len(10).unwrap();
        let error = opened.contents().err().unwrap().to_string();
        let left = "10 of 1000 bytes are left";
        assert!(error.contains(left), "{error}");
        // A file that has grown is read to its new end.
        let opened = Opened::new(&path, Input::Whole).unwrap();
        other.set_len(20).unwrap();
        assert_eq!(opened.contents().unwrap().len(), 20);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_too_large_to_be_read_is_an_error() {
        let folder = folder("large");
        let path = folder.join("file");
        let file = File::create(&path).unwrap();
        for input in [
            Input::Wave,
            Input::WaveOfBatch,
            Input::Baseline,
            Input::Configuration,
            Input::Source,
        ] {
            let most = input.rule().most;
            file.set_len(most + 1).unwrap();
            let error = Contents::open(&path, input).err().unwrap().to_string();
            let expected = format!("it has {} bytes, but a ", most + 1);
            assert!(error.starts_with(&expected), "{error}");
        }
        // Files in /proc report a length of 0.
        let rule = Input::Configuration.rule();
        let error = read(io::repeat(b'a'), 0, rule).unwrap_err().to_string();
        assert!(error.starts_with("it has more than 262144 b"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
