//! Has no contents: see `Cargo.toml`.
