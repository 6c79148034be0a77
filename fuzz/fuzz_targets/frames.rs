#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dwarf_tests::fuzz::made::check_frames(bytes));
