//! Serializes enums of other layers by their names.

use serde::{Serialize, Serializer};

use super::vars::EmptyReason;
use crate::debug_info::VariableKind;
use crate::gpu_core::{FenceScope, WaveState};
use crate::inspect::{FrameKind, LocationReading, ValueStateKind};
use crate::rule::Severity;

/// Implements `Serialize` with the `name` of a value, so that each name is defined only once.
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
