//! Seeds that no run has tried before.

use std::env::{VarError, var};
use std::time::{SystemTime, UNIX_EPOCH};

/// The first of the seeds that `HETDWARF_SEED` asks for: a hexadecimal number, or `fresh` for those of this moment.
/// Nothing where it is not set: a test then tries the seeds that it names itself, and gives the same answer every
/// time.
///
/// # Panics
/// The variable is neither.
#[must_use]
pub fn asked_for() -> Option<u64> {
    match var("HETDWARF_SEED") {
        Ok(seed) if seed == "fresh" => Some(fresh()),
        Ok(seed) => Some(u64::from_str_radix(seed.trim_start_matches("0x"), 16).unwrap()),
        Err(VarError::NotPresent) => None,
        Err(error) => panic!("HETDWARF_SEED: {error}"),
    }
}

/// The first of the seeds of this moment.
#[must_use]
pub fn fresh() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_nanos()).unwrap()
}
