//! Types, as a debugger shows them: a table of plain data, read from the entries once.
//!
//! A [`Type`] refers to others by [`TypeId`], so that types that contain themselves need no recursion
//! to hold. Which attributes change what the bytes of a value mean, and which of them are understood, is in
//! [`type_attribute`](super::type_attribute).
//! Sources: DWARF 5 §5; HET A.5; USAGE "Memory Space Identifier", "Address Space Identifier".

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::id::{DieId, UnitId};
use crate::arch::{AddressSpace, MemorySpace};
use crate::eval::BaseType;

/// What compilers call the type of `nullptr`: clang and gcc, and the name in the standard of C++.
pub(super) const NULL_POINTER_TYPES: &[&str] =
    &["decltype(nullptr)", "std::nullptr_t", "nullptr_t"];

/// How many typedefs, qualifiers and arrays may lie between a type and what it stands for.
pub(super) const HOPS: usize = 256;

/// The number of a type in its [`TypeTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

/// A type.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The name in the source without any `struct` or `enum`, with the namespaces and classes it is in
    /// (`geom::Point`). `None` for types that are written in terms of others (pointers, arrays) or are
    /// anonymous.
    pub name: Option<String>,
    /// The size, in bytes, where it is known without evaluating anything.
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
    /// A base type, or a subrange of one, whose bits lie in another way in the bytes, or do not spell the
    /// value itself.
    Represented {
        /// What the bits are once they are in order.
        base: BaseType,
        /// How they lie, and how the value is made from them.
        by: Representation,
    },
    /// A pointer or reference.
    Pointer {
        /// Which of the three.
        kind: PointerKind,
        /// What it points to.
        target: TypeId,
        /// Where the address points: `DW_AT_LLVM_address_space`, else what `DW_AT_address_class` of LLVM
        /// and clang means, else the default space.
        address_space: AddressSpace,
        /// The source language's memory space (`DW_AT_LLVM_memory_space`).
        memory_space: MemorySpace,
    },
    /// An array, or a vector (`DW_AT_GNU_vector`).
    Array {
        /// The element's type.
        element: TypeId,
        /// Dimensions, the slowest-varying first, as C writes them; those of an array in column-major order
        /// (`DW_AT_ordering`, or Fortran) are turned round. An array with a stride of a dimension is an array
        /// of arrays here, of one dimension each.
        dimensions: Vec<Dimension>,
        /// Size of an entry in bits, where it is not the element's size (`DW_AT_byte_stride`,
        /// `DW_AT_bit_stride`). An element that is larger than its entry is cut to that; one that is smaller
        /// is at the start of its entry.
        stride_in_bits: Option<u64>,
        /// True if it is a vector type.
        vector: bool,
    },
    /// A structure, class or union.
    Record {
        /// Which of the three.
        kind: RecordKind,
        /// Base classes and data members, in the order of the entries. A variant part is a member without a
        /// name whose type is [`Variants`](TypeKind::Variants).
        members: Vec<Member>,
    },
    /// The variant part of a record (`DW_TAG_variant_part`): of several lists of members, one is present.
    /// Offsets count from the start of the record.
    Variants {
        /// The member that tells which. `None` if there is just one variant, or no member tells.
        discriminant: Option<Box<Member>>,
        /// The variants, in the order of the entries.
        variants: Vec<Variant>,
    },
    /// An enumeration.
    Enumeration {
        /// Its integer type (`DW_AT_type`).
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
        /// What it returns.
        result: TypeId,
        /// What it takes. What may follow the named parameters of a variadic function is one more, of a
        /// type [`Unspecified`](TypeKind::Unspecified) with the name `...`.
        parameters: Vec<TypeId>,
    },
    /// A pointer to a member of a class.
    MemberPointer {
        /// The class.
        class: TypeId,
        /// The member's type.
        target: TypeId,
    },
    /// `DW_TAG_unspecified_type`, `decltype(nullptr)` for example; and a type that is missing or malformed,
    /// which has no name.
    Unspecified,
    /// A type with an attribute or of a tag that changes what the bytes mean and is not understood, so that
    /// no value of it can be shown. It is that attribute's or tag's name, `DW_AT_picture_string` for example.
    Unsupported(Cow<'static, str>),
}

/// The layout of a base type's bits in its bytes, and the computation of its value.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Representation {
    /// True if the most significant byte comes first (`DW_AT_endianity`). The bits of a byte are then counted
    /// from its highest one, also where a bit-field starts.
    pub big_endian: bool,
    /// Where the value starts in the bytes, in bits (`DW_AT_data_bit_offset`); it does not count for a
    /// bit-field, which has a place of its own.
    pub bit_offset: u32,
    /// The bias that is added to the number (`DW_AT_GNU_bias`).
    pub bias: i128,
    /// The scale by which the sum is multiplied.
    pub scale: Scale,
}

impl Representation {
    /// That of a plain base type.
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
    /// The ranges of discriminants that choose it, both ends included. `None` for the default variant, which
    /// is present if no other is.
    pub choices: Option<Vec<(i128, i128)>>,
    /// Its members.
    pub members: Vec<Member>,
}

/// Pointer, or one of the references of C++.
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

/// Structure, class or union.
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
    /// Creates a dimension with this many elements from index 0. `None` if their number is not a constant.
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
    /// Distance from the start of the record, in bits; nothing when it is not a constant (a virtual base).
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
    /// The name of a value.
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

/// All types that were asked for, each once.
///
/// A table belongs to one [`DebugInfo`](super::DebugInfo): the entries of another one would be mistaken
/// for its own.
#[derive(Clone, Debug, Default)]
pub struct TypeTable {
    types: Vec<Type>,
    by_entry: BTreeMap<DieId, TypeId>,
    void: Option<TypeId>,
    ellipsis: Option<TypeId>,
    /// Types that were made of another one, by that one.
    derived: BTreeMap<TypeId, Vec<TypeId>>,
    /// Static data members that are constants, by the record that they are in.
    constants: BTreeMap<TypeId, Vec<StaticMember>>,
    /// The entries of types whose layout is found out at run time.
    pub(super) computed: BTreeMap<TypeId, DieId>,
    /// Whether such a type is a part of others, and the unit of its entry; of those that were asked for.
    pub(super) with_computed: BTreeMap<TypeId, Option<UnitId>>,
    /// A lower bound of an array that contradicts its language, the first one.
    wrong_lower_bound: Option<i64>,
    /// Names that were asked for, by the numbers of the types.
    pub(super) names: Vec<Option<Arc<str>>>,
    /// True if any type was ever [`TypeKind::Unsupported`]; hardly any is.
    pub(super) has_unsupported: bool,
}

impl Type {
    /// Creates a type that is in no file: `name` as in the source, if it has one, and its size in bytes, if that is a constant.
    #[must_use]
    pub const fn new(name: Option<String>, byte_size: Option<u64>, kind: TypeKind) -> Type {
        Type {
            name,
            byte_size,
            kind,
        }
    }

    /// Returns a type of which nothing is known.
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
    /// Returns the type with this number; [`TypeKind::Void`] if the number is from another table.
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

    /// Returns how many types it has.
    pub(super) fn len(&self) -> usize {
        self.types.len()
    }

    /// Returns true if the bits of a number of this type, if it is one, are in its bytes as in those of a plain type.
    pub(crate) fn is_in_order(&self, id: TypeId) -> bool {
        if let TypeKind::Represented { by, .. } = &self.resolved(id).kind {
            !by.big_endian && by.bit_offset == 0
        } else {
            true
        }
    }

    /// Returns the type of an object whose entry says that its bytes are in big-endian order (`DW_AT_endianity`): base
    /// types can be in either; others are unsupported.
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

    /// Adds a type that is made of another one, if it was not before: each wave that stops makes the same ones.
    pub(crate) fn add_derived(&mut self, from: TypeId, ty: Type) -> TypeId {
        /// An array has as many as it has had lengths; the last are looked at.
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

    /// Replaces a type whose number was given out before it was read.
    pub fn set(&mut self, id: TypeId, ty: Type) {
        // The names of others may have its name in them.
        self.names.clear();
        self.with_computed.clear();
        if let Some(slot) = self.types.get_mut(id.0 as usize) {
            self.has_unsupported |= matches!(ty.kind, TypeKind::Unsupported(_));
            *slot = ty;
        }
    }

    /// Returns the entry of the static data member of a record that is a constant and has this name. Base classes are left to the
    /// caller.
    pub(crate) fn constant_member(&self, record: TypeId, name: &str) -> Option<DieId> {
        let mut members = self.constants.get(&record)?.iter();
        members
            .find(|member| &*member.name == name)
            .map(|member| member.entry)
    }

    /// Notes the static data members of a record that are constants.
    pub(super) fn set_constants(&mut self, record: TypeId, members: Vec<StaticMember>) {
        if !members.is_empty() {
            self.constants.insert(record, members);
        }
    }

    /// Notes a lower bound of an array that contradicts its language.
    pub(super) fn note_wrong_lower_bound(&mut self, bound: i64) {
        self.wrong_lower_bound.get_or_insert(bound);
    }

    /// Returns the lower bound that an array is said to have although its language has no arrays with such a bound, of the first such
    /// array that was read. The indices of its elements are those of the language.
    #[must_use]
    pub fn wrong_lower_bound(&self) -> Option<i64> {
        self.wrong_lower_bound
    }

    /// Returns the type that was read from this entry, if it was.
    #[must_use]
    pub fn number_of(&self, entry: DieId) -> Option<TypeId> {
        self.by_entry.get(&entry).copied()
    }

    /// Notes which entry a type is read from.
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
