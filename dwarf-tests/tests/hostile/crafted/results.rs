//! Tests results of `eval` that exceed the limits of reading or printing.

use crate::guard::Guard;

fn results(reads: &[&str]) {
    let mut guard = Guard::new();
    for text in [
        "DW_OP_lit0, DW_OP_LLVM_extend 8 1152921504606846976",
        "DW_OP_lit0, DW_OP_LLVM_extend 8 8, DW_OP_LLVM_extend 8 1000000, DW_OP_LLVM_extend 8 1000000000",
        "DW_OP_piece 0x1fffffffffffff",
    ] {
        for format in ["text", "json"] {
            for &read in reads {
                let what = format!("eval {text} --read {read} --format {format}");
                guard.run(&what, || {
                    let ran = dwarf_tests::hetdwarf([
                        "eval", "--expr", text, "--lane", "all", "--read", read, "--format", format,
                    ]);
                    assert!(ran.out.len() < 1 << 25, "{what}: {} bytes", ran.out.len());
                    if read.len() > 2 {
                        let limit = "the limit `memory` of 134217728 was reached";
                        assert_eq!(ran.out.matches(limit).count(), 64, "{what}");
                    }
                });
            }
        }
    }
    guard.finish("results made to do harm");
}

#[test]
fn results_made_to_do_harm_print_within_bounds() {
    results(&["64"]);
}

#[test]
fn results_made_to_do_harm_are_read_within_bounds() {
    results(&["16777216", "18446744073709551615"]);
}
