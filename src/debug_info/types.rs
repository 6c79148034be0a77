//! Holds types for display: a table of plain data, read from the entries once.
//!
//! A [`Type`] refers to others by [`TypeId`], so recursive types need no recursive data structure. [`type_attribute`](super::type_attribute) lists
//! the attributes that change the meaning of a value's bytes, and their degree of support. Sources: DWARF 5 §5; HET A.5; USAGE "Memory Space
//! Identifier", "Address Space Identifier".

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::id::{DieId, UnitId};
use crate::arch::{AddressSpace, MemorySpace};
use crate::eval::BaseType;

/// The names of the type of `nullptr`: from clang, from gcc, and from the C++ standard.
pub(super) const NULL_POINTER_TYPES: &[&str] =
    &["decltype(nullptr)", "std::nullptr_t", "nullptr_t"];

/// The maximum number of typedefs, qualifiers and arrays between a type and the type it stands for.
pub(super) const HOPS: usize = 256;

/// The number of a type in its [`TypeTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

/// A type.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The name in the source without `struct` or `enum`, with the enclosing namespaces and classes (`geom::Point`). `None` for types that are built
    /// from others (pointers, arrays) or are anonymous.
    pub name: Option<String>,
    /// The size in bytes, if it is known without evaluation.
    pub byte_size: Option<u64>,
    /// The kind of the type.
    pub kind: TypeKind,
}

/// The kind of a type, with its parts.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// `void`.
    Void,
    /// An integer, float, character or vector of them (`DW_TAG_base_type`), in little-endian order from the
    /// lowest bit of its bytes on.
    Base(BaseType),
    /// A base type, or a subrange of one, with another layout of its bits, or whose bits are not the value itself.
    Represented {
        /// The base type of the bits once they are in order.
        base: BaseType,
        /// The layout of the bits, and the computation of the value.
        by: Representation,
    },
    /// A pointer or reference.
    Pointer {
        /// The kind of pointer or reference.
        kind: PointerKind,
        /// The type that it points to.
        target: TypeId,
        /// The address space of the target: `DW_AT_LLVM_address_space`, else LLVM's or clang's meaning of `DW_AT_address_class`, else the default
        /// space.
        address_space: AddressSpace,
        /// The source language's memory space (`DW_AT_LLVM_memory_space`).
        memory_space: MemorySpace,
    },
    /// An array, or a vector (`DW_AT_GNU_vector`).
    Array {
        /// The element's type.
        element: TypeId,
        /// The dimensions, slowest-varying first, in C's order. The dimensions of an array in column-major order (`DW_AT_ordering`, or Fortran) are
        /// reversed. An array with a stride for a dimension becomes an array of one-dimensional arrays here.
        dimensions: Vec<Dimension>,
        /// The size of an entry in bits, if it is not the element's size (`DW_AT_byte_stride`, `DW_AT_bit_stride`). An element larger than its entry
        /// is truncated to that size; a smaller one is at the start of its entry.
        stride_in_bits: Option<u64>,
        /// True if it is a vector type.
        vector: bool,
    },
    /// A structure, class or union.
    Record {
        /// The kind of record.
        kind: RecordKind,
        /// The base classes and data members, in the order of the entries. A variant part is a member without a name whose type is
        /// [`Variants`](TypeKind::Variants).
        members: Vec<Member>,
    },
    /// The variant part of a record (`DW_TAG_variant_part`): several lists of members, one of which is present. Offsets are relative to the start of
    /// the record.
    Variants {
        /// The member that selects the variant. `None` if there is only one variant, or no such member.
        discriminant: Option<Box<Member>>,
        /// The variants, in the order of the entries.
        variants: Vec<Variant>,
    },
    /// An enumeration.
    Enumeration {
        /// The integer type (`DW_AT_type`).
        underlying: TypeId,
        /// Names and values.
        enumerators: Vec<Enumerator>,
    },
    /// Another name for a type.
    Typedef(TypeId),
    /// A type with a qualifier.
    Qualified(Qualifier, TypeId),
    /// A function's type.
    Function {
        /// The type of the result.
        result: TypeId,
        /// The types of the parameters. A variadic function has one more, of a type [`Unspecified`](TypeKind::Unspecified) with the name `...`.
        parameters: Vec<TypeId>,
    },
    /// A pointer to a member of a class.
    MemberPointer {
        /// The class.
        class: TypeId,
        /// The member's type.
        target: TypeId,
    },
    /// `DW_TAG_unspecified_type`, such as `decltype(nullptr)`. Also a type that is missing or malformed, which has no name.
    Unspecified,
    /// A type with an unsupported attribute or tag that changes the meaning of the bytes, so that no value of it can be shown. The field is the name
    /// of the attribute or tag, such as `DW_AT_picture_string`.
    Unsupported(Cow<'static, str>),
}

/// The layout of a base type's bits in its bytes, and the computation of its value.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Representation {
    /// True if the most significant byte comes first (`DW_AT_endianity`). The bits of a byte then count from the highest one, also for the start of a
    /// bit-field.
    pub big_endian: bool,
    /// The offset of the value in the bytes, in bits (`DW_AT_data_bit_offset`). It does not apply to a bit-field, which has its own offset.
    pub bit_offset: u32,
    /// The bias that is added to the number (`DW_AT_GNU_bias`).
    pub bias: i128,
    /// The scale by which the sum is multiplied.
    pub scale: Scale,
}

impl Representation {
    /// The representation of a plain base type.
    pub const PLAIN: Representation = Representation {
        big_endian: false,
        bit_offset: 0,
        bias: 0,
        scale: Scale::One,
    };
}

/// The unit of a fixed-point type. Source: DWARF 5 §5.1.1.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// 1.
    One,
    /// A power of two (`DW_AT_binary_scale`).
    Binary(i32),
    /// A power of ten (`DW_AT_decimal_scale`).
    Decimal(i32),
    /// A fraction, numerator and denominator (`DW_AT_small`).
    Fraction(u64, u64),
}

/// One of the variants of a variant part (`DW_TAG_variant`).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The ranges of discriminants that select it, with inclusive bounds. `None` for the default variant, which is present if no other is.
    pub choices: Option<Vec<(i128, i128)>>,
    /// The members.
    pub members: Vec<Member>,
}

/// A pointer, or one of the references of C++.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerKind {
    /// `T *`.
    Pointer,
    /// `T &`.
    Reference,
    /// `T &&`.
    RvalueReference,
}

/// A structure, class or union.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// `struct`.
    Structure,
    /// `class`.
    Class,
    /// `union`.
    Union,
}

/// A qualifier of a type.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qualifier {
    /// `const`.
    Const,
    /// `volatile`.
    Volatile,
    /// `restrict`.
    Restrict,
    /// `_Atomic`.
    Atomic,
}

/// One dimension of an array.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The first index.
    pub lower_bound: i64,
    /// The number of elements. `None` if it is not a constant.
    pub count: Option<u64>,
}

impl Dimension {
    /// Creates a dimension with this many elements from index 0, or with `None` if their number is not a constant.
    #[must_use]
    pub const fn of(count: Option<u64>) -> Dimension {
        Dimension {
            lower_bound: 0,
            count,
        }
    }
}

/// A data member or a base class.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name. `None` for an anonymous structure or union.
    pub name: Option<String>,
    /// The type.
    pub ty: TypeId,
    /// The distance from the start of the record, in bits, or `None` if it is not a constant (a virtual base).
    pub bit_offset: Option<u64>,
    /// The size of a bit-field, in bits. `None` for any other member.
    pub bit_size: Option<u64>,
    /// True if it is a base class.
    pub is_base: bool,
}

impl Member {
    /// Creates a data member that is no bit-field, `bit_offset` bits from the start of the record.
    #[must_use]
    pub const fn new(name: Option<String>, ty: TypeId, bit_offset: u64) -> Member {
        Member {
            name,
            ty,
            bit_offset: Some(bit_offset),
            bit_size: None,
            is_base: false,
        }
    }
}

/// One name of an enumeration.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enumerator {
    /// The name.
    pub name: String,
    /// The value.
    pub value: i128,
}

impl Enumerator {
    /// Creates the name of a value.
    #[must_use]
    pub const fn new(name: String, value: i128) -> Enumerator {
        Enumerator { name, value }
    }
}

/// A static data member.
#[derive(Clone, Debug)]
pub(super) struct StaticMember {
    pub(super) name: Box<str>,
    pub(super) entry: DieId,
}

/// All requested types, each once.
///
/// A table must be used with only one [`DebugInfo`](super::DebugInfo), since it identifies types by their entries.
#[derive(Clone, Debug, Default)]
pub struct TypeTable {
    types: Vec<Type>,
    by_entry: BTreeMap<DieId, TypeId>,
    void: Option<TypeId>,
    ellipsis: Option<TypeId>,
    /// The types derived from another one, by the original type.
    derived: BTreeMap<TypeId, Vec<TypeId>>,
    /// The constant static data members, by their record.
    constants: BTreeMap<TypeId, Vec<StaticMember>>,
    /// The entries of types whose layout is found out at run time.
    pub(super) computed: BTreeMap<TypeId, DieId>,
    /// For each requested type, the unit with the entry of a part with a run-time layout, or `None` if it has no such part.
    pub(super) with_computed: BTreeMap<TypeId, Option<UnitId>>,
    /// The first lower bound of an array that contradicts its language.
    wrong_lower_bound: Option<i64>,
    /// The names formatted so far, by the numbers of the types.
    pub(super) names: Vec<Option<Arc<str>>>,
    /// True if any type is [`TypeKind::Unsupported`], which is rare.
    pub(super) has_unsupported: bool,
}

impl Type {
    /// Creates a type that is in no file, with its name in the source and its size in bytes. Each may be `None`.
    #[must_use]
    pub const fn new(name: Option<String>, byte_size: Option<u64>, kind: TypeKind) -> Type {
        Type {
            name,
            byte_size,
            kind,
        }
    }

    /// Returns an unknown type.
    pub(super) const fn unspecified() -> Type {
        Type {
            name: None,
            byte_size: None,
            kind: TypeKind::Unspecified,
        }
    }

    /// Returns true if it is the type of `nullptr`.
    #[must_use]
    pub fn is_null_pointer(&self) -> bool {
        let name = self.name.as_deref();
        self.kind == TypeKind::Unspecified
            && name.is_some_and(|name| NULL_POINTER_TYPES.contains(&name))
    }
}

impl TypeTable {
    /// Returns the type with this number, or [`TypeKind::Void`] if the number is from another table.
    #[must_use]
    pub fn get(&self, id: TypeId) -> &Type {
        const VOID: &Type = &Type {
            name: None,
            byte_size: None,
            kind: TypeKind::Void,
        };
        self.types.get(id.0 as usize).unwrap_or(VOID)
    }

    /// Returns true if a type has this number.
    #[must_use]
    pub fn has(&self, id: TypeId) -> bool {
        (id.0 as usize) < self.types.len()
    }

    /// Returns the number of types in the table.
    pub(super) fn len(&self) -> usize {
        self.types.len()
    }

    /// Returns true unless this is a type of numbers whose bits have another layout than in a plain type.
    pub(crate) fn is_in_order(&self, id: TypeId) -> bool {
        if let TypeKind::Represented { by, .. } = &self.resolved(id).kind {
            !by.big_endian && by.bit_offset == 0
        } else {
            true
        }
    }

    /// Returns the type of an object whose entry specifies big-endian order (`DW_AT_endianity`). Base types can have either order; other types become
    /// unsupported.
    pub(crate) fn add_big_endian(&mut self, id: TypeId) -> TypeId {
        let mut ty = self.get(id).clone();
        let name = ty.name.take();
        for _ in 0..HOPS {
            let (TypeKind::Typedef(target) | TypeKind::Qualified(_, target)) = ty.kind else {
                break;
            };
            ty = self.get(target).clone();
        }
        let (base, by) = if let TypeKind::Base(base) = &ty.kind {
            (*base, Representation::PLAIN)
        } else if let TypeKind::Represented { base, by } = &ty.kind {
            (*base, *by)
        } else {
            let kind = TypeKind::Unsupported(Cow::Borrowed("DW_AT_endianity"));
            return self.add_derived(id, Type { kind, ..ty });
        };
        let by = Representation {
            big_endian: true,
            ..by
        };
        let name = name.or(ty.name);
        let kind = TypeKind::Represented { base, by };
        self.add_derived(id, Type { name, kind, ..ty })
    }

    /// Adds a type and gives it a number.
    pub fn add(&mut self, ty: Type) -> TypeId {
        self.has_unsupported |= matches!(ty.kind, TypeKind::Unsupported(_));
        let id = TypeId(u32::try_from(self.types.len()).unwrap_or(u32::MAX));
        self.types.push(ty);
        id
    }

    /// Adds a type derived from another one, unless it exists already: each stopped wave derives the same types.
    pub(crate) fn add_derived(&mut self, from: TypeId, ty: Type) -> TypeId {
        /// An array has one derived type for each length so far. Only the last ones are compared.
        const LAST: usize = 16;
        let known = self.derived.get(&from).map_or(&[][..], Vec::as_slice);
        let mut last = known.iter().rev().take(LAST);
        if let Some(id) = last.find(|id| *self.get(**id) == ty) {
            return *id;
        }
        let id = self.add(ty);
        if let Some(constants) = self.constants.get(&from).cloned() {
            self.constants.insert(id, constants);
        }
        self.derived.entry(from).or_default().push(id);
        id
    }

    /// Replaces a type whose number was assigned before the type was read.
    pub fn set(&mut self, id: TypeId, ty: Type) {
        // The names of other types may contain its name.
        self.names.clear();
        self.with_computed.clear();
        if let Some(slot) = self.types.get_mut(id.0 as usize) {
            self.has_unsupported |= matches!(ty.kind, TypeKind::Unsupported(_));
            *slot = ty;
        }
    }

    /// Returns the entry of a record's constant static data member with this name. Base classes are left to the caller.
    pub(crate) fn constant_member(&self, record: TypeId, name: &str) -> Option<DieId> {
        let mut members = self.constants.get(&record)?.iter();
        members
            .find(|member| &*member.name == name)
            .map(|member| member.entry)
    }

    /// Records the constant static data members of a record.
    pub(super) fn set_constants(&mut self, record: TypeId, members: Vec<StaticMember>) {
        if !members.is_empty() {
            self.constants.insert(record, members);
        }
    }

    /// Records a lower bound of an array that contradicts its language.
    pub(super) fn note_wrong_lower_bound(&mut self, bound: i64) {
        self.wrong_lower_bound.get_or_insert(bound);
    }

    /// Returns the lower bound of the first array read whose bound contradicts its language. The indices of its elements follow the language.
    #[must_use]
    pub fn wrong_lower_bound(&self) -> Option<i64> {
        self.wrong_lower_bound
    }

    /// Returns the type that was read from this entry, if it was.
    #[must_use]
    pub fn number_of(&self, entry: DieId) -> Option<TypeId> {
        self.by_entry.get(&entry).copied()
    }

    /// Records the entry from which a type is read.
    pub(super) fn remember(&mut self, entry: DieId, id: TypeId) {
        self.by_entry.insert(entry, id);
    }

    /// Undoes [`remember`](TypeTable::remember) for an entry that could not be read.
    pub(super) fn forget(&mut self, entry: DieId) {
        self.by_entry.remove(&entry);
    }

    /// `void`.
    pub(crate) fn void(&mut self) -> TypeId {
        if let Some(id) = self.void {
            return id;
        }
        let id = self.add(Type {
            name: None,
            byte_size: None,
            kind: TypeKind::Void,
        });
        self.void = Some(id);
        id
    }

    /// Returns the `...` of variadic functions.
    pub(super) fn ellipsis(&mut self) -> TypeId {
        if let Some(id) = self.ellipsis {
            return id;
        }
        let id = self.add(Type {
            name: Some("...".to_owned()),
            byte_size: None,
            kind: TypeKind::Unspecified,
        });
        self.ellipsis = Some(id);
        id
    }
}
