//! Units, functions, scopes, inlining, variables, types and line rows.

pub mod types;
