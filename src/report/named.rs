//! Enums that the documents hold as they are, and write as their names.

use serde::{Serialize, Serializer};

use super::vars::EmptyReason;
use crate::debug_info::VariableKind;
use crate::gpu_core::{FenceScope, WaveState};
use crate::inspect::{FrameKind, LocationReading, ValueStateKind};
use crate::rule::Severity;

/// Writes values by their `name`, so that a name stands in one place.
macro_rules! written_by_name {
    ($($ty:ty),+) => {
        $(impl Serialize for $ty {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        })+
    };
}

written_by_name! {
    EmptyReason, FenceScope, FrameKind, LocationReading, Severity, ValueStateKind, VariableKind, WaveState
}
