use super::*;

#[test]
fn arrays_nest_in_braces() {
    let mut types = Types::default();
    let int = types.int();
    // int a1[3] = {1, 2, 3}; int a2[2][3]; int a3[2][2][2]
    let ty = types.array(int, &[3]);
    assert_eq!(types.print(ty, &ints(1..=3)), "{1, 2, 3}");
    let ty = types.array(int, &[2, 3]);
    assert_eq!(types.print(ty, &ints(1..=6)), "{{1, 2, 3}, {4, 5, 6}}");
    let ty = types.array(int, &[2, 2, 2]);
    assert_eq!(
        types.print(ty, &ints(1..=8)),
        "{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}"
    );
    let ty = types.array(int, &[0]);
    assert_eq!(types.print(ty, &[]), "{}");
}

#[test]
fn repeated_elements_are_counted() {
    let mut types = Types::default();
    let int = types.int();
    let mut print = |counts: &[u64], values: Vec<i32>| {
        let ty = types.array(int, counts);
        types.print(ty, &ints(values))
    };
    // int z10[10], z15[15];
    assert_eq!(print(&[10], vec![0; 10]), "{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}");
    assert_eq!(print(&[15], vec![0; 15]), "{0 <repeats 15 times>}");
    // int mix[20] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 3, 3};
    let mut mix = vec![0; 20];
    mix[0] = 1;
    mix[12..16].copy_from_slice(&[2, 3, 3, 3]);
    assert_eq!(
        print(&[20], mix),
        "{1, 0 <repeats 11 times>, 2, 3, 3, 3, 0, 0, 0, 0}"
    );
    // int two2[12][2] = {[0 ... 11] = {1, 2}}, mat20[20][12], nest[3][12] = {{1}, {2}, {3}};
    assert_eq!(
        print(&[12, 2], [1, 2].repeat(12)),
        "{{1, 2} <repeats 12 times>}"
    );
    let text = "{{0 <repeats 12 times>} <repeats 20 times>}";
    assert_eq!(print(&[20, 12], vec![0; 240]), text);
    let nest = (1..=3)
        .flat_map(|i| [vec![i], vec![0; 11]].concat())
        .collect();
    assert_eq!(
        print(&[3, 12], nest),
        "{{1, 0 <repeats 11 times>}, {2, 0 <repeats 11 times>}, {3, 0 <repeats 11 times>}}"
    );
}

#[test]
fn vectors_print_like_arrays() {
    let mut types = Types::default();
    // typedef float v2f __attribute__((vector_size(8))); v2f vf = {1.5f, 2};
    let float = types.float();
    let ty = types.sequence(float, &[2], true);
    let floats = |values: &[f32]| {
        values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<_>>()
    };
    assert_eq!(types.print(ty, &floats(&[1.5, 2.0])), "{1.5, 2}");
    // A vector of three stands in the place of four.
    let vector = TypeKind::Array {
        element: float,
        dimensions: vec![Dimension {
            lower_bound: 0,
            count: Some(3),
        }],
        stride_in_bits: None,
        vector: true,
    };
    let float3 = types.add(None, Some(16), vector);
    let pair = types.array(float3, &[2]);
    let bytes = floats(&[1.0, 2.0, 3.0, -1.0, 5.0, 6.0, 7.0, -1.0]);
    assert_eq!(types.print(pair, &bytes), "{{1, 2, 3}, {5, 6, 7}}");
    // DW_AT_LLVM_vector_size: the base type itself has elements.
    let vector = BaseType {
        encoding: BaseTypeEncoding::SignedChar,
        bit_size: 32,
        elements: 4,
        address_space: AddressSpace::None,
    };
    let ty = types.add(Some("char4"), Some(4), TypeKind::Base(vector));
    assert_eq!(types.print(ty, &[1, b'a', 0xff, 4]), "{1, 97, -1, 4}");
}

#[test]
fn a_stride_moves_the_elements_apart() {
    let mut types = Types::default();
    let int = types.int();
    let kind = TypeKind::Array {
        element: int,
        dimensions: [2, 2]
            .map(|count| Dimension {
                lower_bound: 1,
                count: Some(count),
            })
            .to_vec(),
        stride_in_bits: Some(64),
        vector: false,
    };
    let ty = types.add(None, Some(32), kind);
    assert_eq!(
        types.print(ty, &ints([1, -1, 2, -1, 3, -1, 4, -1])),
        "{{1, 2}, {3, 4}}"
    );
}

#[test]
fn members_have_names_and_anonymous_ones_none() {
    let mut types = Types::default();
    let (int, float) = (types.int(), types.float());
    // struct { int x; float y[3]; } st = {1, {0, 0.5, 1}};
    let y = types.array(float, &[3]);
    let st = types.record("", 16, vec![member("x", int, 0), member("y", y, 4)]);
    let bytes: Vec<u8> = ints([1])
        .into_iter()
        .chain([0f32, 0.5, 1.0].into_iter().flat_map(f32::to_le_bytes))
        .collect();
    assert_eq!(types.print(st, &bytes), "{x = 1, y = {0, 0.5, 1}}");
    // struct { int k; union { int i; float f; }; struct { int q; }; } an = {1, {2}, {3}};
    let union = types.record("", 4, vec![member("i", int, 0), member("f", float, 0)]);
    let inner = types.record("", 4, vec![member("q", int, 0)]);
    let members = vec![
        member("k", int, 0),
        member("", union, 4),
        member("", inner, 8),
    ];
    let an = types.record("", 12, members);
    // gdb: f = 2.80259693e-45
    assert_eq!(
        types.print(an, &ints([1, 2, 3])),
        "{k = 1, {i = 2, f = 3e-45}, {q = 3}}"
    );
    // union U { int i; float f; char c[4]; } un = { .f = 1.0f };
    let char = types.char();
    let c = types.array(char, &[4]);
    let members = vec![
        member("i", int, 0),
        member("f", float, 0),
        member("c", c, 0),
    ];
    let un = types.record("U", 4, members);
    let text = r#"{i = 1065353216, f = 1, c = "\000\000\200?"}"#;
    assert_eq!(types.print(un, &1f32.to_le_bytes()), text);
}

#[test]
fn structures_of_structures_and_arrays_of_structures() {
    let mut types = Types::default();
    let int = types.int();
    // struct P { int x, y; } pa[3] = {{1, 2}, {3, 4}, {5, 6}}, pz[20];
    let p = types.record("P", 8, vec![member("x", int, 0), member("y", int, 4)]);
    let pa = types.array(p, &[3]);
    let text = "{{x = 1, y = 2}, {x = 3, y = 4}, {x = 5, y = 6}}";
    assert_eq!(types.print(pa, &ints(1..=6)), text);
    let pz = types.array(p, &[20]);
    assert_eq!(
        types.print(pz, &[0; 160]),
        "{{x = 0, y = 0} <repeats 20 times>}"
    );
    // struct N1 { struct P p; struct { struct P q[2]; int z; } in; } nn = {{1, 2}, {{{3, 4}, {5, 6}}, 7}};
    let q = types.array(p, &[2]);
    let inner = types.record("", 20, vec![member("q", q, 0), member("z", int, 16)]);
    let nn = types.record("N1", 28, vec![member("p", p, 0), member("in", inner, 8)]);
    assert_eq!(
        types.print(nn, &ints(1..=7)),
        "{p = {x = 1, y = 2}, in = {q = {{x = 3, y = 4}, {x = 5, y = 6}}, z = 7}}"
    );
}

#[test]
fn bit_fields_are_cut_out_and_extended() {
    let mut types = Types::default();
    let int = types.int();
    let unsigned = types.base("unsigned int", BaseTypeEncoding::Unsigned, 32);
    let long = types.base("unsigned long", BaseTypeEncoding::Unsigned, 64);
    let bool = types.base("_Bool", BaseTypeEncoding::Boolean, 8);
    let schar = types.base("signed char", BaseTypeEncoding::SignedChar, 8);
    // struct B { int a : 3; unsigned b : 5; int c : 1; bool d : 1; unsigned long e : 40; signed char k : 4; }
    //   bfs = {-3, 17, -1, 1, 0x123456789a, -2}; gdb: k = -2 '\376'
    let members = vec![
        bits("a", int, 0, 3),
        bits("b", unsigned, 3, 5),
        bits("c", int, 8, 1),
        bits("d", bool, 9, 1),
        bits("e", long, 10, 40),
        bits("k", schar, 50, 4),
    ];
    let ty = types.record("B", 8, members);
    let fields = [
        (5u64, 0),
        (17, 3),
        (1, 8),
        (1, 9),
        (0x12_3456_789a, 10),
        (14, 50),
    ];
    let value = fields
        .iter()
        .fold(0, |value, (field, at)| value | field << at);
    assert_eq!(
        types.print(ty, &value.to_le_bytes()),
        "{a = -3, b = 17, c = -1, d = true, e = 78187493530, k = -2}"
    );
    // struct { enum F f : 3; enum C c : 4; } ebf = {A | B, BLUE}; a field of eight bits is a character
    let flags = types.enumeration(unsigned, &[("A", 1), ("B", 2), ("D", 4)]);
    let color = types.enumeration(int, &[("RED", 1), ("GREEN", 7), ("BLUE", -3)]);
    let members = vec![
        bits("f", flags, 0, 3),
        bits("c", color, 3, 4),
        bits("h", schar, 8, 8),
    ];
    let ty = types.record("", 4, members);
    let bytes = [0b0110_1011, b'q', 0, 0];
    assert_eq!(types.print(ty, &bytes), "{f = (A | B), c = BLUE, h = 'q'}");
}

#[test]
fn base_classes_come_first_in_angle_brackets() {
    let mut types = Types::default();
    let int = types.int();
    // struct Base { int b; }; struct Empty {}; struct D : Base { int d; }; struct D2 : Base {};
    // struct D3 : Base, Empty { int z; };
    let root = types.record("Base", 4, vec![member("b", int, 0)]);
    let empty = types.record("Empty", 1, vec![]);
    let d = types.record("D", 8, vec![base(root, 0), member("d", int, 4)]);
    assert_eq!(types.print(d, &ints([1, 2])), "{<Base> = {b = 1}, d = 2}");
    let d2 = types.record("D2", 4, vec![base(root, 0)]);
    assert_eq!(
        types.print(d2, &ints([7])),
        "{<Base> = {b = 7}, <No data fields>}"
    );
    let d3 = types.record(
        "D3",
        8,
        vec![base(root, 0), base(empty, 0), member("z", int, 4)],
    );
    assert_eq!(
        types.print(d3, &ints([8, 9])),
        "{<Base> = {b = 8}, <Empty> = {<No data fields>}, z = 9}"
    );
    assert_eq!(types.print(empty, &[0]), "{<No data fields>}");
    let three = types.array(empty, &[3]);
    assert_eq!(
        types.print(three, &[0; 3]),
        "{{<No data fields>}, {<No data fields>}, {<No data fields>}}"
    );
    // A virtual base lies where the virtual table says; gdb, which can read that, shows its members.
    let lost = Member {
        bit_offset: None,
        ..base(root, 0)
    };
    let v = types.record("V", 8, vec![lost, member("v", int, 0)]);
    assert_eq!(
        types.print(v, &ints([3, 0])),
        "{<Base> = <incomplete type>, v = 3}"
    );
}

#[test]
fn an_array_of_unknown_length_is_incomplete() {
    let mut types = Types::default();
    let int = types.int();
    // struct Z { int n; int vla[]; }
    let open = TypeKind::Array {
        element: int,
        dimensions: vec![Dimension {
            lower_bound: 0,
            count: None,
        }],
        stride_in_bits: None,
        vector: false,
    };
    let open = types.add(None, None, open);
    let z = types.record("Z", 4, vec![member("n", int, 0), member("vla", open, 4)]);
    assert_eq!(
        types.print(z, &ints([5])),
        "{n = 5, vla = <incomplete type>}"
    );
}
