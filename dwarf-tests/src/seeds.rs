//! Chooses seeds that have not been tried in earlier runs.

use std::env::{VarError, var};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the first seed that `HETDWARF_SEED` requests: a hexadecimal number, or `fresh` for seeds from the current time. Returns None if
/// the variable is not set. Tests then use fixed seeds and are deterministic.
///
/// # Panics
/// If the variable has another value.
#[must_use]
pub fn asked_for() -> Option<u64> {
    match var("HETDWARF_SEED") {
        Ok(seed) if seed == "fresh" => Some(fresh()),
        Ok(seed) => Some(u64::from_str_radix(seed.trim_start_matches("0x"), 16).unwrap()),
        Err(VarError::NotPresent) => None,
        Err(error) => panic!("HETDWARF_SEED: {error}"),
    }
}

/// Returns a first seed from the current time.
#[must_use]
pub fn fresh() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_nanos()).unwrap()
}
