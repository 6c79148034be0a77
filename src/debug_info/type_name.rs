//! Formats the names of types in C syntax.
//!
//! It follows debuggers: `int *`, `const char *`, `int (*)(int, ...)`, `float[3][4]`. A record or enumeration has its bare name without scopes; an
//! anonymous one is `struct {...}`. `dump` follows llvm-dwarfdump instead, which places qualifiers and spaces differently. Source: DWARF 5 §5.

use std::sync::Arc;

use super::types::{Dimension, PointerKind, Qualifier, RecordKind, TypeId, TypeKind, TypeTable};

/// The maximum nesting of types in one name, and the maximum length of a name before it is truncated.
const DEPTH: usize = 64;
const LENGTH: usize = 1 << 14;

/// Formats the name of a type in C syntax. A name that nests too deep or gets too long ends in `...`.
#[must_use]
pub fn type_name(table: &TypeTable, ty: TypeId) -> String {
    Namer {
        table,
        left: LENGTH,
    }
    .name(ty, DEPTH)
}

/// Counts the brackets at the end of a type's name that a C declaration puts after the variable's name: the brackets of an array.
///
/// Brackets in type names of other languages, such as Zig's `[]i16`, belong to the name. For an array of pointers to arrays or functions, the
/// brackets are within the name, so the count is 0.
#[cfg(any(feature = "serde", test))]
pub(crate) fn brackets_after_name(table: &TypeTable, ty: TypeId) -> usize {
    let mut next = ty;
    let mut count = 0usize;
    let mut is_outermost = true;
    for _ in 0..DEPTH {
        let ty = table.get(next);
        next = match &ty.kind {
            TypeKind::Qualified(_, target) => *target,
            TypeKind::Typedef(target) if ty.name.is_none() => *target,
            TypeKind::Array {
                element,
                dimensions,
                ..
            } if is_outermost => {
                count = count.saturating_add(dimensions.len().max(1));
                *element
            }
            TypeKind::Pointer { target, .. } | TypeKind::MemberPointer { target, .. } => {
                is_outermost = false;
                *target
            }
            TypeKind::Array { .. } | TypeKind::Function { .. } => return 0,
            TypeKind::Void
            | TypeKind::Base(_)
            | TypeKind::Represented { .. }
            | TypeKind::Record { .. }
            | TypeKind::Variants { .. }
            | TypeKind::Enumeration { .. }
            | TypeKind::Typedef(_)
            | TypeKind::Unspecified
            | TypeKind::Unsupported(_) => return count,
        };
    }
    0
}

impl TypeTable {
    /// Returns [`type_name`], and keeps the result if it is as short as usual.
    pub(crate) fn name_of(&mut self, ty: TypeId) -> Arc<str> {
        const LONGEST: usize = 256;
        let index = ty.0 as usize;
        if let Some(Some(known)) = self.names.get(index) {
            return Arc::clone(known);
        }
        let name: Arc<str> = type_name(self, ty).into();
        if name.len() <= LONGEST {
            if self.names.len() < self.len() {
                self.names.resize(self.len(), None);
            }
            // A number of another table has no slot.
            if let Some(slot) = self.names.get_mut(index) {
                *slot = Some(Arc::clone(&name));
            }
        }
        name
    }
}

struct Namer<'t> {
    table: &'t TypeTable,
    /// The number of characters that may still be written, over all parts.
    left: usize,
}

impl Namer<'_> {
    /// Walks from the outside of a type to its inside, as a C declaration is read from the name outwards. A pointer to an array becomes `(*)[4]`
    /// around the name of the element.
    fn name(&mut self, ty: TypeId, depth: usize) -> String {
        let table = self.table;
        // The text at the variable's position, and the qualifiers of a type that is still to come.
        let mut declarator = String::new();
        let mut waiting: Vec<Qualifier> = Vec::new();
        let mut next = ty;
        let mut space = false;
        // True if the previous type was a pointer to a member.
        let mut of_member = false;
        for _ in 0..depth {
            let ty = table.get(next);
            match &ty.kind {
                TypeKind::Qualified(qualifier, target) => {
                    if !waiting.contains(qualifier) {
                        waiting.push(*qualifier);
                    }
                    next = *target;
                    continue;
                }
                // A subrange written at its place of use, in Ada for example.
                TypeKind::Typedef(target) if ty.name.is_none() => {
                    next = *target;
                    continue;
                }
                TypeKind::Pointer { kind, target, .. } => {
                    let sign = match kind {
                        PointerKind::Pointer => "*",
                        PointerKind::Reference => "&",
                        PointerKind::RvalueReference => "&&",
                    };
                    declarator = self.prefix(sign, &mut waiting, &declarator, *target);
                    (next, space) = (*target, true);
                }
                TypeKind::MemberPointer { class, target } => {
                    let sign = format!("{}::*", self.inner(*class, depth));
                    declarator = self.prefix(&sign, &mut waiting, &declarator, *target);
                    (next, space, of_member) = (*target, true, true);
                    continue;
                }
                TypeKind::Array {
                    element,
                    dimensions,
                    ..
                } => {
                    declarator.push_str(&brackets(dimensions));
                    next = *element;
                }
                TypeKind::Function { result, parameters } => {
                    let first = parameters.first().map(|first| &table.get(*first).kind);
                    let this = of_member && matches!(first, Some(TypeKind::Pointer { .. }));
                    let list: Vec<String> = parameters
                        .iter()
                        .skip(usize::from(this))
                        .map(|parameter| self.inner(*parameter, depth))
                        .collect();
                    declarator = format!("{declarator}({})", list.join(", "));
                    (next, space) = (*result, true);
                }
                TypeKind::Void
                | TypeKind::Base(_)
                | TypeKind::Represented { .. }
                | TypeKind::Record { .. }
                | TypeKind::Variants { .. }
                | TypeKind::Enumeration { .. }
                | TypeKind::Typedef(_)
                | TypeKind::Unspecified
                | TypeKind::Unsupported(_) => {
                    let own = plain(ty.name.as_deref(), &ty.kind);
                    return self.finish(&waiting, own, &declarator, space);
                }
            }
            of_member = false;
            if declarator.len() > self.left {
                break;
            }
        }
        self.finish(&waiting, "...", &declarator, space)
    }

    /// Formats a name within a name.
    fn inner(&mut self, ty: TypeId, depth: usize) -> String {
        match depth.checked_sub(1) {
            Some(depth @ 1..) if self.left > 0 => self.name(ty, depth),
            _ => "...".to_owned(),
        }
    }

    /// Prepends a pointer's sign and qualifiers to a declarator. Adds parentheses if the text after the declarator would bind more tightly.
    fn prefix(
        &self,
        sign: &str,
        waiting: &mut Vec<Qualifier>,
        declarator: &str,
        target: TypeId,
    ) -> String {
        let mut text = sign.to_owned();
        let qualifiers: Vec<&str> = waiting.drain(..).map(keyword).collect();
        text.push_str(&qualifiers.join(" "));
        if !qualifiers.is_empty() && declarator.starts_with(['*', '&']) {
            text.push(' ');
        }
        text.push_str(declarator);
        let mut target = self.table.get(target);
        for _ in 0..DEPTH {
            let TypeKind::Qualified(_, inner) = &target.kind else {
                break;
            };
            target = self.table.get(*inner);
        }
        let needs_brackets = matches!(
            target.kind,
            TypeKind::Array { .. } | TypeKind::Function { .. }
        );
        if needs_brackets {
            format!("({text})")
        } else {
            text
        }
    }

    fn finish(
        &mut self,
        waiting: &[Qualifier],
        own: &str,
        declarator: &str,
        space: bool,
    ) -> String {
        let length = own.len().saturating_add(declarator.len());
        let mut text = String::with_capacity(length.saturating_add(1));
        for qualifier in waiting {
            text.push_str(keyword(*qualifier));
            text.push(' ');
        }
        text.push_str(own);
        if space && !declarator.is_empty() {
            text.push(' ');
        }
        text.push_str(declarator);
        if text.len() > self.left {
            let cut = (0..=self.left).rev().find(|at| text.is_char_boundary(*at));
            text.truncate(cut.unwrap_or(0));
            text.push_str("...");
        }
        self.left = self.left.saturating_sub(text.len());
        text
    }
}

/// Returns the name of a type that is not built from other types.
fn plain<'t>(name: Option<&'t str>, kind: &TypeKind) -> &'t str {
    match name {
        // clang's name for the type of a literal is not valid C++.
        Some("decltype(nullptr)") => return "std::nullptr_t",
        Some(name) => return name,
        None => {}
    }
    match kind {
        TypeKind::Void => "void",
        TypeKind::Record {
            kind: RecordKind::Structure,
            ..
        } => "struct {...}",
        TypeKind::Record {
            kind: RecordKind::Class,
            ..
        } => "class {...}",
        TypeKind::Record {
            kind: RecordKind::Union,
            ..
        } => "union {...}",
        TypeKind::Enumeration { .. } => "enum {...}",
        TypeKind::Base(_)
        | TypeKind::Represented { .. }
        | TypeKind::Variants { .. }
        | TypeKind::Unsupported(_)
        | TypeKind::Pointer { .. }
        | TypeKind::Array { .. }
        | TypeKind::Typedef(_)
        | TypeKind::Qualified(..)
        | TypeKind::Function { .. }
        | TypeKind::MemberPointer { .. }
        | TypeKind::Unspecified => "<unnamed type>",
    }
}

fn brackets(dimensions: &[Dimension]) -> String {
    let mut text = String::new();
    for dimension in dimensions {
        match dimension.count {
            Some(count) => text.push_str(&format!("[{count}]")),
            None => text.push_str("[]"),
        }
    }
    if text.is_empty() {
        text.push_str("[]");
    }
    text
}

fn keyword(qualifier: Qualifier) -> &'static str {
    match qualifier {
        Qualifier::Const => "const",
        Qualifier::Volatile => "volatile",
        Qualifier::Restrict => "restrict",
        Qualifier::Atomic => "_Atomic",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debug_info::types::Type;

    #[test]
    fn brackets_after_the_name_are_those_of_the_array_itself() {
        let mut table = TypeTable::default();
        let mut add = |name: Option<&str>, kind| {
            let name = name.map(str::to_owned);
            table.add(Type::new(name, None, kind))
        };
        let array = |element, counts: &[u64]| TypeKind::Array {
            element,
            dimensions: counts.iter().map(|n| Dimension::of(Some(*n))).collect(),
            stride_in_bits: None,
            vector: false,
        };
        let slice = add(Some("[]i16"), TypeKind::Unspecified);
        let void = add(None, TypeKind::Void);
        let alias = add(Some("alias"), TypeKind::Typedef(slice));
        let several = add(None, array(slice, &[2, 3]));
        let nested = add(None, array(several, &[4]));
        let constant = add(None, TypeKind::Qualified(Qualifier::Const, several));
        let pointer = |target| TypeKind::Pointer {
            kind: PointerKind::Pointer,
            target,
            address_space: crate::arch::AddressSpace::None,
            memory_space: crate::arch::MemorySpace::None,
        };
        let plain = add(None, pointer(void));
        let pointers = add(None, array(plain, &[5]));
        let to_array = add(None, pointer(several));
        let to_arrays = add(None, array(to_array, &[3]));
        let expected = [
            (slice, "[]i16", 0),
            (alias, "alias", 0),
            (several, "[]i16[2][3]", 2),
            (nested, "[]i16[4][2][3]", 3),
            (constant, "const []i16[2][3]", 2),
            (pointers, "void *[5]", 1),
            (to_array, "[]i16 (*)[2][3]", 0),
            (to_arrays, "[]i16 (*[3])[2][3]", 0),
        ];
        for (ty, name, count) in expected {
            assert_eq!(
                (&*type_name(&table, ty), brackets_after_name(&table, ty)),
                (name, count)
            );
        }
    }
}
