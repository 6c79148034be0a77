//! Compares the evaluation of DWARF 5 expressions with gimli's `Evaluation`.

use dwarf_tests::gimli_oracle::{Agreed, Case, DIFFERENCES, Op, compare, shrink};
use dwarf_tests::seeds;

/// Compares the cases of `count` seeds from `first`.
fn hold(first: u64, count: u64) {
    let mut agreed = [0; 4];
    let mut failures = Vec::new();
    for seed in (first..=u64::MAX).take(usize::try_from(count).unwrap()) {
        let case = Case::new(seed);
        match compare(&case) {
            Ok(Agreed::Value) => agreed[0] += 1,
            Ok(Agreed::Location) => agreed[1] += 1,
            Ok(Agreed::Composite) => agreed[2] += 1,
            Ok(Agreed::Error) => agreed[3] += 1,
            Err(reason) if failures.len() < 8 => {
                let small = shrink(case.clone());
                let small_reason = compare(&small).unwrap_err();
                failures.push(format!(
                    "seed {seed:#x}: {}\n  {reason}\nwith operations left out, which may make it one of the known \
                     differences: {}\n  {small_reason}",
                    case.print(),
                    small.print(),
                ));
            }
            Err(_) => failures.push(String::new()),
        }
    }
    let [values, locations, composites, errors] = agreed;
    println!(
        "{count} expressions from seed {first:#x}: {values} values, {locations} locations, {composites} composites, \
         {errors} errors; {} known differences are not generated",
        DIFFERENCES.len()
    );
    failures
        .iter()
        .filter(|failure| !failure.is_empty())
        .for_each(|failure| println!("{failure}\n"));
    assert!(
        failures.is_empty(),
        "{} of {count} differ, from seed {first:#x}",
        failures.len()
    );
    // Half of the locations are computed values under a DW_OP_stack_value.
    assert!(
        values * 4 > count && locations * 4 > count,
        "only {values} values, {locations} locations"
    );
    assert!(composites * 10 > count, "only {composites} composites");
    assert!(
        errors * 4 < count && errors * 100 > count,
        "{errors} errors"
    );
}

/// Other data follows the saved register of the caller, but the register does not become larger.
#[test]
fn a_register_that_was_saved_in_memory_has_the_size_of_the_register() {
    let by_hand = |tolerant, address_size, bytes: &[u8]| {
        let bytes = bytes.to_vec();
        compare(&Case {
            address_size,
            tolerant,
            initial: None,
            ops: vec![Op::Bytes(bytes.clone())],
            bytes,
        })
    };
    // entry_value(reg16), and (regx SGPR0): generic values of 64 and 32 bits.
    assert_eq!(by_hand(false, 8, &[0xa3, 1, 0x60]), Ok(Agreed::Value));
    assert_eq!(by_hand(false, 8, &[0xa3, 2, 0x90, 32]), Ok(Agreed::Value));
    // entry_value(regval_type SGPR0 of 4 bytes, convert 0), and of 8 bytes.
    assert_eq!(
        by_hand(false, 8, &[0xa3, 5, 0xa5, 32, 0x38, 0xa8, 0]),
        Ok(Agreed::Value)
    );
    assert_eq!(
        by_hand(false, 8, &[0xa3, 4, 0xa5, 32, 0xa3, 2]),
        Ok(Agreed::Error)
    );
    // entry_value(bregx SGPR0, plus 1): too narrow in strict reading, zero-extended otherwise.
    assert_eq!(
        by_hand(false, 8, &[0xa3, 5, 0x92, 32, 0, 0x23, 1]),
        Ok(Agreed::Error)
    );
    assert_eq!(
        by_hand(true, 8, &[0xa3, 5, 0x92, 32, 0, 0x23, 1]),
        Ok(Agreed::Value)
    );
    assert_eq!(
        by_hand(false, 4, &[0xa3, 5, 0x92, 32, 0, 0x23, 1]),
        Ok(Agreed::Value)
    );
    // A reserved register has nothing to read: breg5, regval_type and an entry value.
    for tolerant in [false, true] {
        assert_eq!(by_hand(tolerant, 8, &[0x75, 0]), Ok(Agreed::Error));
        assert_eq!(by_hand(tolerant, 8, &[0xa5, 5, 0x20]), Ok(Agreed::Error));
        assert_eq!(by_hand(tolerant, 8, &[0xa3, 1, 0x55]), Ok(Agreed::Error));
    }
}

#[test]
fn ten_thousand_expressions_evaluate_as_gimli_evaluates_them() {
    hold(0x00d3_a4f0_0000, 10_000);
}

#[test]
fn expressions_that_nobody_has_seen_before_evaluate_as_gimli_evaluates_them() {
    let seed = seeds::asked_for().unwrap_or_else(seeds::fresh);
    println!("seed {seed:#x}");
    hold(seed, 3000);
}
