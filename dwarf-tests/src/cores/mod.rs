//! Provides core files: fixtures, and a writer for others.

pub mod crashes;
pub mod demo;
pub mod emulated;
pub mod generation;
pub mod many;
pub mod writer;

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Returns the names of the core fixtures, in a fixed order.
#[must_use]
pub fn cases() -> Vec<String> {
    let mut cases: Vec<String> = std::fs::read_dir(crate::fixture("cores"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    cases.sort();
    assert_eq!(cases.len(), 9, "core files are missing");
    cases
}

/// Reads a file of a case.
#[must_use]
pub fn file(case: &str, name: &str) -> Vec<u8> {
    let path = crate::fixture("cores")
        .join(case)
        .join(format!("{name}.gz"));
    unpack(&path)
}

/// Unpacks a file.
fn unpack(path: &Path) -> Vec<u8> {
    let packed = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&*packed)
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

/// Reads the expected facts about a case.
#[must_use]
pub fn truth(case: &str) -> Value {
    serde_json::from_slice(&file(case, "truth.json")).unwrap()
}

/// A folder with the core files of a case, for the command. It is removed when this value is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Creates an empty folder with a unique name.
    #[must_use]
    pub fn new() -> Folder {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hetdwarf-cores-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Creates a folder with the files of a case.
    #[must_use]
    pub fn of(case: &str) -> Folder {
        let folder = Folder::new();
        for name in ["merged.core", "gpucore.4242", "core.4242"] {
            std::fs::write(folder.0.join(name), file(case, name)).unwrap();
        }
        folder
    }

    /// Returns the path of a file in the folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.0
    }
}

/// Unpacks a core of `fixtures/triage` to a folder of its own. Returns the folder and the path of the core.
#[must_use]
pub fn unpacked(case: &str) -> (Folder, String) {
    let folder = Folder::new();
    let core = folder.path("merged.core");
    let packed = crate::fixture("triage").join(case).join("merged.core.gz");
    std::fs::write(&core, unpack(&packed)).unwrap();
    (folder, core.display().to_string())
}

impl Default for Folder {
    fn default() -> Folder {
        Folder::new()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Files that remain in the temporary folder do no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
