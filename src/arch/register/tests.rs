use super::*;
use crate::arch::WaveSize::{Wave32, Wave64};

/// The table of USAGE "Register Identifier" (LLVM 22), copied by hand: first and last number, the name of the first register, size in bits.
/// Reserved rows have no name.
#[rustfmt::skip]
const USAGE: &[(u16, u16, &str, u32)] = &[
    (0, 0, "PC_32", 32),
    (1, 1, "EXEC_MASK_32", 32),
    (2, 15, "", 0),
    (16, 16, "PC_64", 64),
    (17, 17, "EXEC_MASK_64", 64),
    (18, 31, "", 0),
    (32, 95, "SGPR0", 32),
    (96, 127, "", 0),
    (128, 128, "STATUS", 32),
    (129, 511, "", 0),
    (512, 512, "VCC_32", 32),
    (513, 767, "", 0),
    (768, 768, "VCC_64", 64),
    (769, 1023, "", 0),
    (1024, 1087, "", 0),
    (1088, 1129, "SGPR64", 32),
    (1130, 1535, "", 0),
    (1536, 2047, "VGPR0", 1024),
    (2048, 2303, "AGPR0", 1024),
    (2304, 2559, "", 0),
    (2560, 2815, "VGPR0", 2048),
    (2816, 3071, "", 0),
    (3072, 3327, "AGPR0", 2048),
    (3328, 3583, "", 0),
    (3584, 4095, "VGPR512", 1024),
];

fn every() -> impl Iterator<Item = Register> {
    (0..=4095).map(Register)
}

#[test]
fn the_table_is_that_of_the_document() {
    assert_eq!(Register::ranges().len(), USAGE.len());
    for (range, &(first, last, name, bits)) in Register::ranges().iter().zip(USAGE) {
        assert_eq!((range.first, range.last), (first, last));
        assert_eq!(range.is_reserved(), name.is_empty());
        assert_eq!(range.name, if name.is_empty() { "reserved" } else { name });
        for number in [first, last] {
            let size = Register(number).size_in_bits();
            assert_eq!(size, (bits != 0).then_some(bits), "{number}");
        }
    }
}

#[test]
fn the_table_has_neither_gaps_nor_overlaps() {
    let mut next = 0;
    for range in Register::ranges() {
        assert_eq!(range.first, next);
        assert!(range.first <= range.last);
        next = range.last + 1;
    }
    assert_eq!(next, 4096);
}

/// The assembler's name and the size on both sides of every boundary, derived from the table of USAGE.
#[test]
fn boundaries_are_where_the_document_puts_them() {
    let cases: &[(u16, &str, u32)] = &[
        (31, "reg 31", 0),
        (32, "s0", 32),
        (95, "s63", 32),
        (96, "reg 96", 0),
        (1087, "reg 1087", 0),
        (1088, "s64", 32),
        (1129, "s105", 32),
        (1130, "reg 1130", 0),
        (1535, "reg 1535", 0),
        (1536, "v0", 1024),
        (2047, "v511", 1024),
        (2048, "a0", 1024),
        (2303, "a255", 1024),
        (2304, "reg 2304", 0),
        (2559, "reg 2559", 0),
        (2560, "v0", 2048),
        (2602, "v42", 2048),
        (2815, "v255", 2048),
        (2816, "reg 2816", 0),
        (3071, "reg 3071", 0),
        (3072, "a0", 2048),
        (3327, "a255", 2048),
        (3328, "reg 3328", 0),
        (3583, "reg 3583", 0),
        (3584, "v512", 1024),
        (4095, "v1023", 1024),
        (4096, "reg 4096", 0),
        (0, "pc", 32),
        (1, "exec", 32),
        (16, "pc", 64),
        (17, "exec", 64),
        (127, "reg 127", 0),
        (128, "status", 32),
        (129, "reg 129", 0),
        (512, "vcc", 32),
        (768, "vcc", 64),
    ];
    for &(number, name, bits) in cases {
        let register = Register(number);
        assert_eq!(register.to_string(), name);
        assert_eq!(register.size_in_bits(), (bits != 0).then_some(bits));
        assert_eq!(register.class().is_none(), bits == 0);
        assert_eq!(
            Register::from_number(u64::from(number)),
            (number < 4096).then_some(register)
        );
    }
    assert_eq!(Register::from_number(0x1_0000), None);
    assert_eq!(Register::from_number(0x1_0020), None);
    assert_eq!(Register::from_number(u64::MAX), None);
}

#[test]
fn every_register_is_found_by_class_index_and_wave_size() {
    for register in every() {
        let sizes = match register.wave_size() {
            Some(size) => vec![size],
            None => vec![Wave32, Wave64],
        };
        for size in sizes {
            let found = match (register.class(), register.index()) {
                (Some(RegisterClass::Sgpr), Some(n)) => Register::sgpr(n),
                (Some(RegisterClass::Vgpr), Some(n)) => Register::vgpr(n, size),
                (Some(RegisterClass::Agpr), Some(n)) => Register::agpr(n, size),
                (Some(RegisterClass::Exec), None) => Some(Register::exec(size)),
                (Some(RegisterClass::Vcc), None) => Some(Register::vcc(size)),
                (Some(RegisterClass::Pc | RegisterClass::Status) | None, None) => continue,
                other => panic!("{register:?} is {other:?}"),
            };
            assert_eq!(found, Some(register));
        }
    }
}

#[test]
fn registers_without_a_number_are_not_found() {
    assert_eq!(Register::sgpr(105), Some(Register(1129)));
    assert_eq!(Register::sgpr(106), None);
    assert_eq!(Register::vgpr(256, Wave64), None);
    assert_eq!(Register::vgpr(1023, Wave32), Some(Register(4095)));
    assert_eq!(Register::vgpr(1024, Wave32), None);
    assert_eq!(Register::agpr(255, Wave64), Some(Register(3327)));
    assert_eq!(Register::agpr(256, Wave32), None);
    assert_eq!(Register::sgpr(u16::MAX), None);
}

#[test]
fn vector_registers_have_32_bits_a_lane() {
    for register in every() {
        let vector = register.is_vector();
        if vector {
            let lanes = register.wave_size().unwrap().lanes();
            assert_eq!(register.size_in_bits(), Some(32 * lanes));
        }
        let name = register.to_string();
        let indexed = name.strip_prefix(['v', 'a']).map(str::parse::<u16>);
        assert_eq!(vector, matches!(indexed, Some(Ok(_))), "{name}");
    }
}

#[test]
fn the_assemblers_names_read_back() {
    for register in every() {
        let name = register.to_string();
        let expected = match register {
            // `pc` is the program counter of a 64-bit process.
            Register::PC_32 => Register::PC_64,
            other => other,
        };
        let parsed = |name: &str| Register::from_name(name, register.wave_size());
        assert_eq!(parsed(&name), Some(expected));
        assert_eq!(parsed(&name.to_uppercase()), Some(expected));
    }
}

#[test]
fn llvms_names_read_back() {
    for register in every() {
        let Some(name) = register.llvm_name() else {
            assert!(!register.llvm_dwarfdump_knows());
            continue;
        };
        let name = name.to_string();
        assert_eq!(
            Register::from_name(&name, register.wave_size()),
            Some(register)
        );
        assert_eq!(
            Register::from_name(&name.to_lowercase(), register.wave_size()),
            Some(register)
        );
    }
}

/// The recorded output of `llvm-dwarfdump` for every number. Names that it prints equal ours, and ours without a wave size parse as the
/// number for which it was printed.
#[test]
fn llvm_dwarfdump_prints_the_same_names() {
    let recorded = include_str!("llvm-dwarfdump-22.txt");
    let mut names = vec![None; 4200];
    for line in recorded.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let mut number = || words.next().unwrap().parse::<usize>().unwrap();
        let (first, last) = (number(), number());
        let name = words.next().unwrap();
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let index = name.strip_prefix(stem).unwrap().parse::<usize>();
        for (offset, printed) in names[first..=last].iter_mut().enumerate() {
            *printed = Some(match &index {
                Ok(index) => format!("{stem}{}", index + offset),
                Err(_) => name.to_owned(),
            });
        }
    }
    for (number, printed) in (0..).zip(names) {
        let register = Register(number);
        assert_eq!(register.llvm_dwarfdump_knows(), printed.is_some());
        let Some(printed) = printed else { continue };
        assert_eq!(register.llvm_name().unwrap().to_string(), printed);
        assert_eq!(Register::from_name(&printed, None), Some(register));
    }
}

#[test]
fn names_are_read_in_every_spelling() {
    let cases = [
        ("v42", None, 2602),
        ("v42", Some(Wave64), 2602),
        ("v42", Some(Wave32), 1578),
        ("VGPR42", Some(Wave32), 1578),
        ("v600", Some(Wave32), 3672),
        ("a3", None, 3075),
        ("Agpr3", Some(Wave32), 2051),
        ("s33", Some(Wave32), 65),
        ("sgpr33", None, 65),
        ("exec", None, 17),
        ("EXEC", Some(Wave32), 1),
        ("exec_lo", Some(Wave64), 1),
        ("exec_mask_64", Some(Wave32), 17),
        ("vcc", None, 768),
        ("vcc", Some(Wave32), 512),
        ("VCC_LO", None, 512),
        ("pc", Some(Wave32), 16),
        ("PC_REG", None, 16),
        ("pc_32", None, 0),
        ("Status", None, 128),
        ("2602", None, 2602),
        ("0xa2a", None, 2602),
        ("0XA2A", None, 2602),
        ("reg1536", None, 1536),
        ("reg 130", None, 130),
        ("VGPR300", Some(Wave32), 1836),
        ("VGPR300", Some(Wave64), 2860),
    ];
    for (name, wave_size, number) in cases {
        assert_eq!(
            Register::from_name(name, wave_size),
            Some(Register(number)),
            "{name}"
        );
    }
    for name in [
        "",
        "v",
        "s",
        "reg",
        "0x",
        "v-1",
        "v+1",
        "v 1",
        "s106",
        "SGPR106",
        "v256",
        "VGPR512",
        "AGPR256",
        "4096",
        "0x1000",
        "0x+1",
        "+1",
        "-1",
        "65536",
        "v65536",
        "0x10000000000000000",
        "ttmp0",
        "vé",
        "é",
        "exec_hi",
    ] {
        assert_eq!(Register::from_name(name, None), None, "{name}");
    }
    assert_eq!(Register::from_name("v256", Some(Wave64)), None);
    assert_eq!(Register::from_name("v1024", Some(Wave32)), None);
}

/// The number of registers in the table for each kind of processor, counted from USAGE and from the registers that LLVM 22 accepts (see the
/// tests of the table of processors).
#[test]
fn processors_have_the_registers_of_their_kind() {
    let count = |name: &str| {
        let processor = Processor::by_name(name).unwrap();
        let has = |class, size| {
            every()
                .filter(|r| r.class() == Some(class) && r.wave_size() == size)
                .filter(|r| r.available_on(processor))
                .count()
        };
        [
            has(RegisterClass::Pc, None),
            has(RegisterClass::Status, None),
            has(RegisterClass::Sgpr, None),
            has(RegisterClass::Exec, Some(Wave32)),
            has(RegisterClass::Vcc, Some(Wave32)),
            has(RegisterClass::Vgpr, Some(Wave32)),
            has(RegisterClass::Agpr, Some(Wave32)),
            has(RegisterClass::Exec, Some(Wave64)),
            has(RegisterClass::Vcc, Some(Wave64)),
            has(RegisterClass::Vgpr, Some(Wave64)),
            has(RegisterClass::Agpr, Some(Wave64)),
        ]
    };
    for (name, expected) in [
        ("gfx600", [1, 1, 104, 0, 0, 0, 0, 1, 1, 256, 0]),
        ("gfx803", [1, 1, 102, 0, 0, 0, 0, 1, 1, 256, 0]),
        ("gfx906", [1, 1, 102, 0, 0, 0, 0, 1, 1, 256, 0]),
        ("gfx908", [1, 1, 102, 0, 0, 0, 0, 1, 1, 256, 256]),
        ("gfx90a", [1, 1, 102, 0, 0, 0, 0, 1, 1, 256, 256]),
        ("gfx9-4-generic", [1, 1, 102, 0, 0, 0, 0, 1, 1, 256, 256]),
        ("gfx1030", [1, 1, 106, 1, 1, 256, 0, 1, 1, 256, 0]),
        ("gfx1100", [1, 1, 106, 1, 1, 256, 0, 1, 1, 256, 0]),
        ("gfx1250", [1, 1, 106, 1, 1, 1024, 0, 0, 0, 0, 0]),
        // LLVM 24: code can name 256 of the 1,024 vector registers of a lane.
        ("gfx1310", [1, 1, 106, 1, 1, 256, 0, 1, 1, 256, 0]),
        ("cayman", [0; 11]),
    ] {
        assert_eq!(count(name), expected, "{name}");
    }
    let gfx1250 = Processor::by_name("gfx1250").unwrap();
    assert!(every().all(|r| r.class().is_some() || !r.available_on(gfx1250)));
    assert!(!Register::PC_32.available_on(gfx1250));
    assert!(!Register(5000).available_on(gfx1250));
}

#[test]
fn bits_of_vectors_are_split_at_lanes() {
    let split = |register: Register, bits| register.by_lane(bits).collect::<Vec<_>>();
    let v0 = Register::from_name("v0", Some(Wave32)).unwrap();
    assert_eq!(split(v0, 32..64), [(Some(Lane(1)), 0..32)]);
    assert_eq!(split(v0, 72..80), [(Some(Lane(2)), 8..16)]);
    let two = [(Some(Lane(0)), 24..32), (Some(Lane(1)), 0..16)];
    assert_eq!(split(v0, 24..48), two);
    assert_eq!(split(v0, 0..1024).len(), 32);
    // The pc has 64 bits, which all lanes share.
    assert_eq!(split(Register::PC_64, 32..64), [(None, 32..64)]);
}
