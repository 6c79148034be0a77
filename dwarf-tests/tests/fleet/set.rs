//! Makes a folder with code objects under unusual names, some of them damaged.

use std::fs;
use std::path::PathBuf;

use dwarf_tests::cores::Folder;
use dwarf_tests::{corpus, fixture, of_producers};

use super::Random;

/// A folder with files, which is removed when this value is dropped.
pub(crate) struct Set {
    pub(crate) folder: Folder,
    pub(crate) damaged: usize,
}

/// The prefixes of names: blanks, text that shells and CIs interpret, text like paths of members, and letters of other alphabets.
const NAMES: [&str; 12] = [
    "plain",
    "with blank",
    "ünï",
    "日本",
    "a(b)",
    "c:gfx90a",
    "#2",
    "::error::",
    "x\u{1b}[31m",
    "%41",
    "\"quoted\"",
    "-dash",
];

impl Set {
    /// * `count`: the number of files.
    /// * `damaged`: the number of files that are truncated or have wrong bytes.
    pub(crate) fn new(count: usize, damaged: usize, seed: u64) -> Set {
        let mut random = Random(seed);
        let mut sources: Vec<PathBuf> = corpus();
        sources.extend(of_producers());
        sources.push(fixture("debug_info").join("../bundle.hipfb"));
        let folder = Folder::new();
        for n in 0..count {
            let source = &sources[random.below(sources.len())];
            let mut bytes = fs::read(source).unwrap();
            if n < damaged {
                match n % 3 {
                    0 => bytes.truncate(64 + random.below(bytes.len() - 64)),
                    1 => {
                        for _ in 0..20 {
                            let at = random.below(bytes.len());
                            bytes[at] ^= 1 << random.below(8);
                        }
                    }
                    _ => {
                        let start = 16 + random.below(bytes.len() / 2);
                        let end = (start + random.below(4096)).min(bytes.len());
                        bytes[start..end].fill(0xff);
                    }
                }
            }
            let name = format!("{}{}", NAMES[n % NAMES.len()], n / NAMES.len());
            let below = ["", "a", "a/b", "c"][random.below(4)];
            let place = folder.folder().join(below);
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join(name), bytes).unwrap();
        }
        fs::create_dir(folder.folder().join("empty")).unwrap();
        fs::write(folder.folder().join("notes.txt"), "abc").unwrap();
        Set { folder, damaged }
    }

    /// Returns the checked paths: two folders, a named file and a missing one.
    pub(crate) fn paths(&self) -> Vec<String> {
        let folder = self.folder.folder();
        ["", "empty", "notes.txt", "none"]
            .iter()
            .map(|name| super::text(&folder.join(name)))
            .collect()
    }
}
