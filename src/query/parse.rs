//! Parses tokens to nodes: C expressions by precedence climbing, with gdb's `@`, `$register` and addresses. `parse_type` parses type names.
//!
//! The recursion depth is the nesting of brackets, conditionals and prefix operators, which is limited. Sources: C17 §6.5; the grammar of gdb's C
//! expressions for the precedence of `@`.

use super::error::{QueryError, QueryErrorKind};
use super::literal::Number;
use super::syntax::{AND, BINARY, Kind, Node, NodeId, OR, Path, Unary};
use super::token::{Spanned, Token};

/// The maximum nesting of an expression. Each `(`, `?`, prefix operator and level of precedence counts as one.
pub(super) const DEPTH: u32 = 256;

/// A function that returns true if a name denotes a type and no other visible entity.
pub(super) type IsType<'n> = &'n mut dyn FnMut(&Path<'_>) -> bool;

/// Parses the tokens of a whole text. The last node is the expression.
pub(super) fn parse<'t>(
    tokens: Vec<Spanned<'t>>,
    is_type: IsType<'_>,
) -> Result<Vec<Node<'t>>, QueryError> {
    let mut parser = Parser {
        tokens,
        at: 0,
        nodes: Vec::new(),
        depth: 0,
        is_type,
    };
    parser.conditional()?;
    if *parser.peek() == Token::End {
        return Ok(parser.nodes);
    }
    let Token::Sign(sign) = *parser.peek() else {
        return Err(parser.expected("an operator or the end"));
    };
    if ASSIGNMENTS.contains(&sign) {
        return Err(parser.unsupported("assignments are not supported: the program is only read"));
    }
    if sign == "," {
        return Err(parser.unsupported("the comma operator is not supported"));
    }
    Err(parser.expected("an operator or the end"))
}

const ASSIGNMENTS: &[&str] = &[
    "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=",
];

const CHANGE: &str = "`++` and `--` are not supported: the program is only read";

pub(super) struct Parser<'t, 'n> {
    tokens: Vec<Spanned<'t>>,
    at: usize,
    nodes: Vec<Node<'t>>,
    depth: u32,
    pub(super) is_type: IsType<'n>,
}

impl<'t> Parser<'t, '_> {
    /// Returns the next token.
    pub(super) fn peek(&self) -> &Token<'t> {
        self.peek_at(0)
    }

    /// Returns the token `distance` tokens after the next one. After the last token, returns the end.
    pub(super) fn peek_at(&self, distance: usize) -> &Token<'t> {
        let token = self.tokens.get(self.at + distance);
        token.map_or(&Token::End, |spanned| &spanned.token)
    }

    /// Returns the offset of the next token.
    pub(super) fn offset(&self) -> usize {
        let last = self.tokens.len() - 1;
        let token = self.tokens.get(self.at.min(last));
        token.map_or(0, |spanned| spanned.offset)
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// Skips a sign if it is the next token. Returns true if it was.
    pub(super) fn accept(&mut self, sign: &'static str) -> bool {
        let found = *self.peek() == Token::Sign(sign);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, sign: &'static str) -> Result<(), QueryError> {
        if self.accept(sign) {
            return Ok(());
        }
        Err(self.expected(&format!("`{sign}`")))
    }

    /// Returns the error of an unexpected next token.
    pub(super) fn expected(&self, expected: &str) -> QueryError {
        let kind = QueryErrorKind::Syntax {
            expected: expected.to_owned(),
            found: self.peek().describe(),
        };
        kind.at(self.offset())
    }

    pub(super) fn unsupported(&self, what: &'static str) -> QueryError {
        QueryErrorKind::Unsupported(what).at(self.offset())
    }

    /// Calls `then` one level deeper.
    pub(super) fn deeper<T>(
        &mut self,
        then: impl FnOnce(&mut Self) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        if self.depth == DEPTH {
            let (what, most) = ("nested operators and brackets", DEPTH.into());
            return Err(QueryErrorKind::Limit { what, most }.at(self.offset()));
        }
        self.depth += 1;
        let result = then(self);
        self.depth -= 1;
        result
    }

    fn push(&mut self, kind: Kind<'t>, offset: usize) -> NodeId {
        let id = self.nodes.len();
        self.nodes.push(Node { kind, offset });
        id
    }

    /// Starts a run of nodes that is skipped if `condition` is `skip_if`. [`close`](Parser::close) ends it.
    fn guard(&mut self, condition: NodeId, skip_if: bool, offset: usize) -> NodeId {
        let until = 0;
        self.push(
            Kind::Guard {
                condition,
                skip_if,
                until,
            },
            offset,
        )
    }

    /// Ends the run of a guard before the next node.
    fn close(&mut self, guard: NodeId) {
        let next = self.nodes.len();
        if let Some(Node {
            kind: Kind::Guard { until, .. },
            ..
        }) = self.nodes.get_mut(guard)
        {
            *until = next;
        }
    }

    /// Parses `a || b ? c : d`, and expressions of higher precedence.
    fn conditional(&mut self) -> Result<NodeId, QueryError> {
        self.deeper(|parser| {
            let condition = parser.binary(OR)?;
            let offset = parser.offset();
            if !parser.accept("?") {
                return Ok(condition);
            }
            let guard = parser.guard(condition, false, offset);
            let then = parser.conditional()?;
            parser.close(guard);
            parser.expect(":")?;
            let guard = parser.guard(condition, true, offset);
            let otherwise = parser.conditional()?;
            parser.close(guard);
            Ok(parser.push(
                Kind::Conditional {
                    condition,
                    then,
                    otherwise,
                },
                offset,
            ))
        })
    }

    /// Parses binary operators with a precedence of at least `least`.
    fn binary(&mut self, least: u8) -> Result<NodeId, QueryError> {
        self.deeper(|parser| {
            let mut left = parser.unary()?;
            loop {
                let offset = parser.offset();
                let Token::Sign(sign) = *parser.peek() else {
                    return Ok(left);
                };
                let logical = match sign {
                    "&&" => Some((true, AND)),
                    "||" => Some((false, OR)),
                    _ => None,
                };
                if let Some((is_and, precedence)) = logical.filter(|(_, p)| *p >= least) {
                    parser.advance();
                    let guard = parser.guard(left, !is_and, offset);
                    let right = parser.binary(precedence + 1)?;
                    parser.close(guard);
                    left = parser.push(
                        Kind::Logical {
                            is_and,
                            left,
                            right,
                        },
                        offset,
                    );
                    continue;
                }
                let row = BINARY.iter().find(|(text, _, _)| *text == sign);
                let Some((_, operator, precedence)) = row.filter(|(_, _, p)| *p >= least) else {
                    return Ok(left);
                };
                parser.advance();
                let right = parser.binary(precedence + 1)?;
                left = parser.push(Kind::Binary(*operator, left, right), offset);
            }
        })
    }

    /// Parses prefix operators, casts and `sizeof`.
    fn unary(&mut self) -> Result<NodeId, QueryError> {
        let offset = self.offset();
        if *self.peek() == Token::Name("sizeof") {
            return self.deeper(Self::size_of);
        }
        let Token::Sign(sign) = *self.peek() else {
            return self.postfix();
        };
        let operator = match sign {
            "+" => Unary::Plus,
            "-" => Unary::Minus,
            "~" => Unary::Complement,
            "!" => Unary::Not,
            "*" => Unary::Dereference,
            "&" => Unary::AddressOf,
            "++" | "--" => return Err(self.unsupported(CHANGE)),
            "(" if self.type_starts_at(1) => return self.deeper(Self::cast),
            _ => return self.postfix(),
        };
        self.advance();
        let operand = self.deeper(Self::unary)?;
        Ok(self.push(Kind::Unary(operator, operand), offset))
    }

    fn size_of(&mut self) -> Result<NodeId, QueryError> {
        let offset = self.offset();
        self.advance();
        if *self.peek() == Token::Sign("(") && self.type_starts_at(1) {
            self.advance();
            let ty = self.type_name()?;
            self.expect(")")?;
            return Ok(self.push(Kind::SizeOfType(ty), offset));
        }
        self.push(Kind::Unevaluated, offset);
        let operand = self.unary()?;
        Ok(self.push(Kind::SizeOf(operand), offset))
    }

    fn cast(&mut self) -> Result<NodeId, QueryError> {
        let offset = self.offset();
        self.advance();
        let ty = self.type_name()?;
        self.expect(")")?;
        let operand = self.unary()?;
        Ok(self.push(Kind::Cast { ty, operand }, offset))
    }

    /// Parses members, elements, and other postfix operators.
    fn postfix(&mut self) -> Result<NodeId, QueryError> {
        let mut base = self.primary()?;
        loop {
            let offset = self.offset();
            let Token::Sign(sign) = *self.peek() else {
                return Ok(base);
            };
            let arrow = match sign {
                "." => false,
                "->" => true,
                "[" => {
                    self.advance();
                    let index = self.conditional()?;
                    self.expect("]")?;
                    base = self.push(Kind::Index { base, index }, offset);
                    continue;
                }
                "(" => {
                    return Err(
                        self.unsupported("calls are not supported: the program is only read")
                    );
                }
                "++" | "--" => return Err(self.unsupported(CHANGE)),
                ".*" | "->*" => {
                    return Err(self.unsupported("pointers to members cannot be dereferenced"));
                }
                _ => return Ok(base),
            };
            self.advance();
            let Token::Name(name) = *self.peek() else {
                return Err(self.expected("the name of a member"));
            };
            // The error of an unknown member points at its name.
            let offset = self.offset();
            self.advance();
            base = self.push(Kind::Member { base, name, arrow }, offset);
        }
    }

    fn primary(&mut self) -> Result<NodeId, QueryError> {
        let offset = self.offset();
        let kind = match self.peek() {
            Token::Number(Number::Integer(integer)) => Kind::Integer(*integer),
            Token::Number(Number::Float { value, size }) => Kind::Float {
                value: *value,
                size: *size,
            },
            Token::Character(byte) => Kind::Character(*byte),
            Token::Text(bytes) => Kind::Text(bytes.clone()),
            Token::Register(name) => Kind::Register(name),
            Token::Address(space, address) => Kind::Address(*space, *address),
            Token::Sign("(") => {
                self.advance();
                let inner = self.conditional()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Name(_) if self.is_type_word(self.peek()) => {
                return Err(
                    self.unsupported("a type has no value; use `sizeof` or a cast, `(T) x`")
                );
            }
            Token::Name(_) | Token::Sign("::") => {
                let path = self.path()?;
                return Ok(self.push(Kind::Name(path), offset));
            }
            Token::Sign(_) | Token::End => return Err(self.expected("an operand")),
        };
        self.advance();
        Ok(self.push(kind, offset))
    }
}
