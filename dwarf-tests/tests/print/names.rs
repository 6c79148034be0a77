//! Tests which of several entities with the same name an expression refers to (C17 §6.2.1, C++20 [basic.lookup.unqual]).
//!
//! The types differ in size, and the enumerators and variables in value, so each answer shows the entity. The numbers are from the source,
//! `names.cpp`, `scopes.cpp` and `unit_*`.

use super::cxx::{LOAD, Object, Row, Scratch, check, expressions_in, text};

/// The variables `o::level`, `level` and `n::level`, at the addresses that llvm-nm shows.
const OBJECT: Object = Object {
    path: "print/names.hsaco",
    words: &[(0x4270, 4), (0x4274, 1), (0x427c, 2)],
};

/// The addresses of the instructions `s_nop`, from llvm-objdump.
const OTHER: u64 = 0x14ac;
const INSIDE: u64 = 0x1530;
const INLINED: u64 = 0x1724;
const OUTSIDE: u64 = 0x1778;
const BLOCKS: u64 = 0x1bd8;

/// Rows for a frame at an address.
type Place = (&'static str, u64, &'static [Row]);

#[rustfmt::skip]
const PLACES: &[Place] = &[
    ("0", OTHER, &[
        ("sizeof(T)", "unsigned long", |_| text(50)),
        ("sizeof(::T)", "unsigned long", |_| text(1)),
        ("sizeof(struct T)", "unsigned long", |_| text(50)),
        ("sizeof(Mine)", "unsigned long", |_| text(51)),
        ("WHERE + 0", "unsigned int", |_| text(50)),
        ("sizeof(n::T)", "unsigned long", |_| text(2)),
    ]),
    ("0", INSIDE, &[
        ("sizeof(T)", "unsigned long", |_| text(2)),
        ("sizeof(::T)", "unsigned long", |_| text(1)),
        ("sizeof(m::T)", "unsigned long", |_| text(3)),
        ("sizeof(o::T)", "unsigned long", |_| text(4)),
        ("sizeof(N)", "unsigned long", |_| text(20)),
        ("sizeof(O)", "unsigned long", |_| text(23)),
        ("sizeof(other::T)", "unsigned long", |_| text(50)),
        ("WHERE + 0", "unsigned int", |_| text(2)),
        ("level", "int", |_| text(2)),
        ("(char *)&number - (char *)&n::number", "long", |_| text(0)),
    ]),
    // The inlined function belongs to a namespace, and the function that contains it does not.
    ("0", INLINED, &[
        ("sizeof(T)", "unsigned long", |_| text(2)),
        ("sizeof(N)", "unsigned long", |_| text(20)),
        ("sizeof(Own)", "unsigned long", |_| text(30)),
        ("level", "int", |_| text(2)),
        ("o::level + ::level", "int", |_| text(5)),
    ]),
    ("1", INLINED, &[
        ("sizeof(T)", "unsigned long", |_| text(1)),
        ("sizeof(n::inlined::Own)", "unsigned long", |_| text(30)),
        ("sizeof(inlined::Own)", "unsigned long", |_| text(30)),
        ("level", "int", |_| text(1)),
    ]),
    ("0", OUTSIDE, &[
        ("sizeof(T)", "unsigned long", |_| text(1)),
        ("WHERE + 0", "unsigned int", |_| text(2)),
        ("other::ONLY + 0", "unsigned int", |_| text(51)),
        ("level", "int", |_| text(1)),
    ]),
    ("0", BLOCKS, &[
        ("sizeof(Block)", "unsigned long", |_| text(62)),
        ("sizeof(t)", "unsigned long", |_| text(60)),
        ("sizeof(::T)", "unsigned long", |_| text(1)),
    ]),
];

/// An object with four units, each with its own types.
const UNITS: Object = Object {
    path: "print/units.hsaco",
    words: &[],
};

/// `u::far` of the first unit is inlined into `call` of the second one. 0x20f4 is in `run_d` of the last unit. The first two units have a static
/// function `helper` each: llvm-nm shows 0x1400 and 0x168c.
#[rustfmt::skip]
const UNIT_PLACES: &[Place] = &[
    ("0", 0x1a40, &[
        ("sizeof(T)", "unsigned long", |_| text(80)),
        ("sizeof(Own)", "unsigned long", |_| text(81)),
        ("sizeof(V)", "unsigned long", |_| text(74)),
        ("(unsigned long)&helper", "unsigned long", |_| text(LOAD + 0x1400)),
    ]),
    ("1", 0x1a40, &[
        ("sizeof(T)", "unsigned long", |_| text(83)),
        ("sizeof(::T)", "unsigned long", |_| text(82)),
        ("sizeof(u::T)", "unsigned long", |_| text(80)),
        // An inline namespace can be left out. An enumerator is in the scope of its enumeration and in the scope around it.
        ("sizeof(n::V)", "unsigned long", |_| text(74)),
        ("sizeof(::n::v1::V)", "unsigned long", |_| text(74)),
        ("::n::IN + 0", "unsigned int", |_| text(5)),
        ("n::v1::IN + 0", "unsigned int", |_| text(5)),
        ("n::Which::IN + 0", "unsigned int", |_| text(5)),
        ("(unsigned long)&helper", "unsigned long", |_| text(LOAD + 0x168c)),
    ]),
    // In C, `Both` is the typedef, although a structure is nearer. VALUE is the enumerator: the structure needs its keyword.
    ("0", 0x20f4, &[
        ("sizeof(struct Fwd)", "unsigned long", |_| text(71)),
        ("sizeof(struct U)", "unsigned long", |_| text(73)),
        ("sizeof(Both)", "unsigned long", |_| text(75)),
        ("sizeof(struct Both)", "unsigned long", |_| text(77)),
        ("(VALUE) - 1", "unsigned int", |_| text(7)),
    ]),
];

const SCOPES: Object = Object {
    path: "print/scopes.hsaco",
    words: &[],
};
/// The program of [`SCOPES`], with names of template instances that lack their arguments.
const SIMPLE_NAMES: Object = Object {
    path: "print/simple-names.hsaco",
    words: &[],
};
/// The program of [`SCOPES`], with its classes in type units.
const TYPE_UNITS: Object = Object {
    path: "print/type-units.hsaco",
    words: &[],
};

/// 0x1904 and 0x2144 are in `get` of `Class<Hidden>` and `Class<Wide>`, 0x1390 in the lambda, and 0x162c in `plain`.
#[rustfmt::skip]
const SCOPE_PLACES: &[Place] = &[
    ("0", 0x1904, &[
        ("sizeof(N)", "unsigned long", |_| text(51)),
        ("KIND + 0", "unsigned int", |_| text(61)),
        ("constant", "const int", |_| text(71)),
        ("K", "const int", |_| text(43)),
        // Names of base classes precede those around the class, and hide those of their own base classes (C++20 [class.member.lookup]).
        ("sizeof(T)", "unsigned long", |_| text(41)),
        ("sizeof(It)", "unsigned long", |_| text(45)),
        ("sizeof(Base::It)", "unsigned long", |_| text(42)),
        ("sizeof(get::N)", "unsigned long", |_| text(90)),
        ("(unsigned long)&get", "unsigned long", |_| text(LOAD + 0x1758)),
    ]),
    ("0", 0x2144, &[
        ("sizeof(N)", "unsigned long", |_| text(58)),
        ("KIND + 0", "unsigned int", |_| text(68)),
        ("constant", "const int", |_| text(78)),
        ("(unsigned long)&get", "unsigned long", |_| text(LOAD + 0x1f80)),
    ]),
    // A lambda sees the names of its function.
    ("0", 0x1390, &[
        ("sizeof(L)", "unsigned long", |_| text(33)),
        ("V + 0", "unsigned int", |_| text(34)),
    ]),
    ("0", 0x162c, &[
        ("sizeof(L)", "unsigned long", |_| text(2)),
        // Enumerators of an `enum class` and of a class need its name.
        ("X + 0", "unsigned int", |_| text(14)),
        ("(int)Second::X", "int", |_| text(12)),
        ("Outer::X + 0", "unsigned int", |_| text(16)),
        ("VALUE + 0", "unsigned int", |_| text(15)),
    ]),
];

/// Parameters of templates, and names that hide variables. The variables are `N`, `hidden`, `variable<int>` and `variable<Wide>`.
const TEMPLATES: Object = Object {
    path: "print/templates.hsaco",
    words: &[(0x4650, 91), (0x4654, 92), (0x4658, 931), (0x465c, 932)],
};

/// 0x1ec8 and 0x20dc are in `function<Wide, 3>` and `function<T, -4>`, 0x18ac is in `inlined<Wide, 6>`, 0x23a8 in `both<T>` of `Box<Wide, 5>`, 0x24b0
/// in `get` of a class derived from it, 0x2570 in `values`, and 0x1384 in `plain`.
#[rustfmt::skip]
const TEMPLATE_PLACES: &[Place] = &[
    ("0", 0x1ec8, &[
        ("sizeof(T)", "unsigned long", |_| text(8)),
        ("sizeof(::T)", "unsigned long", |_| text(90)),
        ("N", "int", |_| text(3)),
        ("::N", "int", |_| text(91)),
    ]),
    ("0", 0x20dc, &[
        ("sizeof(T)", "unsigned long", |_| text(90)),
        ("N", "int", |_| text(-4)),
    ]),
    ("0", 0x18ac, &[
        ("sizeof(T)", "unsigned long", |_| text(8)),
        ("N", "int", |_| text(6)),
    ]),
    ("1", 0x18ac, &[
        ("sizeof(T)", "unsigned long", |_| text(90)),
        ("N", "int", |_| text(91)),
        ("_Z8variableIiE", "int", |_| text(931)),
    ]),
    // A member function has the parameters of its class, too. Its enumerator `seen` hides the member of the base class.
    ("0", 0x23a8, &[
        ("sizeof(T)", "unsigned long", |_| text(8)),
        ("sizeof(U)", "unsigned long", |_| text(90)),
        ("N", "int", |_| text(5)),
        ("INNER + 0", "unsigned int", |_| text(6)),
        ("sizeof(Part)", "unsigned long", |_| text(15)),
        ("seen + 0", "unsigned int", |_| text(94)),
        // Spaces in the name of an instance do not matter. The class has a base class of 8 bytes, `c` and `part`, in dwords.
        ("sizeof(Box<Wide,5>)", "unsigned long", |_| text(32)),
        ("sizeof(struct Box < Wide , 5 >)", "unsigned long", |_| text(32)),
        ("sizeof('Box<Wide, 5>')", "unsigned long", |_| text(32)),
        ("sizeof(Box<Wide, 5>::Part)", "unsigned long", |_| text(15)),
        ("Box<Wide, 5>::INNER + 0", "unsigned int", |_| text(6)),
        ("(unsigned long)&function<T, -4>", "unsigned long", |_| text(LOAD + 0x1f08)),
        ("N < 6 && 4 > N", "int", |_| text(0)),
    ]),
    // Members are inherited, and parameters of a template are not (C++20 [basic.scope.temp]).
    ("0", 0x24b0, &[
        ("sizeof(T)", "unsigned long", |_| text(90)),
        ("N", "int", |_| text(91)),
        ("INNER + 0", "unsigned int", |_| text(6)),
    ]),
    ("0", 0x2570, &[
        ("P == &N", "int", |_| text(1)),
        ("*P", "const int", |_| text(91)),
        ("B", "bool", |_| text(true)),
        ("L", "unsigned long long", |_| text(1_u64 << 40)),
        ("sizeof(V *)", "unsigned long", |_| text(8)),
    ]),
    ("0", 0x1384, &[
        ("hidden + 0", "unsigned int", |_| text(95)),
        ("::hidden", "int", |_| text(92)),
    ]),
];

/// Variables of four units, at the addresses that llvm-nm shows: `counter` and `other` of the first and of the second unit, `shared`, `n::level`,
/// `o::level`, `o::n::level`, and `outside` of the first and of the fourth unit.
const VARIABLES: Object = Object {
    path: "print/variables.hsaco",
    words: &[
        (0x4200, 1),
        (0x4204, 2),
        (0x420c, 11),
        (0x4210, 12),
        (0x41f0, 3),
        (0x41f4, 4),
        (0x41f8, 5),
        (0x41fc, 6),
        (0x4208, 7),
        (0x4214, 8),
    ],
};

/// At 0x1904, `far` of the first unit is inlined into `o::call` of the second one. 0x1b04 is in a member function in the second unit, whose class is in
/// the first one. 0x1f50 is in the third unit, in a function of the namespace `o`.
#[rustfmt::skip]
const VARIABLE_PLACES: &[Place] = &[
    ("0", 0x1904, &[
        ("counter", "int", |_| text(1)),
        ("other", "int", |_| text(2)),
        ("n::level", "int", |_| text(4)),
    ]),
    ("1", 0x1904, &[
        ("counter", "int", |_| text(11)),
        ("other", "int", |_| text(12)),
        ("shared", "int", |_| text(3)),
        // The namespace `n` is looked up from the inside out, like any name.
        ("level", "int", |_| text(5)),
        ("n::level", "int", |_| text(6)),
        ("::n::level", "int", |_| text(4)),
    ]),
    ("0", 0x1b04, &[
        ("counter", "int", |_| text(11)),
        ("outside", "int", |_| text(8)),
    ]),
    ("0", 0x1f50, &[
        ("shared", "int", |_| text(3)),
        ("level", "int", |_| text(5)),
        ("n::level", "int", |_| text(6)),
        ("::n::level", "int", |_| text(4)),
        ("sizeof(Across)", "unsigned long", |_| text(71)),
        ("sizeof(x::Across)", "unsigned long", |_| text(72)),
        ("_ZN1o5levelE", "int", |_| text(5)),
        // The unit declares it, so the `static` variable of the first unit is not meant.
        ("outside", "int", |_| text(8)),
    ]),
];

/// Names that hide each other. Each size or value is in `hiding.cpp`.
const HIDING: Object = Object {
    path: "print/hiding.hsaco",
    words: &[],
};

/// The program of [`HIDING`] as DWARF 4, in which a static data member is a member.
const HIDING_DWARF_4: Object = Object {
    path: "print/hiding-dwarf4.hsaco",
    words: &[],
};

#[rustfmt::skip]
const HIDING_PLACES: &[Place] = &[
    // Static members of a base class precede names around the class.
    ("0", 0x2680, &[
        ("sizeof(count)", "unsigned long", |_| text(6)),
        ("sizeof(total)", "unsigned long", |_| text(7)),
        ("sizeof(third)", "unsigned long", |_| text(8)),
        ("sizeof(fourth)", "unsigned long", |_| text(9)),
        ("sizeof(::fourth)", "unsigned long", |_| text(11)),
    ]),
    ("0", 0x13c0, &[
        ("sizeof(level)", "unsigned long", |_| text(14)),
        ("sizeof(lib::level)", "unsigned long", |_| text(14)),
        ("sizeof(deep::level)", "unsigned long", |_| text(15)),
        ("::level + 0", "unsigned int", |_| text(13)),
    ]),
    ("0", 0x27c8, &[("NEAR + 0", "unsigned int", |_| text(16))]),
    ("0", 0x2878, &[("e + 0", "unsigned int", |_| text(18))]),
    // In the lambda, and in the local class.
    ("0", 0x2944, &[
        ("K", "const int", |_| text(21)),
        ("sizeof(st)", "unsigned long", |_| text(22)),
        ("sizeof(own)", "unsigned long", |_| text(4)),
        ("::K + 0", "unsigned int", |_| text(19)),
    ]),
    ("0", 0x2bac, &[
        ("K", "const int", |_| text(21)),
        ("sizeof(st)", "unsigned long", |_| text(22)),
    ]),
    ("0", 0x2db4, &[("N", "int", |_| text(27))]),
    // A name of a template begins arguments only if it is no value.
    ("0", 0x3028, &[
        ("ONE + 1", "unsigned int", |_| text(24)),
        ("ONE < 24 && 25 > ONE", "int", |_| text(1)),
        ("ONE << 1", "unsigned int", |_| text(46)),
        ("sizeof(size < 3 && 4 > x)", "unsigned long", |_| text(4)),
        ("sizeof(this->size < 3)", "unsigned long", |_| text(4)),
        ("sizeof(this->size < 3 && 4 > x)", "unsigned long", |_| text(4)),
        ("(unsigned long)&::size<int>", "unsigned long", |_| text(LOAD + 0x2eac)),
        ("(unsigned long)&q::ONE<2>", "unsigned long", |_| text(LOAD + 0x2f1c)),
    ]),
    // In `run`, `size` alone is the template.
    ("0", 0x1700, &[("sizeof(s->size < 3 && 4 > s->size)", "unsigned long", |_| text(4))]),
    // The variable `e` is in another block of the function.
    ("0", 0x1534, &[("(int)e", "int", |_| text(18))]),
    ("0", 0x30b4, &[
        ("size", "int", |_| text(29)),
        ("size < 30 && 30 > size", "int", |_| text(1)),
    ]),
    ("0", 0x3134, &[
        ("sizeof(Type)", "unsigned long", |_| text(4)),
        ("sizeof(::Type)", "unsigned long", |_| text(24)),
    ]),
];

/// Classes without a name, using-declarations, and a class that is defined in another unit. The variables are at the addresses that llvm-nm shows:
/// `len`, `cap`, `a::v`, `b::w`, `inner::x`, `nested`, `Base::st` and `Key::kst`.
const NAMELESS: Object = Object {
    path: "print/nameless.hsaco",
    words: &[
        (0x5048, 5),
        (0x504c, 6),
        (0x5050, 7),
        (0x505c, 11),
        (0x5060, 12),
        (0x5064, 13),
        (0x507c, 19),
        (0x5080, 20),
    ],
};

#[rustfmt::skip]
const NAMELESS_PLACES: &[Place] = &[
    // The members of `first` and `second` have a structure in the function, and `nested` belongs to `part`.
    ("0", 0x27d0, &[
        ("len", "int", |_| text(5)),
        ("nested", "int", |_| text(13)),
        ("&m == &this->m", "int", |_| text(1)),
        ("&joined == &this->joined", "int", |_| text(1)),
    ]),
    ("0", 0x28e8, &[("inner::x", "int", |_| text(12))]),
    ("0", 0x19f4, &[
        ("v", "int", |_| text(7)),
        ("w", "int", |_| text(11)),
        ("sizeof(t)", "unsigned long", |_| text(9)),
    ]),
    ("0", 0x1b08, &[
        ("st", "int", |_| text(19)),
        ("kst", "int", |_| text(20)),
    ]),
];

/// Variables of a function, which hide variables of file scope in its lambdas and local classes. `kept` of the function and of the file are at the addresses
/// that llvm-nm shows.
const LOCALS: Object = Object {
    path: "print/locals.hsaco",
    words: &[(0x4ac0, 36), (0x4a80, 31), (0x4af0, 37)],
};

/// 0x1c1c, 0x1d64 and 0x2458 are in the lambdas `inner`, `captured` and `direct`, 0x1ea0 in the local class, 0x2204 in `outer`, and 0x1b70 in the lambda of
/// `inlined`.
#[rustfmt::skip]
const LOCAL_PLACES: &[Place] = &[
    ("0", 0x1c1c, &[
        ("(int)outer::kept[0]", "int", |_| text(36)),
        ("(int)::kept[0]", "int", |_| text(31)),
        ("(int)only[0]", "int", |_| text(37)),
        ("sizeof(outer::tile)", "unsigned long", |_| text(38)),
        ("sizeof(local)", "unsigned long", |_| text(39)),
        // It is declared after the lambda.
        ("sizeof(later)", "unsigned long", |_| text(4)),
        ("sizeof(plain)", "unsigned long", |_| text(8)),
        ("sizeof(::plain)", "unsigned long", |_| text(4)),
    ]),
    // The lambda has a reference to `plain`.
    ("0", 0x1d64, &[("sizeof(plain + 0)", "unsigned long", |_| text(8))]),
    ("0", 0x2458, &[("(int)only[0]", "int", |_| text(37))]),
    // The function of the class has a variable of its own, and a structure inside the class has a member.
    ("0", 0x1ea0, &[
        ("sizeof(kept)", "unsigned long", |_| text(40)),
        ("sizeof(only)", "unsigned long", |_| text(37)),
        ("sizeof(part.only)", "unsigned long", |_| text(4)),
    ]),
    ("0", 0x2204, &[
        ("(int)kept[0]", "int", |_| text(36)),
        ("sizeof(later)", "unsigned long", |_| text(41)),
        ("sizeof(plain)", "unsigned long", |_| text(8)),
        ("sizeof(outer::plain)", "unsigned long", |_| text(8)),
        ("sizeof(::plain)", "unsigned long", |_| text(4)),
    ]),
    ("0", 0x1b70, &[("sizeof(own)", "unsigned long", |_| text(4))]),
    ("1", 0x1b70, &[("sizeof(shared)", "unsigned long", |_| text(4))]),
];

/// Blocks in blocks, instances as arguments of templates, and the parameter of a template of variables, which is no name in the file.
const NESTED: Object = Object {
    path: "print/nested.hsaco",
    words: &[],
};

#[rustfmt::skip]
const NESTED_PLACES: &[Place] = &[
    ("0", 0x141c, &[
        ("sizeof(v)", "unsigned long", |_| text(14)),
        ("sizeof(U)", "unsigned long", |_| text(12)),
        ("sizeof(Wrap<Wrap<U>>)", "unsigned long", |_| text(48)),
    ]),
    ("0", 0x145c, &[("sizeof(v)", "unsigned long", |_| text(13))]),
];

fn check_places(object: &Object, places: &[Place]) {
    for (frame, pc, rows) in places {
        let texts = rows.iter().map(|(text, ..)| *text);
        let answers = expressions_in(frame, "names", (object, *pc), Scratch::new(), texts);
        check(rows, &answers);
    }
}

#[test]
fn names_refer_to_the_nearest_entity() {
    check_places(&OBJECT, PLACES);
    check_places(&UNITS, UNIT_PLACES);
    check_places(&SCOPES, SCOPE_PLACES);
    check_places(&SIMPLE_NAMES, SCOPE_PLACES);
    check_places(&TYPE_UNITS, SCOPE_PLACES);
    check_places(&TEMPLATES, TEMPLATE_PLACES);
    check_places(&VARIABLES, VARIABLE_PLACES);
    check_places(&HIDING, HIDING_PLACES);
    check_places(&HIDING_DWARF_4, HIDING_PLACES);
    check_places(&NAMELESS, NAMELESS_PLACES);
    check_places(&LOCALS, LOCAL_PLACES);
    check_places(&NESTED, NESTED_PLACES);
}

/// Expressions that are wrong in a frame at an address of an object, and the messages.
#[rustfmt::skip]
const FAULTS: &[(&Object, &str, u64, &str, &str)] = &[
    (&OBJECT, "0", INSIDE, "sizeof(Mine)", "there is no type `Mine`; did you mean `other::Mine`?"),
    (&OBJECT, "0", INSIDE, "ONLY", "there is no `ONLY` here; did you mean `other::ONLY`?"),
    (&OBJECT, "1", INLINED, "sizeof(Own)", "there is no type `Own`; did you mean `n::inlined::Own`?"),
    (&OBJECT, "0", OUTSIDE, "sizeof(N)", "`N` is ambiguous: o::N, n::N"),
    (&OBJECT, "0", OUTSIDE, "&number", "`number` is ambiguous: o::number, n::number"),
    (&OBJECT, "0", BLOCKS, "sizeof(T)", "`T` is ambiguous: blocks::T (line 52), blocks::T (line 54)"),
    (&OBJECT, "0", INSIDE, "sizeof(blocks::T)", "`blocks::T` is ambiguous: blocks::T (line 52), blocks::T (line 54)"),
    (&OBJECT, "0", INSIDE, "sizeof(::Mine)", "there is no `::Mine` here; did you mean `Mine`?"),
    (&TEMPLATES, "1", 0x18ac, "variable", "`variable` is ambiguous: variable (_Z8variableIiE), variable (_Z8variableI4WideE)"),
    (&TEMPLATES, "0", 0x1ec8, "sizeof(U)", "there is no `U` here"),
    (&VARIABLES, "0", 0x1904, "level", "`level` is ambiguous: n::level, o::level, o::n::level"),
    (&VARIABLES, "0", 0x1f50, "counter", "`counter` is ambiguous: counter (variables_a.cpp), counter (variables_b.cpp)"),
    (&NAMELESS, "0", 0x2d0c, "m", "it is a member of a class of which the frame has no object, or which this unit only declares"),
    (&NAMELESS, "0", 0x1b08, "km", "it is a member of a class of which the frame has no object, or which this unit only declares"),
    (&NAMELESS, "0", 0x28e8, "Nope::x", "there is no `Nope::x` here; did you mean `x`?"),
    (&TEMPLATES, "0", 0x23a8, "Box<Wide, 5>::N", "there is no `Box<Wide, 5>::N` here; did you mean `N`?"),
    (&HIDING, "0", 0x2944, "::own", "there is no `::own` here"),
    (&LOCALS, "0", 0x2204, "::outer::plain", "there is no `::outer::plain` here; did you mean `plain`?"),
    (&LOCALS, "0", 0x2204, "er::plain", "there is no `er::plain` here; did you mean `plain`?"),
    (&LOCALS, "0", 0x1c1c, "kept", "`kept` is ambiguous: outer::kept (line 16), kept"),
    (&LOCALS, "0", 0x1c1c, "plain", "it is a variable of the function around this one, and no frame near this one has it"),
    (&LOCALS, "0", 0x2458, "plain", "there is no `plain` here; frame 1, outer, has one: --frame 1"),
    (&LOCALS, "0", 0x1b70, "own", "there is no `own` here; frame 1, inlined, has one: --frame 1"),
    (&LOCALS, "0", 0x1b70, "shared", "`shared` is ambiguous: inlined::shared (line 8), shared"),
    (&HIDING, "0", 0x2e74, "N", "`N` is ambiguous: N (a parameter of the template), Named::N"),
    (&HIDING, "0", 0x1534, "inside", "`inside` is ambiguous: blocks::inside (line 132), blocks::inside (line 133)"),
    (&HIDING, "0", 0x3134, "Type", "a type has no value; use `sizeof` or a cast, `(T) x`"),
    (&HIDING, "0", 0x3028, "parameter<30>", "there is no `parameter<30>` here; did you mean `parameter<29>`?"),
];

#[test]
fn names_that_are_not_visible_or_not_unique_are_errors() {
    for (object, frame, pc, expression, message) in FAULTS {
        let texts = [*expression].into_iter();
        let answers = expressions_in(frame, "name-faults", (object, *pc), Scratch::new(), texts);
        let found = answers[0]["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(found, *message, "{expression}: {}", answers[0]);
    }
}

/// clang gives the body of an OpenCL kernel the kernel's name, too. llvm-nm shows 0x1900 for the kernel `k` of the demo, which is loaded at
/// 0x7f4000000000.
#[test]
fn the_name_of_a_kernel_is_its_entry() {
    let demo = dwarf_tests::package().join("../examples/demo");
    let path = |name: &str| demo.join(name).to_str().unwrap().to_owned();
    let (object, wave) = (path("calls-O2.rocm.hsaco"), path("stop.json"));
    let ran = dwarf_tests::hetdwarf(["print", &object, "--wave", &wave, "--", "k"]);
    assert!(
        ran.out.starts_with("k = 0x7f4000001900"),
        "{}{}",
        ran.out,
        ran.err
    );
}
