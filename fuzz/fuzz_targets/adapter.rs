#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dwarf_tests::fuzz::adapter::check(bytes));
