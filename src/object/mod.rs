//! A code object from bytes.
