//! The files that a command reads: all of them are opened here, and so is standard input.
//!
//! What a path names is looked at before it is opened, since opening a device can have effects; and again afterwards, since
//! something else can be there by then. It is opened without waiting, so that a pipe that has come into its place keeps
//! nobody.
//!
//! Files are read into memory, where nobody can change them any more: one that another process cuts while it is read
//! is an error of that file. Of a mapped one that is cut the command cannot go on, since its bytes are gone: `interrupt` ends it with an
//! error. Only what is too large to be read is mapped, of which a question needs little.
//!
//! Code objects and cores may be compressed ([`Packing`]): what is in the file is read then, and all that is too large for that is put into a
//! temporary file, which is mapped.

use core::fmt;
use core::ops::Deref;
use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::Path;

use memmap2::Mmap;

use super::packing::Packing;

/// What something is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// The code object or the core that a question is about, which needs little of it.
    Object,
    /// The code object that addresses are looked up in, which needs little of it, and in a memory that others need as well.
    Lookup,
    /// The code object of which all is read; perhaps one of many, and an end by a signal would lose what is known of the
    /// others.
    Whole,
    /// The stopped wave that an argument names.
    Wave,
    /// A stopped wave that a line of a batch names.
    WaveOfBatch,
    /// A line of a batch; there can be any number of them.
    Batch,
    /// Findings that are known.
    Baseline,
    /// `hetdwarf.toml`.
    Configuration,
    /// A source file.
    Source,
    /// What a program printed.
    Log,
    /// A profiler's file, all of which is read once or twice.
    Profile,
}

/// How an input is read.
#[derive(Clone, Copy, Debug)]
struct Rule {
    name: &'static str,
    /// How many bytes are read at most.
    most: u64,
    /// Whether a larger file is mapped; otherwise it is an error.
    maps: bool,
    /// Whether it may be a pipe. A shell gives one for `<(…)`.
    pipe: bool,
}

impl Rule {
    /// Whether it may be compressed: as code objects and cores, which are large, may be.
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

/// The bytes of a file, for as long as they are needed.
pub(crate) enum Contents {
    /// A copy.
    Read(Vec<u8>),
    /// The file itself.
    Mapped(Mmap, File),
}

impl Contents {
    /// Reads a file, or maps it.
    ///
    /// # Errors
    /// If it cannot be opened or read, is no file, is larger than what is read for this, or becomes shorter meanwhile.
    pub(crate) fn open(path: &Path, input: Input) -> io::Result<Contents> {
        Opened::new(path, input)?.contents()
    }

    /// The first bytes of a file, as many as tell what it is.
    pub(crate) fn start(path: &Path) -> io::Result<Vec<u8>> {
        let Opened { file, metadata, .. } = Opened::new(path, Input::Whole)?;
        let start = first_bytes(&file)?;
        match Packing::of(&start) {
            Some(packing) => first_bytes(packing.reader((&*start).chain(file), metadata.len())),
            None => Ok(start),
        }
    }

    /// Lets the system have the memory that a mapped file takes. What is read again is read from the file again.
    #[cfg_attr(
        unix,
        expect(
            unsafe_code,
            reason = "advice about a mapped file; see the comment within"
        )
    )]
    pub(crate) fn release(&self) {
        #[cfg(unix)]
        if let Contents::Mapped(map, _) = self {
            // SAFETY: the map is of a file and never written to, so that its pages are those of the file whenever they are read.
            // Advice that is refused changes nothing.
            let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }

    /// Whether the file is as long as it was. To be asked after a mapped one was used.
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

/// Standard input, to its end.
///
/// # Errors
/// If it cannot be read, or has more bytes than are read for this.
pub(crate) fn standard_input(input: Input) -> io::Result<Vec<u8>> {
    let rule = input.rule();
    let bytes = read(io::stdin().lock(), 0, rule)?;
    match Packing::of(&bytes).filter(|_| rule.unpacks()) {
        Some(packing) => read(packing.reader(&*bytes, bytes.len() as u64), 0, rule),
        None => Ok(bytes),
    }
}

/// As many bytes as tell what a file is.
fn first_bytes(input: impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    input.take(512).read_to_end(&mut start)?;
    Ok(start)
}

/// An open file that nothing was read of.
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
        // Whoever writes to a pipe may take time.
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
                return unpacked(packing.reader(self.file, length), self.rule);
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

/// Reads what is in a compressed file, or puts it into a temporary file that is mapped.
fn unpacked(mut input: impl Read, rule: Rule) -> io::Result<Contents> {
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
    io::Error::other("it is a pipe that nobody writes to")
}

/// Reads all there is, of which `length` bytes are known to be there.
fn read(input: impl Read, length: u64, rule: Rule) -> io::Result<Vec<u8>> {
    let too_large = |has: fmt::Arguments<'_>| {
        let Rule { name, most, .. } = rule;
        let message = format!("it has {has} bytes, and a {name} has at most {most}");
        io::Error::other(message)
    };
    if length > rule.most {
        return Err(too_large(format_args!("{length}")));
    }
    let mut bytes = Vec::new();
    let no_memory =
        |_| io::Error::other(format!("there is not enough memory for its {length} bytes"));
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
        "it became shorter while it was read: it had {length} bytes, and {found} of them are left"
    )))
}

/// Whether what has this type is read.
fn accept(found: FileType, rule: Rule) -> io::Result<()> {
    let what = match type_name(found) {
        None => return Ok(()),
        Some("pipe") if rule.pipe => return Ok(()),
        Some("pipe") => "it is a pipe; only --wave, --batch and logs may be pipes".to_owned(),
        Some(name) => format!("it is a {name}, not a file"),
    };
    Err(io::Error::other(what))
}

fn is_pipe(found: FileType) -> bool {
    type_name(found) == Some("pipe")
}

/// What it is, if it is not a regular file.
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
        (false, true) => Some("folder"),
        (false, false) => Some("special file"),
    }
}

/// The lines of a batch. It ends with its first error.
pub(crate) struct Lines {
    input: Option<Box<dyn BufRead>>,
    count: u64,
}

impl Lines {
    /// The lines of a file, or those of standard input.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Lines> {
        let input: Box<dyn BufRead> = match path {
            Some(path) => {
                let Opened { file, metadata, .. } = Opened::new(path, Input::Batch)?;
                let mut file = BufReader::new(file);
                if is_pipe(metadata.file_type()) && file.fill_buf()?.is_empty() {
                    return Err(nobody_writes());
                }
                Box::new(file)
            }
            None => Box::new(io::stdin().lock()),
        };
        Ok(Lines {
            input: Some(input),
            count: 0,
        })
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
    // SAFETY: the bytes must not change while they are mapped, which no program can ensure of a file. They are only
    // read, and a map never ends before what borrows from it. Whoever writes to the file at this very moment
    // can make the answer wrong or end the process, as with every program that maps files.
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

    #[test]
    fn large_files_are_mapped_and_others_read() {
        let folder = folder("mapped");
        let path = folder.join("file");
        let most = Input::Object.rule().most;
        for (size, is_mapped) in [(0, false), (1000, false), (most + 1, true)] {
            // The file has holes in place of what is not written.
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
        let (had, left) = ("it had 1000 bytes", "10 of them are left");
        assert!(error.contains(had) && error.contains(left), "{error}");
        // What is longer than it was has been read to its end.
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
            let expected = format!("it has {} bytes, and a ", most + 1);
            assert!(error.starts_with(&expected), "{error}");
        }
        // A file of /proc says that it is empty.
        let rule = Input::Configuration.rule();
        let error = read(io::repeat(b'a'), 0, rule).unwrap_err().to_string();
        assert!(error.starts_with("it has more than 262144 b"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
