//! Decides for every command whether an output file may be written.
//!
//! A command plans all of its files before it writes the first. An output may not be one of the inputs, even under another name, or another
//! output. An existing file is replaced only by a file of its own kind, unless `--force` is given. `save` replaces the file.

use std::fs::{File, FileType};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;

use super::failure::Failure;
use super::save::save_with;
use hetdwarf::object::{is_core_file, may_hold_code_objects};

/// The option that allows files of another kind to be replaced.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ForceArguments {
    /// Replace existing files of any kind, except inputs
    #[arg(long)]
    pub(crate) force: bool,
}

/// The kind of a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A code object, or a file that contains some.
    Object,
    /// A core file.
    Core,
    Dump,
    Html,
    Svg,
    Baseline,
    Wave,
    Manual,
}

/// The number of bytes that are read to recognize a file.
const START: u64 = 4096;

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Object => "a code object or a file that holds some",
            Kind::Core => "a core file",
            Kind::Dump => "a dump",
            Kind::Html => "an HTML page",
            Kind::Svg => "an SVG picture",
            Kind::Baseline => "a baseline",
            Kind::Wave => "a wave snapshot",
            Kind::Manual => "a manual page",
        }
    }

    /// Returns true if a file that starts with these bytes is of this kind.
    fn is_kind_of(self, start: &[u8]) -> bool {
        let has = |text: &str| {
            let mut windows = start.windows(text.len());
            windows.any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
        };
        let is_json = start.trim_ascii_start().starts_with(b"{");
        match self {
            Kind::Object => may_hold_code_objects(start),
            Kind::Core => is_core_file(start),
            Kind::Dump => has(":\tfile format elf64-") || is_json && has("hetdwarf-dump/"),
            Kind::Html => has("<!doctype html") || has("<html"),
            Kind::Svg => has("<svg"),
            Kind::Baseline => is_json && has("hetdwarf-baseline/"),
            Kind::Wave => is_json && has("hetdwarf-wave/"),
            Kind::Manual => has(".TH "),
        }
    }
}

/// A file's identity, independent of the name it is opened by.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    /// The path with links resolved, as far as it exists.
    path: PathBuf,
    /// The device and inode numbers. `None` if there is no file, or the system has no such numbers.
    number: Option<(u64, u64)>,
}

impl Identity {
    fn of(path: &Path) -> Identity {
        let resolved = path.canonicalize().or_else(|error| {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(error);
            };
            let folder = match folder.as_os_str().is_empty() {
                true => Path::new("."),
                false => folder,
            };
            Ok(folder.canonicalize()?.join(name))
        });
        Identity {
            path: resolved.unwrap_or_else(|_| path.to_owned()),
            number: number(path),
        }
    }

    fn is(&self, other: &Identity) -> bool {
        self.path == other.path || self.number.is_some() && self.number == other.number
    }
}

#[cfg(unix)]
fn number(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn number(_: &Path) -> Option<(u64, u64)> {
    None
}

/// The output files of a command, and its inputs.
#[derive(Debug)]
pub(crate) struct Outputs {
    inputs: Vec<Identity>,
    planned: Vec<Identity>,
    force: bool,
}

/// A file that may be written.
#[derive(Debug)]
pub(crate) struct Output(PathBuf);

impl Outputs {
    /// Starts with no output files.
    ///
    /// * `inputs`: the files that the command reads, by the names it was given.
    pub(crate) fn new<'p>(
        force: ForceArguments,
        inputs: impl IntoIterator<Item = &'p Path>,
    ) -> Outputs {
        // `-` is standard input, and only regular files can be overwritten.
        let files = inputs.into_iter().filter(|path| path.is_file());
        Outputs {
            inputs: files.map(Identity::of).collect(),
            planned: Vec::new(),
            force: force.force,
        }
    }

    /// Plans an output file.
    ///
    /// # Errors
    /// If the path is an input or already planned, or holds a file that may not be replaced.
    pub(crate) fn plan(&mut self, path: &Path, kind: Kind) -> Result<Output, Failure> {
        let refuse = |why: &str| Err(Failure::in_file(path, why));
        let identity = Identity::of(path);
        if self.inputs.iter().any(|input| input.is(&identity)) {
            return refuse("this is also an input: write to another file");
        }
        let is_file = match std::fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(Failure::in_file(path, error)),
            Ok(metadata) if metadata.is_dir() => return refuse("this is a directory"),
            Ok(metadata) if metadata.is_file() => metadata.len() > 0,
            Ok(metadata) if is_stream(metadata.file_type()) => {
                return Ok(Output(path.to_owned()));
            }
            Ok(_) => return refuse("this is neither a file nor a pipe"),
        };
        if self.planned.iter().any(|other| other.is(&identity)) {
            return refuse("two outputs have this name");
        }
        if is_file && !self.force {
            let start = start(path).map_err(|error| Failure::in_file(path, error))?;
            if !kind.is_kind_of(&start) {
                let name = kind.name();
                return refuse(&format!(
                    "the existing file is not {name}; --force replaces it"
                ));
            }
        }
        self.planned.push(identity);
        Ok(Output(path.to_owned()))
    }
}

impl Output {
    /// Writes the file.
    ///
    /// # Errors
    /// If the bytes cannot be written.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_with(|out| out.write_all(bytes))
    }

    /// Streams the output of `write` to the file, for output that is too large for memory.
    ///
    /// # Errors
    /// If it cannot be written. The old file is then unchanged.
    pub(crate) fn write_with<T>(
        &self,
        write: impl FnOnce(&mut dyn io::Write) -> io::Result<T>,
    ) -> Result<T, Failure> {
        save_with(&self.0, write).map_err(|error| Failure::in_file(&self.0, error))
    }
}

/// Returns true if the file is written to in place, and not replaced.
#[cfg(unix)]
fn is_stream(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_fifo() || kind.is_char_device()
}

#[cfg(not(unix))]
fn is_stream(_: FileType) -> bool {
    true
}

fn start(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(START).read_to_end(&mut start)?;
    Ok(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = format!("hetdwarf-outputs-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }

        fn file(&self, name: &str, text: &[u8]) -> PathBuf {
            let path = self.0.join(name);
            std::fs::write(&path, text).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn refused(outputs: &mut Outputs, path: &Path, kind: Kind) -> String {
        match outputs.plan(path, kind) {
            Ok(_) => String::new(),
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn an_input_is_never_an_output() {
        let folder = Folder::new("input");
        let input = folder.file("in", b"\x7fELF\x02\x01");
        let force = ForceArguments { force: true };
        let mut names = vec![
            input.clone(),
            folder
                .0
                .join("../")
                .join(folder.0.file_name().unwrap())
                .join("in"),
        ];
        #[cfg(unix)]
        {
            let (hard, soft) = (folder.0.join("hard"), folder.0.join("soft"));
            std::fs::hard_link(&input, &hard).unwrap();
            std::os::unix::fs::symlink("hard", &soft).unwrap();
            names.extend([hard, soft]);
        }
        for name in names {
            let mut outputs = Outputs::new(force, [input.as_path()]);
            let why = refused(&mut outputs, &name, Kind::Object);
            assert!(why.contains("also an input"), "{}: {why}", name.display());
        }
    }

    #[test]
    fn two_outputs_are_two_files() {
        let folder = Folder::new("two");
        let mut outputs = Outputs::new(ForceArguments::default(), []);
        assert_eq!(refused(&mut outputs, &folder.0.join("a"), Kind::Svg), "");
        let same = folder.0.join("./a");
        assert!(refused(&mut outputs, &same, Kind::Html).contains("two outputs"));
        assert_eq!(refused(&mut outputs, &folder.0.join("b"), Kind::Html), "");
    }

    /// Tries each kind of output over an existing file of each kind.
    #[test]
    fn a_file_is_replaced_by_one_of_its_kind() {
        let folder = Folder::new("kind");
        let mut core = b"\x7fELF\x02\x01".to_vec();
        core.resize(16, 0);
        core.extend([4, 0]);
        let files: [(Kind, &[u8]); 8] = [
            (Kind::Dump, b"k.hsaco:\tfile format elf64-amdgpu\n"),
            (Kind::Object, b"__CLANG_OFFLOAD_BUNDLE__"),
            (Kind::Core, &core),
            (Kind::Html, b"<!DOCTYPE html>\n<body>"),
            (Kind::Svg, b"<svg xmlns=\"\">"),
            (Kind::Baseline, br#" {"format": "hetdwarf-baseline/2"}"#),
            (Kind::Wave, br#"{"format": "hetdwarf-wave/1"}"#),
            (Kind::Manual, b".ie \\n(.g .ds Aq\n.TH hetdwarf 1"),
        ];
        for (is, text) in files {
            let path = folder.file("file", text);
            for (kind, _) in files {
                let mut outputs = Outputs::new(ForceArguments::default(), []);
                let why = refused(&mut outputs, &path, kind);
                assert_eq!(why.is_empty(), kind == is, "{kind:?} over {is:?}: {why}");
                assert!(why.is_empty() || why.contains("--force"), "{why}");
                let mut outputs = Outputs::new(ForceArguments { force: true }, []);
                assert_eq!(refused(&mut outputs, &path, kind), "");
            }
        }
        let empty = folder.file("empty", b"");
        let mut outputs = Outputs::new(ForceArguments::default(), []);
        assert_eq!(refused(&mut outputs, &empty, Kind::Svg), "");
        assert!(refused(&mut outputs, &folder.0, Kind::Svg).contains("a directory"));
    }
}
