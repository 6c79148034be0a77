//! Defines the syntax of an expression: nodes in the order of evaluation.
//!
//! Operands precede their users, so that a loop over the nodes checks and evaluates an expression without recursion. Nodes that are evaluated only
//! under a condition form one run after a [`Kind::Guard`].

use super::literal::{FloatSize, Integer};
use crate::arch::AddressSpace;

/// The index of a node.
pub(super) type NodeId = usize;

/// A node of an expression.
#[derive(Debug)]
pub(super) struct Node<'t> {
    pub(super) kind: Kind<'t>,
    /// The offset of its start in the text, or of its operator.
    pub(super) offset: usize,
}

#[derive(Debug)]
pub(super) enum Kind<'t> {
    Integer(Integer),
    Float {
        value: f64,
        size: FloatSize,
    },
    Character(u8),
    Text(Vec<u8>),
    Name(Path<'t>),
    Register(&'t str),
    Address(AddressSpace, u64),
    Unary(Unary, NodeId),
    Binary(Binary, NodeId, NodeId),
    /// The operator `&&` or `||`.
    Logical {
        is_and: bool,
        left: NodeId,
        right: NodeId,
    },
    Conditional {
        condition: NodeId,
        then: NodeId,
        otherwise: NodeId,
    },
    /// Continues at the node `until` if `condition` is `skip_if` or has no value.
    Guard {
        condition: NodeId,
        skip_if: bool,
        until: NodeId,
    },
    /// Begins the operand of `sizeof`, of which only the type counts.
    Unevaluated,
    Member {
        base: NodeId,
        name: &'t str,
        arrow: bool,
    },
    Index {
        base: NodeId,
        index: NodeId,
    },
    Cast {
        ty: TypeName<'t>,
        operand: NodeId,
    },
    SizeOfType(TypeName<'t>),
    SizeOf(NodeId),
}

/// A prefix operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Plus,
    Minus,
    Complement,
    Not,
    Dereference,
    AddressOf,
}

/// An operator with two operands that are both evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Multiply,
    Divide,
    Remainder,
    Add,
    Subtract,
    /// gdb's `@`: an array with a number of elements, starting at the first operand.
    Repeat,
    ShiftLeft,
    ShiftRight,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Xor,
    Or,
}

/// The binary operators by their signs, the highest precedence first. Sources: C17 §6.5.5 to §6.5.12; gdb for the precedence of `@`.
#[rustfmt::skip]
pub(super) const BINARY: &[(&str, Binary, u8)] = &[
    ("*",  Binary::Multiply,       11), ("/",  Binary::Divide,         11), ("%",  Binary::Remainder, 11),
    ("+",  Binary::Add,            10), ("-",  Binary::Subtract,       10),
    ("@",  Binary::Repeat,          9),
    ("<<", Binary::ShiftLeft,       8), (">>", Binary::ShiftRight,      8),
    ("<",  Binary::Less,            7), (">",  Binary::Greater,         7),
    ("<=", Binary::LessOrEqual,     7), (">=", Binary::GreaterOrEqual,  7),
    ("==", Binary::Equal,           6), ("!=", Binary::NotEqual,        6),
    ("&",  Binary::And,             5),
    ("^",  Binary::Xor,             4),
    ("|",  Binary::Or,              3),
];

/// The precedences of `&&` and `||`, on the scale of [`BINARY`].
pub(super) const AND: u8 = 2;
pub(super) const OR: u8 = 1;

impl Binary {
    /// Returns the sign of the operator.
    pub(super) fn sign(self) -> &'static str {
        let row = BINARY.iter().find(|(_, operator, _)| *operator == self);
        row.map_or("?", |(sign, _, _)| sign)
    }
}

impl Unary {
    /// Returns the sign of the operator.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Unary::Plus => "+",
            Unary::Minus => "-",
            Unary::Complement => "~",
            Unary::Not => "!",
            Unary::Dereference => "*",
            Unary::AddressOf => "&",
        }
    }
}

/// A name, with the namespaces and classes before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path<'t> {
    /// True if the name starts with `::`.
    pub(super) is_absolute: bool,
    /// The names before the last `::`.
    pub(super) scopes: Vec<&'t str>,
    pub(super) name: &'t str,
}

impl<'t> Path<'t> {
    /// Returns the path of a name without scopes.
    pub(super) const fn of(name: &'t str) -> Path<'t> {
        Path {
            is_absolute: false,
            scopes: Vec::new(),
            name,
        }
    }
}

impl core::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.is_absolute {
            f.write_str("::")?;
        }
        self.scopes
            .iter()
            .try_for_each(|scope| write!(f, "{scope}::"))?;
        f.write_str(self.name)
    }
}

/// A type name in `(T)` or `sizeof(T)`.
#[derive(Debug)]
pub(super) struct TypeName<'t> {
    pub(super) offset: usize,
    pub(super) base: Base<'t>,
    /// The declarators from the inside out: `int (*)[4]` is an array of `int`, and a pointer to it.
    pub(super) declarators: Vec<Declarator>,
}

/// The base of a type name.
#[derive(Debug)]
pub(super) enum Base<'t> {
    /// A base type of C: `unsigned long int`, sorted.
    Words(Vec<&'t str>),
    /// A type of the program.
    Named { tag: Option<Tag>, path: Path<'t> },
}

/// The keyword before a type's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    /// `struct` or `class`, which C++ does not distinguish.
    Record,
    Union,
    Enumeration,
}

/// A derivation from a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Declarator {
    /// `*`, with the address space if it is named.
    Pointer(Option<AddressSpace>),
    /// `[N]`.
    Array(u64),
}
