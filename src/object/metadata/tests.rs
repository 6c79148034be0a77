use rmpv::Value as Pack;

use super::*;
use crate::error::{ErrorKind, Limit};
use crate::limits::Limits;
use crate::meter::Meter;

fn encode(value: &Pack) -> Vec<u8> {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, value).unwrap();
    bytes
}

fn map(entries: Vec<(&str, Pack)>) -> Pack {
    Pack::Map(
        entries
            .into_iter()
            .map(|(key, value)| (key.into(), value))
            .collect(),
    )
}

#[test]
fn known_keys_go_to_their_fields_and_the_rest_is_kept() {
    let kernel = map(vec![
        (".name", "k".into()),
        (".symbol", "k.kd".into()),
        (".sgpr_count", 300.into()),
        (
            ".reqd_workgroup_size",
            Pack::Array(vec![64.into(), 1.into(), 1.into()]),
        ),
        (".uses_dynamic_stack", true.into()),
        // LLVM writes integers for this boolean.
        (".workgroup_processor_mode", 1.into()),
        (
            ".args",
            Pack::Array(vec![map(vec![
                (".offset", 8.into()),
                (".value_kind", "by_value".into()),
                (".is_const", false.into()),
            ])]),
        ),
        (".mine", Pack::F64(1.5)),
        // A type that differs from the table's.
        (".vgpr_count", "many".into()),
        (".kind", Pack::Nil),
        // A duplicate key.
        (".name", "other".into()),
    ]);
    let document = map(vec![
        ("amdhsa.version", Pack::Array(vec![1.into(), 2.into()])),
        ("amdhsa.target", "amdgcn-amd-amdhsa--gfx90a".into()),
        ("amdhsa.printf", Pack::Array(vec!["1:1:4:%d".into()])),
        ("amdhsa.kernels", Pack::Array(vec![kernel])),
        ("amdpal.pipelines", Pack::Array(vec![(-1).into()])),
    ]);
    let metadata = Metadata::parse(&encode(&document)).unwrap();
    assert_eq!(metadata.version, Some([1, 2]));
    assert_eq!(
        metadata.target.as_deref(),
        Some("amdgcn-amd-amdhsa--gfx90a")
    );
    assert_eq!(
        metadata.printf.as_deref(),
        Some(&["1:1:4:%d".to_owned()][..])
    );
    assert_eq!(
        metadata.other,
        [(
            MetadataValue::Text("amdpal.pipelines".into()),
            MetadataValue::List(vec![MetadataValue::Integer(-1)])
        )]
    );
    let [kernel] = metadata.kernels() else {
        panic!("{metadata:?}");
    };
    assert_eq!(kernel.name.as_deref(), Some("k"));
    assert_eq!(kernel.sgpr_count, Some(300));
    assert_eq!(kernel.reqd_workgroup_size, Some([64, 1, 1]));
    assert_eq!(kernel.uses_dynamic_stack, Some(true));
    assert_eq!(kernel.workgroup_processor_mode, Some(true));
    assert_eq!(kernel.vgpr_count, None);
    let args = kernel.args.as_ref().unwrap();
    assert_eq!(args[0].offset, Some(8));
    assert_eq!(args[0].value_kind.as_deref(), Some("by_value"));
    assert_eq!(args[0].is_const, Some(false));
    let other: Vec<_> = kernel.other.iter().map(|(key, _)| key.clone()).collect();
    let expected = [".mine", ".vgpr_count", ".kind", ".name"];
    assert_eq!(other, expected.map(|key| MetadataValue::Text(key.into())));
    assert_eq!(kernel.other[0].1, MetadataValue::Float(1.5));
}

#[test]
fn tables_have_each_key_once() {
    for keys in [Metadata::KEYS, KernelMetadata::KEYS, ArgumentMetadata::KEYS] {
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].iter().any(|other| other.name == key.name));
            assert!((3..=6).contains(&key.since));
        }
    }
    // The table of USAGE requires 11 keys of a kernel.
    let required = KernelMetadata::KEYS.iter().filter(|key| key.required);
    assert_eq!(required.count(), 11);
}

#[test]
fn truncated_metadata_is_an_error() {
    let document = encode(&map(vec![
        ("amdhsa.version", Pack::Array(vec![1.into(), 2.into()])),
        (
            "amdhsa.kernels",
            Pack::Array(vec![map(vec![(".name", "kernel".into())])]),
        ),
    ]));
    assert!(Metadata::parse(&document).is_ok());
    for len in 0..document.len() {
        let error = Metadata::parse(&document[..len]).unwrap_err();
        assert!(error.to_string().contains("ends too early"), "{len}");
    }
}

fn limit(document: &[u8]) -> bool {
    let limits = Limits {
        memory: 1 << 24,
        memory_per_byte: 0,
        ..Limits::DEFAULT
    };
    let meter = Meter::new(&limits, 0);
    assert!(Metadata::parse(document).is_ok());
    let error = read::document(document, &meter).unwrap_err();
    assert_eq!(meter.bytes(), 0);
    matches!(
        error.kind(),
        ErrorKind::Limit {
            limit: Limit::Memory,
            ..
        }
    )
}

#[test]
fn depth_and_numbers_are_limited() {
    // Lists in lists; a list with a claimed count of nearly 2^32 but no elements; a million nils; a list of empty maps.
    let error = Metadata::parse(&[0x91; 100_000]).unwrap_err();
    assert!(error.to_string().contains("nested too deeply"), "{error}");
    assert!(Metadata::parse(b"\xdd\xff\xff\xff\xff").is_err());
    assert!(Metadata::parse(b"\xdf\xff\xff\xff\xff").is_err());
    assert!(Metadata::parse(b"\xdb\xff\xff\xff\xff").is_err());
    let mut nils = b"\x81\xa1x\xdd\x00\x0f\x42\x40".to_vec();
    nils.resize(nils.len() + 1_000_000, 0xc0);
    assert!(limit(&nils));
    let mut maps = b"\x81\xaeamdhsa.kernels\xdc\xff\xff".to_vec();
    maps.resize(maps.len() + 0xffff, 0x80);
    assert!(limit(&maps));
}

#[test]
fn metadata_that_is_not_a_map_is_an_error() {
    for document in [&b"\x01"[..], b"\x90", b"\xc0", b"\xa1x"] {
        let error = Metadata::parse(document).unwrap_err();
        assert!(error.to_string().contains("not a map"), "{error}");
    }
    // Invalid UTF-8 is neither lost nor an error.
    let metadata = Metadata::parse(b"\x81\xa2\xff\xfe\xc4\x01\x07").unwrap();
    assert_eq!(
        metadata.other,
        [(
            MetadataValue::Text("\u{fffd}\u{fffd}".into()),
            MetadataValue::Bytes(vec![7])
        )]
    );
}
