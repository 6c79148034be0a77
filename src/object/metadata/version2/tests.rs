use super::*;
use crate::limits::Limits;

fn parse(note: &[u8]) -> Result<Metadata> {
    let meter = Arc::new(Meter::new(&Limits::default(), note.len() as u64));
    document(note, &meter)
}

#[test]
fn names_are_those_of_later_versions() {
    for (name, later) in [
        ("ByValue", "by_value"),
        ("HiddenGlobalOffsetX", "hidden_global_offset_x"),
        ("HiddenMultiGridSyncArg", "hidden_multigrid_sync_arg"),
        ("ReadOnly", "read_only"),
        ("", ""),
    ] {
        assert_eq!(later_name(name), later);
    }
}

#[test]
fn arguments_follow_one_another_aligned() {
    let note = b"Kernels:\n  - Args:\n      - { }\n";
    assert!(parse(note).is_err());
    let mut note = "Kernels:\n  - SymbolName: 'k@kd'\n    Mine: 7\n    Args:\n".to_owned();
    for (size, alignment) in [(1, 1), (8, 8), (2, 2), (4, 4), (16, 3), (4, 4)] {
        note += &format!("      - Size: {size}\n        Align: {alignment}\n");
    }
    let metadata = parse(note.as_bytes()).unwrap();
    let [kernel] = metadata.kernels() else {
        panic!("one kernel");
    };
    assert_eq!(kernel.symbol.as_deref(), Some("k@kd"));
    assert_eq!(kernel.other.len(), 1);
    let offsets: Vec<_> = kernel.args.iter().flatten().map(|arg| arg.offset).collect();
    // Offsets after an invalid alignment are unknown.
    assert_eq!(offsets, [Some(0), Some(8), Some(16), Some(20), None, None]);
}

#[test]
fn notes_that_are_no_metadata_are_errors() {
    for note in [&b"\xff"[..], b"a", b"- a", b""] {
        assert!(parse(note).is_err(), "{note:?}");
    }
    // The string ends at a NUL.
    assert!(parse(b"Version: [ 1, 0 ]\n\0\0\xff").is_ok());
}
