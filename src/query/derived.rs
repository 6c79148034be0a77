//! Derives types from the program's types: pointers, arrays, and the arithmetic types of C.

use std::collections::BTreeMap;

use super::class::{Arithmetic, Class, FloatType, IntegerType, Rank, class_of};
use crate::arch::{AddressSpace, MemorySpace};
use crate::debug_info::type_name;
use crate::debug_info::types::{Dimension, PointerKind, Type, TypeId, TypeKind, TypeTable};
use crate::display::shape;
use crate::eval::{BaseType, BaseTypeEncoding};
use crate::tree::Elements;

/// A table of types, to which each derived type is added once.
#[derive(Debug, Default)]
pub(super) struct Types {
    pub(super) table: TypeTable,
    integers: BTreeMap<IntegerType, TypeId>,
    floats: BTreeMap<FloatType, TypeId>,
    pointers: BTreeMap<(TypeId, AddressSpace), TypeId>,
    arrays: BTreeMap<(TypeId, Option<u64>), TypeId>,
    /// The element types of vectors, and the row types of arrays with several dimensions.
    inner: BTreeMap<TypeId, TypeId>,
    void: Option<TypeId>,
}

impl Types {
    pub(super) fn class(&self, id: TypeId) -> Class {
        class_of(&self.table, id)
    }

    pub(super) fn name(&self, id: TypeId) -> String {
        type_name(&self.table, id)
    }

    /// Returns the size of a type in bits, or `None` if it is not known.
    pub(super) fn bits(&self, id: TypeId) -> Option<u64> {
        shape::size_in_bits(&self.table, id)
    }

    /// Returns the distance in bytes between adjacent targets of a pointer. For `void` it is 1, as in GNU C.
    pub(super) fn step(&self, target: TypeId) -> Option<u64> {
        if self.class(target) == Class::Void {
            return Some(1);
        }
        self.bits(target).map(|bits| bits.div_ceil(8))
    }

    pub(super) fn void(&mut self) -> TypeId {
        if let Some(id) = self.void {
            return id;
        }
        let id = self.table.add(Type {
            name: None,
            byte_size: None,
            kind: TypeKind::Void,
        });
        self.void = Some(id);
        id
    }

    /// Returns an arithmetic type of C. `like` is the program's own type. It is preferred for formats of 16 bits, which have several names.
    pub(super) fn arithmetic(&mut self, ty: Arithmetic, like: Option<TypeId>) -> TypeId {
        match ty {
            Arithmetic::Integer(integer) => self.integer(integer),
            Arithmetic::Float(float) => {
                let own =
                    like.filter(|id| float.bits() == 16 && self.class(*id) == Class::Float(float));
                own.unwrap_or_else(|| self.float(float))
            }
        }
    }

    pub(super) fn integer(&mut self, integer: IntegerType) -> TypeId {
        let signed = if integer.signed {
            BaseTypeEncoding::Signed
        } else {
            BaseTypeEncoding::Unsigned
        };
        let encoding = match (integer.rank, integer.signed) {
            (Rank::Bool, _) => BaseTypeEncoding::Boolean,
            (Rank::Char, true) => BaseTypeEncoding::SignedChar,
            (Rank::Char, false) => BaseTypeEncoding::UnsignedChar,
            (Rank::Short | Rank::Int | Rank::Long | Rank::LongLong | Rank::Int128, _) => signed,
        };
        if let Some(id) = self.integers.get(&integer) {
            return *id;
        }
        let id = self.add_base(integer.name(), encoding, integer.bits);
        self.integers.insert(integer, id);
        id
    }

    fn float(&mut self, float: FloatType) -> TypeId {
        if let Some(id) = self.floats.get(&float) {
            return *id;
        }
        let id = self.add_base(float.name(), BaseTypeEncoding::Float, float.bits());
        self.floats.insert(float, id);
        id
    }

    fn add_base(&mut self, name: &str, encoding: BaseTypeEncoding, bit_size: u32) -> TypeId {
        let base = BaseType {
            encoding,
            bit_size,
            elements: 1,
            address_space: AddressSpace::None,
        };
        self.table.add(Type {
            name: Some(name.to_owned()),
            byte_size: Some(bit_size.div_ceil(8).into()),
            kind: TypeKind::Base(base),
        })
    }

    /// Returns a pointer into an address space.
    pub(super) fn pointer(&mut self, target: TypeId, space: AddressSpace) -> TypeId {
        if let Some(id) = self.pointers.get(&(target, space)) {
            return *id;
        }
        let id = self.table.add(Type {
            name: None,
            byte_size: Some(space.address_size_in_bits(8).div_ceil(8).into()),
            kind: TypeKind::Pointer {
                kind: PointerKind::Pointer,
                target,
                address_space: space,
                memory_space: MemorySpace::None,
            },
        });
        self.pointers.insert((target, space), id);
        id
    }

    /// Returns an array of consecutive elements, with an unknown length if `count` is None.
    pub(super) fn array(&mut self, element: TypeId, count: Option<u64>) -> TypeId {
        if let Some(id) = self.arrays.get(&(element, count)) {
            return *id;
        }
        let bits = self.bits(element).zip(count);
        let bits = bits.and_then(|(bits, count)| bits.checked_mul(count));
        let id = self.table.add(Type {
            name: None,
            byte_size: bits.map(|bits| bits.div_ceil(8)),
            kind: TypeKind::Array {
                element,
                dimensions: vec![Dimension {
                    lower_bound: 0,
                    count,
                }],
                stride_in_bits: None,
                vector: false,
            },
        });
        self.arrays.insert((element, count), id);
        id
    }

    /// Returns the elements of an array or vector, or the rows of an array with several dimensions. Returns None for other types.
    pub(super) fn elements(&mut self, id: TypeId) -> Option<Elements> {
        let resolved = shape::resolve(&self.table, id).ty.clone();
        if let Class::Vector { element, .. } = self.class(id) {
            let ty = self.inner(id, |types| {
                let name = types.name(id);
                types.add_base(&name, element.encoding, element.bit_size)
            });
            let stride = Some(element.bit_size.into());
            return Some(Elements {
                ty,
                stride,
                lower_bound: 0,
                count: self.count(id),
            });
        }
        let TypeKind::Array {
            element,
            dimensions,
            stride_in_bits,
            vector,
        } = resolved.kind
        else {
            return None;
        };
        let (first, rest) = dimensions.split_first()?;
        let own = stride_in_bits.or_else(|| self.bits(element));
        if rest.is_empty() {
            return Some(Elements {
                ty: element,
                stride: own,
                lower_bound: first.lower_bound,
                count: first.count,
            });
        }
        let count = rest
            .iter()
            .try_fold(1u64, |count, row| count.checked_mul(row.count?));
        let stride = own
            .zip(count)
            .and_then(|(own, count)| own.checked_mul(count));
        let ty = self.inner(id, |types| {
            types.table.add(Type {
                name: None,
                byte_size: stride.map(|bits| bits.div_ceil(8)),
                kind: TypeKind::Array {
                    element,
                    dimensions: rest.to_vec(),
                    stride_in_bits,
                    vector,
                },
            })
        });
        Some(Elements {
            ty,
            stride,
            lower_bound: first.lower_bound,
            count: first.count,
        })
    }

    fn inner(&mut self, outer: TypeId, make: impl FnOnce(&mut Types) -> TypeId) -> TypeId {
        if let Some(id) = self.inner.get(&outer) {
            return *id;
        }
        let id = make(self);
        self.inner.insert(outer, id);
        id
    }

    /// Sets the result type of a function whose type lacks it.
    pub(super) fn returning(&mut self, function: TypeId, returned: TypeId) {
        let mut ty = self.table.get(function).clone();
        if let TypeKind::Function { result, .. } = &mut ty.kind
            && self.class(*result) == Class::Void
        {
            *result = returned;
            self.table.set(function, ty);
        }
    }

    /// Returns true if two types are equal except for typedefs and qualifiers.
    pub(super) fn is_same(&self, one: TypeId, other: TypeId) -> bool {
        core::ptr::eq(
            shape::resolve(&self.table, one).ty,
            shape::resolve(&self.table, other).ty,
        )
    }

    /// Returns true if a type is an array with `DW_AT_GNU_vector`.
    pub(super) fn is_gnu_vector(&self, id: TypeId) -> bool {
        matches!(
            shape::resolve(&self.table, id).ty.kind,
            TypeKind::Array { vector: true, .. }
        )
    }

    /// Returns the number of elements of an array or vector, or `None` if it is not known.
    pub(super) fn count(&self, id: TypeId) -> Option<u64> {
        if let Class::Vector { count, .. } = self.class(id) {
            return Some(count.into());
        }
        let resolved = shape::resolve(&self.table, id).ty;
        if let TypeKind::Array { dimensions, .. } = &resolved.kind {
            dimensions.first().and_then(|first| first.count)
        } else {
            None
        }
    }
}
