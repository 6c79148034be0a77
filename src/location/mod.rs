//! What an expression denotes.
