//! Files that are written: all at once or not at all.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Puts `bytes` in place of what a file has. Whoever reads it meanwhile, and whoever reads it after this one was stopped
/// in between, sees the old or the new bytes. What has the name but is no regular file, as `/dev/stdout`, is written to.
///
/// # Errors
/// If the file or its folder cannot be written to.
pub(crate) fn save(path: &Path, bytes: &[u8]) -> io::Result<()> {
    save_with(path, |out| out.write_all(bytes))
}

/// The same with bytes that `write` writes, one after the other.
///
/// # Errors
/// Those of `write`, and if the file or its folder cannot be written to.
pub(crate) fn save_with<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> io::Result<T> {
    let old = match std::fs::metadata(path) {
        Ok(old) if !old.is_file() => {
            let mut out = BufWriter::new(OpenOptions::new().write(true).open(path)?);
            let answer = write(&mut out)?;
            out.flush()?;
            return Ok(answer);
        }
        Ok(old) => Some(old.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let place = if old.is_some() {
        // A file that may not be written to is not replaced either.
        OpenOptions::new().write(true).open(path)?;
        // A link stays one.
        path.canonicalize()?
    } else {
        path.to_owned()
    };
    let folder = place
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    // With the permissions of any new file. An error does not name the file that is made up, as that of `tempfile_in` does.
    let mut file = tempfile::Builder::new()
        .prefix(".hetdwarf-")
        .make_in(folder.unwrap_or(Path::new(".")), |path| {
            OpenOptions::new().write(true).create_new(true).open(path)
        })?;
    let mut out = BufWriter::new(&mut file);
    let answer = write(&mut out)?;
    out.flush()?;
    drop(out);
    if let Some(old) = old {
        file.as_file().set_permissions(old)?;
    }
    file.as_file().sync_data()?;
    file.persist(place)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever has the old file open goes on to read all of it: it was replaced, and not written over.
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
        // Nothing is left beside it, and a failure leaves nothing either.
        assert!(save(&folder, b"").is_err());
        assert!(save(&folder.join("none/file"), b"").is_err());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::{PermissionsExt, symlink};
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            // As any file that is created has it.
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
