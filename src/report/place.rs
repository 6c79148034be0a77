//! Describes a place in the documents (`SINGLE` of the interface).

use serde::Serialize;

use super::number::{Hex, hex_bytes};
use crate::arch::Lane;
use crate::location::{LaneSelect, Location, Place, Storage};

/// A single location description.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "storage", rename_all = "snake_case")]
pub enum PlaceDocument {
    /// Memory.
    Memory {
        /// The name of the address space.
        address_space: &'static str,
        /// The offset in bits.
        bit_offset: Hex,
        /// The lane whose memory it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        lane: Option<u8>,
    },
    /// A register.
    Register {
        /// The register's name in assembly language.
        register: String,
        /// The DWARF number.
        dwarf: u16,
        /// The offset in bits.
        bit_offset: u64,
    },
    /// A value.
    Implicit {
        /// All bytes of the value.
        bytes: String,
        /// The size of the value in bits.
        bit_size: u64,
        /// The offset of the object in it, in bits.
        bit_offset: u64,
    },
    /// A pointer that was optimised away.
    ImplicitPointer {
        /// The debugging information entry of the object that the pointer points to.
        die: Hex,
        /// The offset from the start of that object in bytes.
        byte_offset: i64,
        /// The address space of the pointer.
        address_space: &'static str,
        /// The offset of the object in the pointer, in bits.
        bit_offset: u64,
    },
    /// No place.
    Undefined,
    /// A composite of parts.
    Composite {
        /// The sum of the parts' sizes.
        bit_size: u64,
        /// The offset of the object in it, in bits.
        bit_offset: u64,
        /// The parts, in order.
        parts: Vec<PartDocument>,
        /// Set if there are more parts than are listed.
        #[serde(skip_serializing_if = "Option::is_none")]
        parts_left_out: Option<Hex>,
    },
}

/// A part of a composite.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct PartDocument {
    /// The size of the part in bits.
    pub bit_size: u64,
    /// The places of its bits.
    pub places: Vec<PlaceDocument>,
}

/// Returns the places of a location in one lane, with at most `parts` parts of composites.
#[must_use]
pub fn places(location: &Location<'_>, lane: Option<Lane>, parts: u32) -> Vec<PlaceDocument> {
    let mut left = parts;
    location
        .places()
        .iter()
        .map(|place| document(place, lane, &mut left))
        .collect()
}

fn document(place: &Place<'_>, lane: Option<Lane>, left: &mut u32) -> PlaceDocument {
    let offset = lane
        .and_then(|lane| place.bit_offset_in(lane))
        .unwrap_or(place.bit_offset);
    let small = |bits: u128| u64::try_from(bits).unwrap_or(u64::MAX);
    let bit_offset = small(offset);
    match place.storage {
        Storage::Undefined => PlaceDocument::Undefined,
        Storage::Memory {
            space,
            lane: select,
        } => PlaceDocument::Memory {
            address_space: space.name(),
            bit_offset: Hex(offset),
            lane: match select {
                LaneSelect::None => None,
                LaneSelect::One(lane) => Some(lane.0),
                LaneSelect::Each => lane.map(|lane| lane.0),
            },
        },
        Storage::Register(register) => PlaceDocument::Register {
            register: register.to_string(),
            dwarf: register.number(),
            bit_offset,
        },
        Storage::Value { bits, bit_size } => {
            let length = usize::from(bit_size.div_ceil(8));
            let bytes = bits.to_le_bytes();
            let bytes = hex_bytes(bytes.get(..length).unwrap_or(&bytes));
            PlaceDocument::Implicit {
                bytes,
                bit_size: bit_size.into(),
                bit_offset,
            }
        }
        Storage::Constant(bytes) => {
            let bit_size = bytes.len() as u64 * 8;
            PlaceDocument::Implicit {
                bytes: hex_bytes(bytes),
                bit_size,
                bit_offset,
            }
        }
        Storage::ImplicitPointer(pointer) => PlaceDocument::ImplicitPointer {
            die: Hex::from(pointer.entry),
            byte_offset: pointer.byte_offset,
            address_space: pointer.space.name(),
            bit_offset,
        },
        Storage::Composite(composite) => {
            let mut parts = Vec::new();
            for part in composite.parts() {
                let Some(rest) = left.checked_sub(1) else {
                    break;
                };
                *left = rest;
                let places = part
                    .location
                    .places()
                    .iter()
                    .map(|place| document(place, lane, left))
                    .collect();
                parts.push(PartDocument {
                    bit_size: small(part.bit_size),
                    places,
                });
            }
            let left_out = composite.part_count().saturating_sub(parts.len() as u128);
            PlaceDocument::Composite {
                bit_size: small(composite.bit_size()),
                bit_offset,
                parts,
                parts_left_out: (left_out > 0).then_some(Hex(left_out)),
            }
        }
    }
}
