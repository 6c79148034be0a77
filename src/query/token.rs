//! Splits text into tokens. Sources: C17 §6.4; gdb's `$register`, `@` and `space#address`.

use super::error::{QueryError, QueryErrorKind, syntax};
use super::literal;
use crate::arch::AddressSpace;

/// A token with its offset.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spanned<'t> {
    pub(super) token: Token<'t>,
    /// The offset of its first byte in the text.
    pub(super) offset: usize,
}

/// The smallest part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    /// An identifier or keyword.
    Name(&'t str),
    /// `$name`, without the `$`.
    Register(&'t str),
    /// An integer or floating-point literal.
    Number(literal::Number),
    /// A character literal.
    Character(u8),
    /// A string literal, without the terminator.
    Text(Vec<u8>),
    /// `space#address`.
    Address(AddressSpace, u64),
    /// An operator or another sign in [`SIGNS`].
    Sign(&'static str),
    /// The end of the text.
    End,
}

/// All signs, which are the tokens other than names and literals. A sign precedes its own prefixes.
const SIGNS: &[&str] = &[
    "<<=", ">>=", "->*", "<=>", "...", "->", "::", "++", "--", "<<", ">>", "<=", ">=", "==", "!=",
    "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", ".*", "+", "-", "*", "/", "%", "&",
    "|", "^", "~", "!", "<", ">", "=", "?", ":", "(", ")", "[", "]", "{", "}", ",", ";", ".", "@",
];

/// The maximum length of an expression in bytes.
const MOST_BYTES: usize = 1 << 16;

impl Token<'_> {
    /// Returns the token as text for messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Name(name) => format!("`{name}`"),
            Token::Register(name) => format!("`${name}`"),
            Token::Number(_) => "a number".to_owned(),
            Token::Character(_) => "a character".to_owned(),
            Token::Text(_) => "a string".to_owned(),
            Token::Address(..) => "an address".to_owned(),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end".to_owned(),
        }
    }
}

/// Returns the tokens of a text. The last one is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Spanned<'_>>, QueryError> {
    if text.len() > MOST_BYTES {
        let most = MOST_BYTES as u64;
        let what = "bytes in the expression";
        return Err(QueryErrorKind::Limit { what, most }.at(MOST_BYTES));
    }
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let offset = text.len() - rest.len();
        let (token, length) = first(rest).map_err(|kind| kind.at(offset))?;
        let is_end = token == Token::End;
        tokens.push(Spanned { token, offset });
        if is_end {
            return Ok(tokens);
        }
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// Returns the first token of `rest`, which does not start with a space, and its length in bytes.
fn first(rest: &str) -> Result<(Token<'_>, usize), QueryErrorKind> {
    let mut characters = rest.chars();
    let Some(start) = characters.next() else {
        return Ok((Token::End, 0));
    };
    let second = characters.next();
    if start.is_ascii_digit() || (start == '.' && second.is_some_and(|c| c.is_ascii_digit())) {
        let text = literal::number_text(rest);
        return Ok((Token::Number(literal::number(text)?), text.len()));
    }
    if is_name_start(start) {
        return name_or_address(rest);
    }
    if start == '$' {
        let rest = rest.get(1..).unwrap_or_default();
        let name = name_text(rest);
        let length = name.len() + range_length(rest.get(name.len()..).unwrap_or_default());
        let name = rest.get(..length).unwrap_or(name);
        return Ok((Token::Register(name), name.len() + 1));
    }
    if start == '\'' {
        let (bytes, length) = literal::quoted(rest, '\'')?;
        return match bytes.as_slice() {
            [byte] => Ok((Token::Character(*byte), length)),
            // gdb's notation for a name that is no identifier.
            [_, _, ..] => match rest.get(1..length.saturating_sub(1)) {
                Some(name) if !name.contains('\\') => Ok((Token::Name(name), length)),
                _ => Err(syntax("one character of one byte", "several")),
            },
            [] => Err(syntax("one character of one byte", "none")),
        };
    }
    if start == '"' {
        let (bytes, length) = literal::quoted(rest, '"')?;
        return Ok((Token::Text(bytes), length));
    }
    match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) => Ok((Token::Sign(sign), sign.len())),
        None => Err(syntax(
            "an expression",
            format!("`{}`", start.escape_debug()),
        )),
    }
}

/// Returns the length of a register range like `[42:43]` at the start of a text, or 0 if there is none.
fn range_length(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let length = || {
        let first = text.strip_prefix('[')?;
        let last = first.get(digits(first)..)?.strip_prefix(':')?;
        let rest = last.get(digits(last)..)?.strip_prefix(']')?;
        text.len().checked_sub(rest.len())
    };
    length().unwrap_or(0)
}

/// Parses a name. A name of an address space followed by `#` and a number is an address.
fn name_or_address(rest: &str) -> Result<(Token<'_>, usize), QueryErrorKind> {
    let name = name_text(rest);
    let after = rest.get(name.len()..).unwrap_or_default();
    let Some(number) = after.strip_prefix('#') else {
        return Ok((Token::Name(name), name.len()));
    };
    let space = AddressSpace::from_name(name).ok_or_else(|| {
        syntax(
            "the name of an address space before `#`",
            format!("`{name}`"),
        )
    })?;
    let text = literal::number_text(number);
    let literal::Number::Integer(integer) = literal::number(text)? else {
        return Err(syntax("an address", format!("`{text}`")));
    };
    let length = name.len() + 1 + text.len();
    let beyond = integer.value.checked_shr(space.address_size_in_bits(8));
    if beyond.is_some_and(|beyond| beyond != 0) {
        return Err(syntax("an address of 32 bits", format!("`{text}`")));
    }
    Ok((Token::Address(space, integer.value), length))
}

/// Returns the longest name at the start of `text`.
fn name_text(text: &str) -> &str {
    let end = text.find(|c| !is_name_start(c) && !c.is_ascii_digit());
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(text: &str) -> Vec<String> {
        let tokens = tokens(text).unwrap();
        tokens.iter().map(|t| t.token.describe()).collect()
    }

    #[test]
    fn the_longest_sign_is_taken() {
        assert_eq!(
            signs("a<<=b>>c->d::e...++--"),
            [
                "`a`", "`<<=`", "`b`", "`>>`", "`c`", "`->`", "`d`", "`::`", "`e`", "`...`",
                "`++`", "`--`", "the end"
            ]
        );
        for (index, sign) in SIGNS.iter().enumerate() {
            let earlier = &SIGNS[..index];
            assert!(!earlier.iter().any(|e| sign.starts_with(e)), "{sign}");
        }
    }

    #[test]
    fn addresses_have_a_space_and_no_more_bits_than_it() {
        let found = tokens("private_lane#0x40").unwrap();
        assert_eq!(
            found[0].token,
            Token::Address(AddressSpace::PrivateLane, 0x40)
        );
        assert!(tokens("local#0xffffffff").is_ok());
        assert!(tokens("generic#0xffffffffffffffff").is_ok());
        for bad in [
            "local#0x100000000",
            "lokal#1",
            "local#",
            "local#1.5",
            "local#x",
        ] {
            assert!(tokens(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_no_token_starts_with_is_an_error_at_its_place() {
        let error = tokens("ab + #").unwrap_err();
        assert_eq!((error.offset, error.kind.name()), (5, "syntax"));
        assert_eq!(tokens("x + \u{1}").unwrap_err().offset, 4);
        assert_eq!(
            tokens(&"a".repeat(MOST_BYTES + 1)).unwrap_err().kind.name(),
            "limit"
        );
        assert!(tokens(&"a".repeat(MOST_BYTES)).is_ok());
    }
}
