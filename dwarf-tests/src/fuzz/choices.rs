//! Reads arbitrary bytes as a repository's settings for `verify`: `hetdwarf.toml`, and a baseline.

use std::path::PathBuf;
use std::sync::OnceLock;

use hetdwarf::report::{Baseline, BaselineEntry, VerifyDocument, check_file};
use hetdwarf::verify::Selection;

use crate::fixture;

/// Returns the checked object: a small one, with findings.
fn object() -> &'static [u8] {
    static OBJECT: OnceLock<Vec<u8>> = OnceLock::new();
    OBJECT.get_or_init(|| std::fs::read(fixture("debug_info/made.elf")).unwrap())
}

/// Reads the bytes as a configuration, and checks an object with it.
///
/// # Panics
/// If the exit status is not a documented one, if the command fails without a message, or if the document is not JSON.
pub fn configuration(bytes: &[u8]) {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("hetdwarf-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    });
    // Each thread that runs checks has its own file.
    let name = format!("{:?}.toml", std::thread::current().id());
    let file = folder.join(name.replace(['(', ')'], "-"));
    std::fs::write(&file, bytes).unwrap();
    let path = fixture("debug_info/made.elf").into_os_string();
    let arguments = ["verify".into(), "--format".into(), "json".into()];
    let named = ["--config".into(), file.clone().into_os_string(), path];
    let ran = crate::hetdwarf(arguments.into_iter().chain(named));
    std::fs::remove_file(&file).unwrap();
    assert!(ran.status <= 2);
    if ran.out.is_empty() {
        assert!(ran.status == 2 && !ran.err.is_empty(), "{}", ran.status);
        // The message is escaped, regardless of the file's contents.
        assert!(!ran.err.contains('\u{1b}'), "{:?}", ran.err);
    } else {
        serde_json::from_str::<serde_json::Value>(&ran.out).unwrap();
    }
}

/// Reads the bytes as a baseline.
///
/// # Panics
/// If the baseline does not survive writing and reading, if a finding is lost, or if a stale entry is not in the baseline.
pub fn baseline(bytes: &[u8]) {
    let Ok(baseline) = Baseline::from_json(bytes) else {
        return;
    };
    let text = baseline.to_json().unwrap();
    let again = Baseline::from_json(text.as_bytes()).unwrap();
    assert!(baseline.entries().eq(again.entries()), "{text}");
    let mut document =
        VerifyDocument::new([check_file("made.elf", object(), &Selection::default())]);
    let before: usize = document.findings().count();
    baseline.apply(&mut document, Clone::clone, |_| true);
    let known = usize::try_from(document.summary.known).unwrap();
    assert_eq!(document.findings().count() + known, before);
    // Stale entries are entries of the baseline, with at most the same counts.
    let listed = |entry: &BaselineEntry| {
        let mut own = baseline.entries().filter(|own| own.key == entry.key);
        own.any(|own| entry.count <= own.count)
    };
    assert!(document.stale.iter().all(listed), "{:?}", document.stale);
}
