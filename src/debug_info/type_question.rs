//! Answers queries about a single type: its kind, target, members and elements.
//!
//! Names are left to [`type_name`](super::type_name()), sizes to [`size_in_bytes`](crate::display::size_in_bytes). Source: DWARF 5 §5.

use super::types::{Dimension, Enumerator, Member};
use super::types::{HOPS, PointerKind, RecordKind, Type, TypeId, TypeKind, TypeTable, Variant};

impl TypeKind {
    /// The names of all kinds.
    pub const NAMES: [&'static str; 17] = [
        "void",
        "base",
        "pointer",
        "reference",
        "rvalue-reference",
        "member-pointer",
        "array",
        "struct",
        "class",
        "union",
        "enum",
        "typedef",
        "qualified",
        "function",
        "variants",
        "unspecified",
        "unsupported",
    ];

    /// Returns the name of the kind, one of [`NAMES`](TypeKind::NAMES).
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            TypeKind::Void => "void",
            TypeKind::Base(_) | TypeKind::Represented { .. } => "base",
            TypeKind::Pointer { kind, .. } => match kind {
                PointerKind::Pointer => "pointer",
                PointerKind::Reference => "reference",
                PointerKind::RvalueReference => "rvalue-reference",
            },
            TypeKind::MemberPointer { .. } => "member-pointer",
            TypeKind::Array { .. } => "array",
            TypeKind::Record { kind, .. } => match kind {
                RecordKind::Structure => "struct",
                RecordKind::Class => "class",
                RecordKind::Union => "union",
            },
            TypeKind::Enumeration { .. } => "enum",
            TypeKind::Typedef(_) => "typedef",
            TypeKind::Qualified(..) => "qualified",
            TypeKind::Function { .. } => "function",
            TypeKind::Variants { .. } => "variants",
            TypeKind::Unspecified => "unspecified",
            TypeKind::Unsupported(_) => "unsupported",
        }
    }

    /// Returns the target of a typedef, qualified type, pointer, array or enumeration, or the result type of a function. Returns `None` for other
    /// types.
    #[must_use]
    pub const fn target(&self) -> Option<TypeId> {
        match self {
            TypeKind::Typedef(target)
            | TypeKind::Qualified(_, target)
            | TypeKind::Pointer { target, .. }
            | TypeKind::MemberPointer { target, .. }
            | TypeKind::Array {
                element: target, ..
            }
            | TypeKind::Enumeration {
                underlying: target, ..
            }
            | TypeKind::Function { result: target, .. } => Some(*target),
            TypeKind::Void
            | TypeKind::Base(_)
            | TypeKind::Represented { .. }
            | TypeKind::Record { .. }
            | TypeKind::Variants { .. }
            | TypeKind::Unspecified
            | TypeKind::Unsupported(_) => None,
        }
    }

    /// Returns the members and base classes of a structure, class or union, or an empty slice for other types.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        if let TypeKind::Record { members, .. } = self {
            members
        } else {
            &[]
        }
    }

    /// Returns the variants of a variant part, with the member that selects one. Returns an empty slice for other types.
    #[must_use]
    pub fn variants(&self) -> (Option<&Member>, &[Variant]) {
        if let TypeKind::Variants {
            discriminant,
            variants,
        } = self
        {
            (discriminant.as_deref(), variants)
        } else {
            (None, &[])
        }
    }

    /// Returns the dimensions of an array, slowest-varying first, or an empty slice for other types.
    #[must_use]
    pub fn dimensions(&self) -> &[Dimension] {
        if let TypeKind::Array { dimensions, .. } = self {
            dimensions
        } else {
            &[]
        }
    }

    /// Returns the names and values of an enumeration, or an empty slice for other types.
    #[must_use]
    pub fn enumerators(&self) -> &[Enumerator] {
        if let TypeKind::Enumeration { enumerators, .. } = self {
            enumerators
        } else {
            &[]
        }
    }

    /// Returns the types of a function's parameters, or an empty slice for other types.
    #[must_use]
    pub fn parameters(&self) -> &[TypeId] {
        if let TypeKind::Function { parameters, .. } = self {
            parameters
        } else {
            &[]
        }
    }
}

impl TypeTable {
    /// Returns a type without typedefs and qualifiers. In a damaged file they may form a cycle. It then returns a type on the cycle.
    #[must_use]
    pub fn resolved(&self, id: TypeId) -> &Type {
        let mut ty = self.get(id);
        for _ in 0..HOPS {
            let (TypeKind::Typedef(target) | TypeKind::Qualified(_, target)) = ty.kind else {
                break;
            };
            ty = self.get(target);
        }
        ty
    }
}
