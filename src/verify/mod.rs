//! Checks of debugging information.

pub mod machine;
