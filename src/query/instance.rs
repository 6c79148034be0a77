//! Joins the tokens of the name of a template's instance, such as `Box<Wide, 5>`, to one name.
//!
//! DWARF has no templates. The name of an instance contains the arguments as the compiler wrote them. Like in C++20 [temp.names], a `<` after a name is
//! an operator unless the name is a template's.

use typed_arena::Arena;

use super::error::{QueryError, QueryErrorKind};
use super::token::{Spanned, Token};
use crate::error::Result;

/// The maximum number of tokens in a name.
const MOST_TOKENS: usize = 256;

/// A function that returns the name of an instance as the program contains it, for a text that may differ in its spaces. The other arguments are the
/// name of the template, and true if it follows `::`. Returns None if the program has no such template.
pub(super) type Find<'n> = &'n mut dyn FnMut((&str, bool), &str) -> Result<Option<String>>;

/// Joins the tokens of names that `find` knows.
///
/// * `spellings`: holds these names.
pub(super) fn join<'t>(
    text: &'t str,
    tokens: Vec<Spanned<'t>>,
    spellings: &'t Arena<String>,
    find: Find<'_>,
) -> core::result::Result<Vec<Spanned<'t>>, QueryError> {
    let mut joined = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(spanned) = tokens.get(at) {
        let mut token = spanned.clone();
        at += 1;
        let before = joined.last().map(|before: &Spanned<'_>| &before.token);
        // Members that are templates are functions, which are not called.
        let is_member = matches!(before, Some(Token::Sign("." | "->")));
        let is_qualified = before == Some(&Token::Sign("::"));
        if let Token::Name(template) = token.token
            && !is_member
            && let Some(end) = end_of_arguments(&tokens, at)
            && let Some(name) = text.get(token.offset..end.offset)
            && let Some(found) = find((template, is_qualified), name)
                .map_err(|error| QueryErrorKind::DebugInfo(error).at(spanned.offset))?
        {
            token.token = Token::Name(spellings.alloc(found));
            at = end.next;
        }
        joined.push(token);
    }
    Ok(joined)
}

/// The end of a list of arguments.
struct End {
    /// The offset after the list in the text.
    offset: usize,
    /// The number of the token after it.
    next: usize,
}

/// Returns the end of the arguments in `<` and `>` that start at a token.
fn end_of_arguments(tokens: &[Spanned<'_>], start: usize) -> Option<End> {
    if tokens.get(start)?.token != Token::Sign("<") {
        return None;
    }
    let mut angles = 0_usize;
    let mut brackets = 0_usize;
    for (next, spanned) in (start + 1..).zip(tokens.get(start..)?).take(MOST_TOKENS) {
        let Token::Sign(sign) = spanned.token else {
            if spanned.token == Token::End {
                return None;
            }
            continue;
        };
        match sign {
            "(" | "[" | "{" => brackets += 1,
            ")" | "]" | "}" => brackets = brackets.checked_sub(1)?,
            "<" if brackets == 0 => angles += 1,
            ">" | ">>" if brackets == 0 => angles = angles.checked_sub(sign.len())?,
            _ => {}
        }
        if angles == 0 {
            let offset = spanned.offset + sign.len();
            return Some(End { offset, next });
        }
    }
    None
}

/// Returns a name without the spaces that mean nothing: `A<B<int> >` and `A<B<int>>` are the same.
pub(super) fn without_spaces(name: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut short = String::with_capacity(name.len());
    let mut is_after_space = false;
    for c in name.chars() {
        if c.is_whitespace() {
            is_after_space = true;
            continue;
        }
        if is_after_space && is_word(c) && short.ends_with(is_word) {
            short.push(' ');
        }
        is_after_space = false;
        short.push(c);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;

    /// Returns the names in a text of a program that has only the given instances.
    fn names(text: &str, known: &[&str]) -> Vec<String> {
        let spellings = Arena::new();
        let mut find = |_: (&str, bool), name: &str| {
            let mut known = known.iter();
            let found = known.find(|known| without_spaces(known) == without_spaces(name));
            Ok(found.map(|found| (*found).to_owned()))
        };
        let joined = join(text, tokens(text).unwrap(), &spellings, &mut find).unwrap();
        let mut names = Vec::new();
        for spanned in joined {
            if let Token::Name(name) = spanned.token {
                names.push(name.to_owned());
            }
        }
        names
    }

    #[test]
    fn instances_of_templates_are_one_name() {
        let known = ["A<int>", "B<A<int> >", "C<unsigned int, (1 > 2)>"];
        assert_eq!(names("A<int>::b", &known), ["A<int>", "b"]);
        assert_eq!(names("x * B<A<int>>", &known), ["x", "B<A<int> >"]);
        assert_eq!(names("B < A<int > >", &known), ["B<A<int> >"]);
        assert_eq!(
            names("C<unsigned int,(1>2)>", &known),
            ["C<unsigned int, (1 > 2)>"]
        );
        // Operators. The inner part can still be a name.
        assert_eq!(names("a < b && c > d", &known), ["a", "b", "c", "d"]);
        assert_eq!(names("a < A<int>", &known), ["a", "A<int>"]);
        assert_eq!(names("C<unsignedint,(1>2)>", &known)[0], "C");
        assert_eq!(names("a < (b > c", &known), ["a", "b", "c"]);
        assert_eq!(names("a << b >> c", &known), ["a", "b", "c"]);
        assert_eq!(names("a <", &known), ["a"]);
    }
}
