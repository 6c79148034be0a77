//! Looks up types by name: the types of the program, or C's own types if the program lacks them.
//!
//! A base type of C is the program's type with one of the names that compilers use. `long` therefore has the width that it has in the program.

use super::check::{Checked, Checker};
use super::class::{Arithmetic, FloatType, IntegerType, Rank};
use super::error::{QueryError, QueryErrorKind, ambiguous};
use super::name_scope::{Entity, Named};
use super::names::{Found, Names, Reach};
use super::scope::Scope;
use super::syntax::{Base, Declarator, Path, Tag, TypeName};
use crate::arch::AddressSpace;
use crate::debug_info::DieId;
use crate::debug_info::types::TypeId;
use crate::error::Result;
use crate::nearest::Nearest;

const fn integer(rank: Rank, bits: u32, signed: bool) -> Arithmetic {
    Arithmetic::Integer(IntegerType { rank, bits, signed })
}

/// A base type of C: its words, sorted; its type if the program lacks it; its names in DWARF.
type Row = (&'static [&'static str], Arithmetic, &'static [&'static str]);

const CHAR: Arithmetic = integer(Rank::Char, 8, true);
const UCHAR: Arithmetic = integer(Rank::Char, 8, false);
const SHORT: Arithmetic = integer(Rank::Short, 16, true);
const USHORT: Arithmetic = integer(Rank::Short, 16, false);
const INT: Arithmetic = integer(Rank::Int, 32, true);
const UINT: Arithmetic = integer(Rank::Int, 32, false);
const LONG: Arithmetic = integer(Rank::Long, 64, true);
const ULONG: Arithmetic = integer(Rank::Long, 64, false);
const HALF: Arithmetic = Arithmetic::Float(FloatType::Half);
const DOUBLE: Arithmetic = Arithmetic::Float(FloatType::Double);

/// The base types of C17 §6.7.2, without a redundant `int`: `long int` is `long`.
#[rustfmt::skip]
const BASES: &[Row] = &[
    (&["bool"],                     integer(Rank::Bool, 8, false),      &["bool", "_Bool"]),
    (&["_Bool"],                    integer(Rank::Bool, 8, false),      &["_Bool", "bool"]),
    (&["char"],                     CHAR,                               &["char"]),
    (&["char", "signed"],           CHAR,                               &["signed char"]),
    (&["char", "unsigned"],         UCHAR,                              &["unsigned char"]),
    (&["short"],                    SHORT,                              &["short", "short int"]),
    (&["short", "unsigned"],        USHORT,                             &["unsigned short", "short unsigned int"]),
    (&["int"],                      INT,                                &["int"]),
    (&["unsigned"],                 UINT,                               &["unsigned int"]),
    (&["long"],                     LONG,                               &["long", "long int"]),
    (&["long", "unsigned"],         ULONG,                              &["unsigned long", "long unsigned int"]),
    (&["long", "long"],             integer(Rank::LongLong, 64, true),  &["long long", "long long int"]),
    (&["long", "long", "unsigned"], integer(Rank::LongLong, 64, false), &["unsigned long long", "long long unsigned int"]),
    (&["__int128"],                 integer(Rank::Int128, 128, true),   &["__int128"]),
    (&["__int128", "unsigned"],     integer(Rank::Int128, 128, false),  &["unsigned __int128", "__int128 unsigned"]),
    (&["float"],                    Arithmetic::Float(FloatType::Single), &["float"]),
    (&["double"],                   DOUBLE,                             &["double"]),
    (&["double", "long"],           DOUBLE,                             &["long double"]),
    (&["half"],                     HALF,                               &["half", "_Float16", "__fp16"]),
    (&["_Float16"],                 HALF,                               &["_Float16", "half", "__fp16"]),
    (&["__bf16"],                   Arithmetic::Float(FloatType::BFloat16), &["__bf16"]),
];

/// The names of base types in OpenCL and `stdint.h`, for programs that do not define them.
const ALIASES: &[(&str, Arithmetic)] = &[
    ("uchar", UCHAR),
    ("ushort", USHORT),
    ("uint", UINT),
    ("ulong", ULONG),
    ("int8_t", CHAR),
    ("uint8_t", UCHAR),
    ("int16_t", SHORT),
    ("uint16_t", USHORT),
    ("int32_t", INT),
    ("uint32_t", UINT),
    ("int64_t", LONG),
    ("uint64_t", ULONG),
    ("size_t", ULONG),
    ("uintptr_t", ULONG),
    ("intptr_t", LONG),
    ("ptrdiff_t", LONG),
];

/// Returns true if a name denotes a type and no visible variable.
pub(super) fn is_type(
    path: &Path<'_>,
    scope: &Scope<'_, '_, '_>,
    names: &mut Names<'_, '_>,
) -> bool {
    if scope.local(path).is_some() {
        return false;
    }
    let frame = scope.name_scopes();
    let Ok(found) = names.find(path, frame, Reach::Program, &is_type_named(None)) else {
        // The search for the type repeats the error and reports it.
        return true;
    };
    if !found.is_known() {
        return alias(path).is_some();
    }
    // A value hides a type with the same name, unless the type is nearer. In C, a type without its keyword is never meant if there is a value.
    let is_value = |named: &Named| named.entity.is_value();
    match names.find(path, frame, Reach::Program, &is_value) {
        Ok(Found::Entity(value, rank)) => {
            let is_enumerator = value.entity != Entity::Function;
            match found {
                Found::Entity(_, own) if own.lacks_keyword => false,
                Found::Entity(_, own) => !is_enumerator || own.distance < rank.distance,
                Found::Ambiguous(..) => true,
                Found::Hidden(_) => false,
            }
        }
        _ => true,
    }
}

/// Returns the name of an instance of a template as the program contains it, unless the template's name denotes a value here.
///
/// * `is_qualified`: true if the name follows `::`, so that it cannot be looked up alone.
pub(super) fn instance(
    (template, is_qualified): (&str, bool),
    name: &str,
    scope: &Scope<'_, '_, '_>,
    names: &mut Names<'_, '_>,
) -> Result<Option<String>> {
    let path = Path::of(template);
    let is_value = |named: &Named| {
        let is_function = named.entity == Entity::Function;
        named.entity.is_value() && !is_function
    };
    if !is_qualified
        && (scope.local(&path).is_some()
            || (names.find(&path, scope.name_scopes(), Reach::Around, &is_value)?)
                .rank()
                .is_some())
    {
        return Ok(None);
    }
    names.instance(template, name, scope.name_scopes())
}

fn alias(path: &Path<'_>) -> Option<Arithmetic> {
    let row = ALIASES.iter().find(|(name, _)| *name == path.name);
    let row = row.filter(|_| path.scopes.is_empty() && !path.is_absolute);
    row.map(|(_, ty)| *ty)
}

/// Returns a predicate for types with this keyword, or with any keyword if `tag` is None.
fn is_type_named(tag: Option<Tag>) -> impl Fn(&Named) -> bool {
    move |named| match named.entity {
        Entity::Type(own) => tag.is_none() || own == tag,
        Entity::TypeParameter => tag.is_none(),
        Entity::Enumerator { .. }
        | Entity::Function
        | Entity::Variable
        | Entity::Member
        | Entity::ValueParameter => false,
    }
}

impl Checker<'_, '_, '_, '_> {
    /// Returns the type that a text names. If the text has no address space for the outermost pointer, it points to `space`.
    pub(super) fn type_named(
        &mut self,
        name: &TypeName<'_>,
        space: Option<AddressSpace>,
    ) -> Checked<TypeId> {
        let mut ty = match &name.base {
            Base::Words(words) => self.base_type(words, name.offset)?,
            Base::Named { tag, path } => self.program_type(*tag, path, name.offset)?,
        };
        let last = name.declarators.len().saturating_sub(1);
        for (index, declarator) in name.declarators.iter().enumerate() {
            ty = match declarator {
                Declarator::Pointer(own) => {
                    let implied = space.filter(|_| index == last);
                    self.types
                        .pointer(ty, own.or(implied).unwrap_or(AddressSpace::None))
                }
                Declarator::Array(count) => self.types.array(ty, Some(*count)),
            };
        }
        Ok(ty)
    }

    fn base_type(&mut self, words: &[&str], offset: usize) -> Checked<TypeId> {
        if words == ["void"] {
            return Ok(self.types.void());
        }
        let mut plain: Vec<&str> = words.to_vec();
        // `int` and `signed` are redundant with other words, except with `char`.
        let mut drop_one = |word: &str, without: bool| {
            let at = plain.iter().position(|own| *own == word);
            if let Some(at) = at.filter(|_| without && plain.len() > 1) {
                plain.remove(at);
            }
        };
        drop_one("signed", !words.contains(&"char"));
        drop_one("int", !words.contains(&"char"));
        if plain == ["signed"] {
            plain = vec!["int"];
        }
        let row = BASES.iter().find(|(own, _, _)| *own == plain.as_slice());
        let Some((_, ty, names)) = row else {
            return Err(unknown(words.join(" "), Vec::new(), offset));
        };
        for name in *names {
            let path = Path::of(name);
            let is_base = |named: &Named| named.entity == Entity::Type(None);
            let found = self
                .names
                .find_first(&path, &is_base)
                .map_err(self.fault())?;
            if let Some(named) = found {
                return self.read_type(Some(named.die));
            }
        }
        Ok(self.types.arithmetic(*ty, None))
    }

    fn read_type(&mut self, die: Option<DieId>) -> Checked<TypeId> {
        let stop = self.scope.tree.frame.stop();
        let id = (stop.program().info()).read_type(&mut self.types.table, die, stop.meter());
        id.map_err(self.fault())
    }

    fn program_type(
        &mut self,
        tag: Option<Tag>,
        path: &Path<'_>,
        offset: usize,
    ) -> Checked<TypeId> {
        let frame = self.scope.name_scopes();
        let found = (self.names).find(path, frame, Reach::Program, &is_type_named(tag));
        let others = match found.map_err(self.fault())? {
            Found::Entity(named, _) => return self.read_type(self.names.type_entry(&named)),
            Found::Hidden(names) => names,
            Found::Ambiguous(candidates, _) => {
                return Err(ambiguous(path, candidates).at(offset));
            }
        };
        if let (Some(ty), None) = (alias(path), tag) {
            return Ok(self.types.arithmetic(ty, None));
        }
        if !others.is_empty() {
            return Err(unknown(path.to_string(), others, offset));
        }
        let mut nearest = Nearest::to(path.name);
        self.names.propose(&mut nearest, &is_type_named(tag));
        Err(unknown(path.to_string(), nearest.names(), offset))
    }
}

fn unknown(name: String, nearest: Vec<String>, offset: usize) -> QueryError {
    QueryErrorKind::UnknownType { name, nearest }.at(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_base_types_are_sorted_as_the_parser_sorts_them() {
        for (words, _, names) in BASES {
            assert!(words.is_sorted(), "{words:?}");
            assert!(!names.is_empty(), "{words:?}");
        }
    }
}
