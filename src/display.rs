//! A typed value as a person reads it.
