//! Reads arbitrary bytes as a wave snapshot in JSON.

use hetdwarf::wave::{Snapshot, Wave};

/// Checks that a readable snapshot is written as JSON that reads back as the same wave.
///
/// # Panics
/// If the wave changes, or if its lanes cannot be queried.
pub fn check(bytes: &[u8]) {
    let Ok(snapshot) = Snapshot::from_json(bytes) else {
        return;
    };
    let text = snapshot.to_json();
    let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(parsed["format"], "hetdwarf-wave/1");
    assert_eq!(
        Snapshot::from_json(text.as_bytes()).as_ref(),
        Ok(&snapshot),
        "{text}"
    );
    if let Some(lane) = snapshot.focus_lane() {
        assert!(lane.is_in(snapshot.wave_size()));
    }
}
