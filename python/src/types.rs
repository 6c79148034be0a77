//! Types as a tree.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pyo3::prelude::*;

use hetdwarf::debug_info::type_name;
use hetdwarf::debug_info::types::{
    Member as LibraryMember, PointerKind, RecordKind, TypeId, TypeKind, TypeTable,
};

use crate::dtype::Layout;
use crate::text::shown;
use crate::value::{self, DEPTH};

/// A type.
#[pyclass(frozen, module = "hetdwarf")]
pub struct Type {
    types: Arc<TypeTable>,
    id: TypeId,
    name: Option<String>,
}

impl Type {
    pub fn new(types: &Arc<TypeTable>, id: TypeId) -> Type {
        Type {
            types: Arc::clone(types),
            id,
            name: None,
        }
    }

    pub fn named(types: &Arc<TypeTable>, id: TypeId, name: String) -> Type {
        Type {
            name: Some(name),
            ..Type::new(types, id)
        }
    }

    /// Returns the type under its own name.
    pub fn again(&self) -> Type {
        Type::new(&self.types, self.id)
    }

    fn other(&self, id: TypeId) -> Type {
        Type::new(&self.types, id)
    }

    /// Its kind without typedefs and qualifiers.
    fn resolved(&self) -> &TypeKind {
        let mut id = self.id;
        // Typedefs of a damaged file may go in a circle.
        for _ in 0..DEPTH {
            match &self.types.get(id).kind {
                TypeKind::Typedef(target) | TypeKind::Qualified(_, target) => id = *target,
                _ => break,
            }
        }
        &self.types.get(id).kind
    }

    fn parts(&self, bases: bool) -> Vec<Member> {
        let members = value::record(&self.types, self.id).unwrap_or_default();
        let members = members.iter().filter(|member| member.is_base == bases);
        members.map(|member| Member::new(self, member)).collect()
    }

    /// What types that are equal have in common.
    fn key(&self) -> (String, &'static str, Option<u64>) {
        (type_name(&self.types, self.id), self.kind(), self.size())
    }
}

#[pymethods]
impl Type {
    /// The name, as C writes it.
    #[getter]
    fn name(&self) -> String {
        self.name
            .clone()
            .unwrap_or_else(|| type_name(&self.types, self.id))
    }

    /// The size in bytes; None if it is not a constant.
    #[getter]
    fn size(&self) -> Option<u64> {
        let found = self.types.get(self.id).byte_size;
        found.or_else(|| Some(hetdwarf::display::size_in_bits(&self.types, self.id)? / 8))
    }

    /// `base`, `pointer`, `reference`, `rvalue-reference`, `member-pointer`, `array`, `struct`, `class`, `union`, `enum`, `typedef`,
    /// `qualified`, `function`, `variants`, `void` or `other`.
    #[getter]
    fn kind(&self) -> &'static str {
        match &self.types.get(self.id).kind {
            TypeKind::Base(_) | TypeKind::Represented { .. } => "base",
            TypeKind::Pointer { kind, .. } => match kind {
                PointerKind::Reference => "reference",
                PointerKind::RvalueReference => "rvalue-reference",
                _ => "pointer",
            },
            TypeKind::MemberPointer { .. } => "member-pointer",
            TypeKind::Array { .. } => "array",
            TypeKind::Record { kind, .. } => match kind {
                RecordKind::Class => "class",
                RecordKind::Union => "union",
                _ => "struct",
            },
            TypeKind::Enumeration { .. } => "enum",
            TypeKind::Typedef(_) => "typedef",
            TypeKind::Qualified(..) => "qualified",
            TypeKind::Function { .. } => "function",
            TypeKind::Variants { .. } => "variants",
            TypeKind::Void => "void",
            _ => "other",
        }
    }

    /// What `numpy.dtype` takes for values of the type: `<i4` for example, a dictionary for a structure, a dtype and its dimensions
    /// for an array; None if numpy has no dtype of the same bytes.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let dtype = Layout::new(&self.types, self.id).whole();
        dtype.map(|dtype| dtype.to_python(py)).transpose()
    }

    /// What a typedef, a pointer, an array, a qualified type or an enumeration is made of; None of others.
    #[getter]
    fn target(&self) -> Option<Type> {
        match &self.types.get(self.id).kind {
            TypeKind::Typedef(target)
            | TypeKind::Qualified(_, target)
            | TypeKind::Pointer { target, .. }
            | TypeKind::MemberPointer { target, .. }
            | TypeKind::Array {
                element: target, ..
            }
            | TypeKind::Enumeration {
                underlying: target, ..
            } => Some(self.other(*target)),
            _ => None,
        }
    }

    /// The data members of a structure, class or union, also of a typedef of one; empty of others.
    #[getter]
    fn members(&self) -> Vec<Member> {
        self.parts(false)
    }

    /// The base classes, as members; empty if there are none.
    #[getter]
    fn bases(&self) -> Vec<Member> {
        self.parts(true)
    }

    /// The type of the elements of an array or a vector; None of others.
    #[getter]
    fn element(&self) -> Option<Type> {
        let TypeKind::Array { element, .. } = self.resolved() else {
            return None;
        };
        Some(self.other(*element))
    }

    /// How many elements an array has in each dimension, the slowest-varying first; None for one that is not a constant. Empty of others.
    #[getter]
    fn dimensions(&self) -> Vec<Option<u64>> {
        let TypeKind::Array { dimensions, .. } = self.resolved() else {
            return Vec::new();
        };
        dimensions.iter().map(|dimension| dimension.count).collect()
    }

    /// The names and values of an enumeration; empty of others.
    #[getter]
    fn enumerators(&self) -> Vec<(String, i128)> {
        let TypeKind::Enumeration { enumerators, .. } = self.resolved() else {
            return Vec::new();
        };
        let pairs = enumerators.iter();
        pairs.map(|one| (one.name.clone(), one.value)).collect()
    }

    /// What a pointer or reference points to; None of others.
    #[getter]
    fn pointee(&self) -> Option<Type> {
        let (TypeKind::Pointer { target, .. } | TypeKind::MemberPointer { target, .. }) =
            self.resolved()
        else {
            return None;
        };
        Some(self.other(*target))
    }

    /// The address space that a pointer or reference points into, `none` for the default one; None of others.
    #[getter]
    fn address_space(&self) -> Option<&'static str> {
        let TypeKind::Pointer { address_space, .. } = self.resolved() else {
            return None;
        };
        Some(address_space.name())
    }

    fn __eq__(&self, other: &Type) -> bool {
        let is_same = Arc::ptr_eq(&self.types, &other.types) && self.id == other.id;
        is_same || self.key() == other.key()
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.key().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        shown(&format!("<Type {}>", self.name()))
    }
}

/// A member or a base class of a type.
#[pyclass(frozen, module = "hetdwarf")]
pub struct Member {
    /// Its name; None of an anonymous structure or union.
    #[pyo3(get)]
    name: Option<String>,
    ty: Type,
    /// The byte of the record that it starts in; None if that is not a constant.
    #[pyo3(get)]
    offset: Option<u64>,
    /// The bit of the record that it starts at; None if that is not a constant.
    #[pyo3(get)]
    bit_offset: Option<u64>,
    /// The size of a bit-field in bits; None of any other member.
    #[pyo3(get)]
    bit_size: Option<u64>,
}

impl Member {
    fn new(of: &Type, member: &LibraryMember) -> Member {
        Member {
            name: member.name.clone(),
            ty: of.other(member.ty),
            offset: member.bit_offset.map(|bits| bits / 8),
            bit_offset: member.bit_offset,
            bit_size: member.bit_size,
        }
    }
}

#[pymethods]
impl Member {
    /// Its type.
    #[getter(r#type)]
    fn ty(&self) -> Type {
        self.ty.again()
    }

    fn __repr__(&self) -> String {
        let name = self.name.as_deref().unwrap_or("(anonymous)");
        shown(&format!("<Member {} {name}>", self.ty.name()))
    }
}
