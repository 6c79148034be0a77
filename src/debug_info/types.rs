//! Types, as a debugger shows them: a table of plain data, read from the entries once.
//!
//! A [`Type`] refers to others by [`TypeId`], so that types that contain themselves need no recursion
//! to hold. Sources: DWARF 5 §5; HET A.5; USAGE "Memory Space Identifier", "Address Space Identifier".

use std::collections::BTreeMap;

use super::die::DieId;
use crate::arch::{AddressSpace, MemorySpace};
use crate::eval::BaseType;

/// The number of a type in its [`TypeTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The name in the source without any `struct` or `enum`, with the namespaces and classes it is in
    /// (`geom::Point`); nothing for types that are written in terms of others (pointers, arrays) or are
    /// anonymous.
    pub name: Option<String>,
    /// The size, in bytes, where it is known without evaluating anything.
    pub byte_size: Option<u64>,
    /// What kind of type it is.
    pub kind: TypeKind,
}

/// What kind of type it is, with what belongs to that kind.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// `void`.
    Void,
    /// An integer, float, character or vector of them (`DW_TAG_base_type`).
    Base(BaseType),
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
        /// Dimensions, the slowest-varying first, as C writes them.
        dimensions: Vec<Dimension>,
        /// Distance of elements in bits, where it is not the element's size (`DW_AT_byte_stride`, `DW_AT_bit_stride`).
        stride_in_bits: Option<u64>,
        /// Whether it is a vector type.
        vector: bool,
    },
    /// A structure, class or union.
    Record {
        /// Which of the three.
        kind: RecordKind,
        /// Base classes and data members, in the order of the entries.
        members: Vec<Member>,
    },
    /// An enumeration.
    Enumeration {
        /// The integer type behind it.
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
    /// `DW_TAG_unspecified_type`, `decltype(nullptr)` for example; kinds this crate does not read; and a
    /// type that is missing or malformed.
    Unspecified,
}

/// Pointer, or one of the references of C++.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The first index.
    pub lower_bound: i64,
    /// How many elements; nothing when it is not a constant.
    pub count: Option<u64>,
}

/// A data member or a base class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name; nothing for an anonymous structure or union.
    pub name: Option<String>,
    /// The type.
    pub ty: TypeId,
    /// Distance from the start of the record, in bits; nothing when it is not a constant (a virtual base).
    pub bit_offset: Option<u64>,
    /// The size of a bit-field, in bits; nothing for any other member.
    pub bit_size: Option<u64>,
    /// Whether it is a base class.
    pub is_base: bool,
}

/// One name of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enumerator {
    /// The name.
    pub name: String,
    /// The value.
    pub value: i128,
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
}

impl Type {
    /// A type of which nothing is known.
    pub(super) const fn unspecified() -> Type {
        Type {
            name: None,
            byte_size: None,
            kind: TypeKind::Unspecified,
        }
    }
}

impl TypeTable {
    /// The type with this number; [`TypeKind::Void`] if the number is from another table.
    #[must_use]
    pub fn get(&self, id: TypeId) -> &Type {
        const VOID: &Type = &Type {
            name: None,
            byte_size: None,
            kind: TypeKind::Void,
        };
        self.types.get(id.0 as usize).unwrap_or(VOID)
    }

    /// Adds a type and gives it a number.
    pub fn add(&mut self, ty: Type) -> TypeId {
        let id = TypeId(u32::try_from(self.types.len()).unwrap_or(u32::MAX));
        self.types.push(ty);
        id
    }

    /// Replaces a type whose number was given out before it was read.
    pub fn set(&mut self, id: TypeId, ty: Type) {
        if let Some(slot) = self.types.get_mut(id.0 as usize) {
            *slot = ty;
        }
    }

    /// The type that was read from this entry, if it was.
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
    pub(super) fn void(&mut self) -> TypeId {
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

    /// The `...` of variadic functions.
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
