//! Replaces files atomically.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The temporary files that have not been renamed yet. They are removed if the command is interrupted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes unfinished files before the process ends. No file can be started or finished while the returned guard exists.
pub(crate) fn abandon() -> impl Sized {
    let mut unfinished = unfinished();
    for path in unfinished.drain(..) {
        // A failure cannot be handled here.
        let _ = std::fs::remove_file(path);
    }
    unfinished
}

/// Replaces the contents of a file with the output of `write`. Readers see the old or the new bytes, even if the command is interrupted. A
/// path that is not a regular file, such as `/dev/stdout`, is written to in place.
///
/// # Errors
/// If the file or its folder cannot be written to.
pub(crate) fn save_with<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> io::Result<T> {
    let old = match std::fs::metadata(path) {
        Ok(old) if !old.is_file() => return write_to_stream(path, write),
        Ok(old) => Some(old.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let place = if old.is_some() {
        // A read-only file is not replaced.
        OpenOptions::new().write(true).open(path)?;
        // A link stays a link.
        path.canonicalize()?
    } else {
        path.to_owned()
    };
    let folder = place
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut list = unfinished();
    // The file gets the default permissions. Errors do not show the temporary name, as errors of `tempfile_in` would.
    let mut file = tempfile::Builder::new()
        .prefix(".hetdwarf-")
        .make_in(folder.unwrap_or(Path::new(".")), |path| {
            OpenOptions::new().write(true).create_new(true).open(path)
        })?;
    let temporary = file.path().to_owned();
    list.push(temporary.clone());
    drop(list);
    let written = write_whole(&mut file, write, old);
    let mut list = unfinished();
    let done = written.and_then(|answer| {
        file.persist(place)?;
        Ok(answer)
    });
    list.retain(|path| *path != temporary);
    done
}

fn write_whole<T>(
    file: &mut tempfile::NamedTempFile,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
    permissions: Option<std::fs::Permissions>,
) -> io::Result<T> {
    // Errors of the wrapper would show the temporary name, so this writes to the inner file.
    let mut out = BufWriter::new(file.as_file_mut());
    let answer = write(&mut out)?;
    out.flush()?;
    drop(out);
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_data()?;
    Ok(answer)
}

/// Writes to a pipe or a device. A pipe without a reader is rejected immediately.
fn write_to_stream<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> io::Result<T> {
    let mut out = BufWriter::new(open_stream(path)?);
    let answer = write(&mut out)?;
    out.flush()?;
    Ok(answer)
}

#[cfg(unix)]
fn open_stream(path: &Path) -> io::Result<std::fs::File> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use std::os::unix::fs::OpenOptionsExt;
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let opened = OpenOptions::new()
        .write(true)
        .custom_flags(flags)
        .open(path);
    let file = opened.map_err(|error| match rustix::io::Errno::from_io_error(&error) {
        Some(rustix::io::Errno::NXIO) => io::Error::other("no process reads from this pipe"),
        _ => error,
    })?;
    // From now on, writes block until the reader is ready.
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

#[cfg(not(unix))]
fn open_stream(path: &Path) -> io::Result<std::fs::File> {
    OpenOptions::new().write(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn save(path: &Path, bytes: &[u8]) -> io::Result<()> {
        save_with(path, |out| out.write_all(bytes))
    }

    /// A process that has the old file open can still read all of it, because the file was replaced and not overwritten.
    #[test]
    fn a_file_is_replaced_and_not_written_over() {
        use std::io::Read;
        let folder = std::env::temp_dir().join(format!("hetdwarf-save-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        save(&path, b"old").unwrap();
        let mut reader = std::fs::File::open(&path).unwrap();
        save(&path, b"newer").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "old");
        assert_eq!(std::fs::read(&path).unwrap(), b"newer");
        // No temporary file remains, not even after a failure.
        assert!(save(&folder, b"").is_err());
        assert!(save(&folder.join("none/file"), b"").is_err());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::{PermissionsExt, symlink};
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            // The permissions equal the defaults of new files.
            std::fs::write(folder.join("plain"), b"").unwrap();
            assert_eq!(mode(&path), mode(&folder.join("plain")));
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
            symlink("file", folder.join("link")).unwrap();
            save(&folder.join("link"), b"newest").unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"newest");
            assert_eq!(mode(&path), 0o640);
            assert!(folder.join("link").is_symlink());
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
