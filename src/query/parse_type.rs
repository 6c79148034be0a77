//! Parses type names in casts and `sizeof`: `unsigned long`, `struct T *`, `ns::T const`, `int (*)[4]`, `__local float *`. Source: C17 §6.7.7; OpenCL
//! C §6.7 for the names of address spaces.

use super::error::QueryError;
use super::literal::Number;
use super::parse::Parser;
use super::syntax::{Base, Declarator, Path, Tag, TypeName};
use super::token::Token;
use crate::arch::AddressSpace;

/// The words of C's base types.
const BASE_WORDS: &[&str] = &[
    "void", "bool", "_Bool", "char", "short", "int", "long", "float", "double", "signed",
    "unsigned", "half", "_Float16", "__bf16", "__int128",
];

/// The qualifiers that are ignored.
const QUALIFIERS: &[&str] = &[
    "const",
    "volatile",
    "restrict",
    "__restrict",
    "__restrict__",
    "_Atomic",
];

const TAGS: &[(&str, Tag)] = &[
    ("struct", Tag::Record),
    ("class", Tag::Record),
    ("union", Tag::Union),
    ("enum", Tag::Enumeration),
];

/// The qualifiers of a pointer's target, with the address space of such a pointer.
const SPACES: &[(&str, AddressSpace)] = &[
    ("__global", AddressSpace::None),
    ("__constant", AddressSpace::None),
    ("__local", AddressSpace::Local),
    ("__private", AddressSpace::PrivateLane),
    ("__generic", AddressSpace::Generic),
];

impl<'t> Parser<'t, '_> {
    /// Returns true if a token can only be a part of a type name.
    pub(super) fn is_type_word(&self, token: &Token<'t>) -> bool {
        let Token::Name(name) = token else {
            return false;
        };
        BASE_WORDS.contains(name)
            || QUALIFIERS.contains(name)
            || TAGS.iter().any(|(tag, _)| tag == name)
            || SPACES.iter().any(|(space, _)| space == name)
    }

    /// Returns true if a type name starts `distance` tokens after the next one. A name in parentheses is a type if such a type exists, or if the next
    /// tokens would otherwise be invalid.
    pub(super) fn type_starts_at(&mut self, distance: usize) -> bool {
        if self.is_type_word(self.peek_at(distance)) {
            return true;
        }
        let Some((path, length)) = self.path_at(distance) else {
            return false;
        };
        let mut after = distance + length;
        if *self.peek_at(after) == Token::Sign("*") {
            while *self.peek_at(after) == Token::Sign("*") {
                after += 1;
            }
            if *self.peek_at(after) == Token::Sign(")") {
                return true;
            }
        } else if *self.peek_at(after) == Token::Sign(")") {
            let operand = self.peek_at(after + 1);
            let is_operand = if let Token::Sign(sign) = operand {
                matches!(*sign, "!" | "~")
            } else {
                *operand != Token::End
            };
            if is_operand {
                return true;
            }
        }
        (self.is_type)(&path)
    }

    /// Parses a name with its scopes, `distance` tokens after the next one. Returns the number of its tokens, too.
    fn path_at(&self, distance: usize) -> Option<(Path<'t>, usize)> {
        let is_absolute = *self.peek_at(distance) == Token::Sign("::");
        let mut at = distance + usize::from(is_absolute);
        let mut scopes = Vec::new();
        loop {
            let Token::Name(name) = *self.peek_at(at) else {
                return None;
            };
            at += 1;
            if *self.peek_at(at) != Token::Sign("::") {
                let path = Path {
                    is_absolute,
                    scopes,
                    name,
                };
                return Some((path, at - distance));
            }
            scopes.push(name);
            at += 1;
        }
    }

    /// Parses a name with its scopes.
    pub(super) fn path(&mut self) -> Result<Path<'t>, QueryError> {
        match self.path_at(0) {
            Some((path, length)) => {
                (0..length).for_each(|_| self.advance());
                Ok(path)
            }
            None => {
                // The unexpected token is the one after the last `::`.
                while matches!(self.peek(), Token::Name(_) | Token::Sign("::")) {
                    self.advance();
                }
                Err(self.expected("a name"))
            }
        }
    }

    /// Parses a whole type name.
    pub(super) fn type_name(&mut self) -> Result<TypeName<'t>, QueryError> {
        let offset = self.offset();
        let mut words = Vec::new();
        let mut named = None;
        let mut space = None;
        while let Token::Name(name) = *self.peek() {
            if self.qualifier(name, &mut space) {
                continue;
            }
            let tag = TAGS.iter().find(|(tag, _)| *tag == name);
            if BASE_WORDS.contains(&name) && named.is_none() {
                words.push(name);
                self.advance();
            } else if words.is_empty() && named.is_none() {
                if tag.is_some() {
                    self.advance();
                }
                named = Some((tag.map(|(_, tag)| *tag), self.path()?));
            } else {
                break;
            }
        }
        if *self.peek() == Token::Sign("::") && words.is_empty() && named.is_none() {
            named = Some((None, self.path()?));
        }
        words.sort_unstable();
        let base = match named {
            Some((tag, path)) => Base::Named { tag, path },
            None if words.is_empty() => return Err(self.expected("a type")),
            None => Base::Words(words),
        };
        let mut declarators = Vec::new();
        self.declarators(space, &mut declarators)?;
        Ok(TypeName {
            offset,
            base,
            declarators,
        })
    }

    /// Skips a qualifier. If it names an address space, stores the space.
    fn qualifier(&mut self, name: &str, space: &mut Option<AddressSpace>) -> bool {
        let of_space = SPACES.iter().find(|(known, _)| *known == name);
        if let Some((_, found)) = of_space {
            *space = Some(*found);
        } else if !QUALIFIERS.contains(&name) {
            return false;
        }
        self.advance();
        true
    }

    /// Parses `*`, `(*)` and `[N]` after a type, from the inside out. `space` is the address space of the type's qualifier.
    fn declarators(
        &mut self,
        mut space: Option<AddressSpace>,
        out: &mut Vec<Declarator>,
    ) -> Result<(), QueryError> {
        while self.accept("*") {
            out.push(Declarator::Pointer(space.take()));
            while let Token::Name(name) = *self.peek() {
                if !self.qualifier(name, &mut space) {
                    return Err(self.expected("`)`"));
                }
            }
        }
        if matches!(self.peek(), Token::Sign("&" | "&&")) {
            return Err(
                self.unsupported("a cast to a reference is not supported; cast to a pointer")
            );
        }
        let mut inner = Vec::new();
        if self.accept("(") {
            if *self.peek() == Token::Sign(")") || self.is_type_word(self.peek()) {
                return Err(self.unsupported("types of functions cannot be written"));
            }
            self.deeper(|parser| parser.declarators(None, &mut inner))?;
            self.expect(")")?;
            if *self.peek() == Token::Sign("(") {
                return Err(self.unsupported("types of functions cannot be written"));
            }
        }
        let mut lengths = Vec::new();
        while self.accept("[") {
            let Token::Number(Number::Integer(length)) = *self.peek() else {
                return Err(self.expected("the length of an array"));
            };
            self.advance();
            self.expect("]")?;
            lengths.push(Declarator::Array(length.value));
        }
        out.extend(lengths.into_iter().rev());
        out.append(&mut inner);
        Ok(())
    }
}
