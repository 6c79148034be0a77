//! Checks that parts of version 6 are found by their headers: a length, and a version of 2 bytes.

use std::sync::Arc;

use super::*;
use crate::limits::Limits;
use crate::meter::Meter;

fn held() -> Held {
    Held::new(Arc::new(Meter::new(&Limits::DEFAULT, 0)))
}

#[test]
fn parts_of_version_6_are_said_to_be_of_version_5() {
    // Parts of version 5, of version 6, and of version 6 in the 64-bit format, and a part that exceeds the section.
    let section = [
        &[3, 0, 0, 0, 5, 0, 0x99][..],
        &[4, 0, 0, 0, 6, 0, 0x98, 0x97],
        &[0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 6, 0],
        &[3, 0, 0, 0, 6, 0],
    ]
    .concat();
    let found = as_dwarf5(".debug_info", &section, &held());
    let found = found.unwrap().unwrap();
    assert_eq!(found.starts, [7, 15]);
    let mut expected = section.clone();
    (expected[11], expected[27]) = (5, 5);
    assert_eq!(found.bytes, expected);
    let dwo = as_dwarf5(".debug_info.dwo", &section, &held()).unwrap();
    assert!(dwo.is_some());
}

#[test]
fn what_has_no_version_6_is_not_copied() {
    let none = |name, section: &[u8]| as_dwarf5(name, section, &held()).unwrap().is_none();
    assert!(none(".debug_info", &[3, 0, 0, 0, 5, 0, 0x99]));
    // Entries of .debug_str have no versions.
    assert!(none(".debug_str", &[2, 0, 0, 0, 6, 0]));
    // A length too small for a version, and a missing length.
    assert!(none(".debug_info", &[1, 0, 0, 0, 6, 0]));
    assert!(none(".debug_info", &[]));
}

#[test]
fn parts_are_paid_for() {
    let section: Vec<u8> = [2, 0, 0, 0, 6, 0].repeat(1000);
    let limits = Limits {
        work: 100,
        work_per_byte: 0,
        ..Limits::DEFAULT
    };
    let held = Held::new(Arc::new(Meter::new(&limits, 0)));
    let error = as_dwarf5(".debug_info", &section, &held).unwrap_err();
    assert!(error.is_limit(), "{error}");
}
