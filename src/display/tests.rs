//! Tests the texts of values. If a test shows a C declaration, the text beside it is the output of gdb 13.1 for that variable, compiled by gcc 12.2
//! for x86-64, without a character's number and a pointer's type and symbol. Floating-point numbers are gdb's with the fewest digits that read back.

mod aggregates;
mod limits;
mod lost;
mod numbers;
mod scalars;
mod strings;

use super::*;
use crate::arch::{AddressSpace, MemorySpace};
use crate::debug_info::types::{
    Dimension, Enumerator, Member, PointerKind, Qualifier, RecordKind, Type,
};
use crate::eval::{BaseType, BaseTypeEncoding};

/// Types under construction.
#[derive(Default)]
struct Types {
    table: TypeTable,
}

impl Types {
    fn add(&mut self, name: Option<&str>, byte_size: Option<u64>, kind: TypeKind) -> TypeId {
        let name = name.map(str::to_owned);
        self.table.add(Type {
            name,
            byte_size,
            kind,
        })
    }

    fn base(&mut self, name: &str, encoding: BaseTypeEncoding, bit_size: u32) -> TypeId {
        let base = BaseType {
            encoding,
            bit_size,
            elements: 1,
            address_space: AddressSpace::None,
        };
        let bytes = match bit_size {
            0 => 0,
            bits => u64::from(bits.div_ceil(8)).next_power_of_two(),
        };
        self.add(Some(name), Some(bytes), TypeKind::Base(base))
    }

    fn int(&mut self) -> TypeId {
        self.base("int", BaseTypeEncoding::Signed, 32)
    }

    fn char(&mut self) -> TypeId {
        self.base("char", BaseTypeEncoding::SignedChar, 8)
    }

    fn float(&mut self) -> TypeId {
        self.base("float", BaseTypeEncoding::Float, 32)
    }

    fn pointer(&mut self, kind: PointerKind, space: AddressSpace, bytes: u64) -> TypeId {
        let target = self.int();
        let pointer = TypeKind::Pointer {
            kind,
            target,
            address_space: space,
            memory_space: MemorySpace::None,
        };
        self.add(None, Some(bytes), pointer)
    }

    fn sequence(&mut self, element: TypeId, counts: &[u64], vector: bool) -> TypeId {
        let dimension = |&count| Dimension {
            lower_bound: 0,
            count: Some(count),
        };
        let array = TypeKind::Array {
            element,
            dimensions: counts.iter().map(dimension).collect(),
            stride_in_bits: None,
            vector,
        };
        self.add(None, None, array)
    }

    fn array(&mut self, element: TypeId, counts: &[u64]) -> TypeId {
        self.sequence(element, counts, false)
    }

    fn record(&mut self, name: &str, bytes: u64, members: Vec<Member>) -> TypeId {
        let kind = RecordKind::Structure;
        self.add(Some(name), Some(bytes), TypeKind::Record { kind, members })
    }

    fn enumeration(&mut self, underlying: TypeId, names: &[(&str, i128)]) -> TypeId {
        let enumerator = |&(name, value): &(&str, i128)| Enumerator {
            name: name.to_owned(),
            value,
        };
        let enumerators = names.iter().map(enumerator).collect();
        let bytes = self.table.get(underlying).byte_size;
        let kind = TypeKind::Enumeration {
            underlying,
            enumerators,
        };
        self.add(None, bytes, kind)
    }

    fn print(&self, ty: TypeId, bytes: &[u8]) -> String {
        to_string(
            &self.table,
            ty,
            &TypedBytes::known(bytes),
            &Options::default(),
        )
    }
}

/// Returns a member at a byte.
fn member(name: &str, ty: TypeId, byte: u64) -> Member {
    Member {
        name: (!name.is_empty()).then(|| name.to_owned()),
        ty,
        bit_offset: Some(byte * 8),
        bit_size: None,
        is_base: false,
    }
}

/// Returns a bit-field.
fn bits(name: &str, ty: TypeId, bit_offset: u64, bit_size: u64) -> Member {
    Member {
        bit_offset: Some(bit_offset),
        bit_size: Some(bit_size),
        ..member(name, ty, 0)
    }
}

/// Returns a base class at a byte.
fn base(ty: TypeId, byte: u64) -> Member {
    Member {
        is_base: true,
        ..member("", ty, byte)
    }
}

/// Returns the bytes of some `int`s.
fn ints(values: impl IntoIterator<Item = i32>) -> Vec<u8> {
    values.into_iter().flat_map(i32::to_le_bytes).collect()
}
