//! Provides types as a tree.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pyo3::prelude::*;

use hetdwarf::debug_info::type_name;
use hetdwarf::debug_info::types::{Member as LibraryMember, TypeId, TypeKind, TypeTable};
use hetdwarf::display::size_in_bytes;

use crate::dtype::Layout;
use crate::text::shown;

/// A type.
///
/// ```python
/// >>> [rec] = obj.types("Rec")
/// >>> rec.kind, [(member.name, member.type.name, member.offset) for member in rec.members][:2]
/// ('typedef', [('x', 'int', 0), ('y', 'float[3]', 4)])
/// >>> rec.members[1].type.element, rec.members[1].type.dimensions
/// (<Type float>, [3])
///
/// ```
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

    /// Returns the kind without typedefs and qualifiers.
    fn resolved(&self) -> &TypeKind {
        &self.types.resolved(self.id).kind
    }

    fn parts(&self, bases: bool) -> Vec<Member> {
        let members = self.resolved().members().iter();
        let members = members.filter(|member| member.is_base == bases);
        members.map(|member| Member::new(self, member)).collect()
    }

    /// Returns the key by which types are compared.
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
        size_in_bytes(&self.types, self.id)
    }

    /// `void`, `base`, `pointer`, `reference`, `rvalue-reference`, `member-pointer`, `array`, `struct`, `class`, `union`, `enum`, `typedef`,
    /// `qualified`, `function`, `variants` (the variant part of a structure), `unspecified` or `unsupported`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.types.get(self.id).kind.name()
    }

    /// The argument of `numpy.dtype` for values of the type: for example `<i4`, a dictionary for a structure, or a dtype and dimensions for
    /// an array. None if no numpy dtype has the same bytes.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let dtype = Layout::new(&self.types, self.id).whole();
        dtype.map(|dtype| dtype.to_python(py)).transpose()
    }

    /// The underlying type of a typedef, qualified type or enumeration, the target of a pointer, the element type of an array, or the
    /// return type of a function. None for other types.
    #[getter]
    fn target(&self) -> Option<Type> {
        let target = self.types.get(self.id).kind.target();
        target.map(|target| self.other(target))
    }

    /// The data members of a structure, class or union, also through typedefs; empty for other types.
    #[getter]
    fn members(&self) -> Vec<Member> {
        self.parts(false)
    }

    /// The base classes, as members; empty if there are none.
    #[getter]
    fn bases(&self) -> Vec<Member> {
        self.parts(true)
    }

    /// The element type of an array or a vector; None for other types.
    #[getter]
    fn element(&self) -> Option<Type> {
        let TypeKind::Array { element, .. } = self.resolved() else {
            return None;
        };
        Some(self.other(*element))
    }

    /// The number of elements of an array in each dimension, the slowest-varying first; None for a dimension that is not a constant. Empty
    /// for other types.
    #[getter]
    fn dimensions(&self) -> Vec<Option<u64>> {
        let dimensions = self.resolved().dimensions().iter();
        dimensions.map(|dimension| dimension.count).collect()
    }

    /// The names and values of an enumeration; empty for other types.
    #[getter]
    fn enumerators(&self) -> Vec<(String, i128)> {
        let pairs = self.resolved().enumerators().iter();
        pairs.map(|one| (one.name.clone(), one.value)).collect()
    }

    /// The types of a function's parameters; empty for other types.
    #[getter]
    fn parameters(&self) -> Vec<Type> {
        let parameters = self.resolved().parameters().iter();
        parameters.map(|id| self.other(*id)).collect()
    }

    /// The variants of a variant part, of which one is present; empty for other types. A variant part is the type of a member without a
    /// name.
    #[getter]
    fn variants(&self) -> Vec<Variant> {
        let (_, variants) = self.resolved().variants();
        let variants = variants.iter().map(|variant| Variant {
            choices: variant.choices.clone(),
            members: variant.members.clone(),
            of: self.again(),
        });
        variants.collect()
    }

    /// The member that selects the variant; None if there is none, and for other types.
    #[getter]
    fn discriminant(&self) -> Option<Member> {
        let (discriminant, _) = self.resolved().variants();
        discriminant.map(|member| Member::new(self, member))
    }

    /// The target of a pointer or reference; None for other types.
    #[getter]
    fn pointee(&self) -> Option<Type> {
        let (TypeKind::Pointer { target, .. } | TypeKind::MemberPointer { target, .. }) =
            self.resolved()
        else {
            return None;
        };
        Some(self.other(*target))
    }

    /// The address space that a pointer or reference points into, `none` for the default one; None for other types.
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
    /// The name; None for an anonymous structure or union.
    #[pyo3(get)]
    name: Option<String>,
    ty: Type,
    /// The byte of the record at which the member starts; None if it is not a constant.
    #[pyo3(get)]
    offset: Option<u64>,
    /// The bit of the record at which the member starts; None if it is not a constant.
    #[pyo3(get)]
    bit_offset: Option<u64>,
    /// The size of a bit-field in bits; None for any other member.
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
    /// The type of the member.
    #[getter(r#type)]
    fn ty(&self) -> Type {
        self.ty.again()
    }

    fn __repr__(&self) -> String {
        let name = self.name.as_deref().unwrap_or("(anonymous)");
        shown(&format!("<Member {} {name}>", self.ty.name()))
    }
}

/// One of the variants of a variant part.
#[pyclass(frozen, module = "hetdwarf")]
pub struct Variant {
    /// The inclusive ranges of discriminants that select the variant; None for the variant that is present if no other is.
    #[pyo3(get)]
    choices: Option<Vec<(i128, i128)>>,
    members: Vec<LibraryMember>,
    of: Type,
}

#[pymethods]
impl Variant {
    /// The members of the variant. Offsets are relative to the start of the structure.
    #[getter]
    fn members(&self) -> Vec<Member> {
        let members = self.members.iter();
        members
            .map(|member| Member::new(&self.of, member))
            .collect()
    }

    fn __repr__(&self) -> String {
        let names = self
            .members
            .iter()
            .map(|member| member.name.as_deref().unwrap_or("?"));
        shown(&format!(
            "<Variant {}>",
            names.collect::<Vec<_>>().join(", ")
        ))
    }
}
