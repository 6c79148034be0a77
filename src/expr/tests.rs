//! Checks the table: every row, in every dialect, survives encoding and decoding, and printing and parsing.

use fallible_iterator::FallibleIterator;

use super::*;
use crate::arch::{Register, WaveSize};
use crate::error::{ErrorKind, SpecRule};

const DIALECTS: [Dialect; 4] = [
    Dialect::User,
    Dialect::UserWith(PrivateCodes::IN_MEMORY),
    Dialect::OneByte,
    Dialect::Draft,
];

fn encodings() -> impl Iterator<Item = Encoding> {
    DIALECTS.into_iter().flat_map(|dialect| {
        [(8, 4), (8, 8), (4, 4)].map(|(address_size, offset_size)| Encoding {
            address_size,
            offset_size,
            dialect,
        })
    })
}

/// Operands at the edges of their kind.
fn edges(kind: OperandKind, encoding: Encoding) -> Vec<OperandValue<'static>> {
    use OperandValue::{Bytes, Signed, Unsigned};
    let sized = |size: u8| {
        if size == 4 {
            u64::from(u32::MAX)
        } else {
            u64::MAX
        }
    };
    match kind {
        OperandKind::Member => [0, 1, 31].map(Unsigned).into(),
        OperandKind::U8 => [0, 7, u64::from(u8::MAX)].map(Unsigned).into(),
        OperandKind::U16 => [0, u64::from(u16::MAX)].map(Unsigned).into(),
        OperandKind::U32 => [0, u64::from(u32::MAX)].map(Unsigned).into(),
        OperandKind::U64 | OperandKind::Uleb | OperandKind::WideUleb => {
            [0, 127, 128, u64::MAX].map(Unsigned).into()
        }
        OperandKind::S8 => [-128, 0, 127].map(Signed).into(),
        OperandKind::S16 | OperandKind::Branch => {
            [i16::MIN.into(), -1, 0, i16::MAX.into()].map(Signed).into()
        }
        OperandKind::S32 => [i32::MIN.into(), -1, i32::MAX.into()].map(Signed).into(),
        OperandKind::S64
        | OperandKind::Sleb
        | OperandKind::WideSleb
        | OperandKind::Displacement => [i64::MIN, -65, -64, 0, 63, 64, i64::MAX].map(Signed).into(),
        OperandKind::Register => [0, 17, 33, 1088, 1576, 2602, 4095].map(Unsigned).into(),
        OperandKind::BaseType => [0, 0x2a, 0x1234].map(Unsigned).into(),
        OperandKind::Address => [0, 0x1a1c, sized(encoding.address_size)]
            .map(Unsigned)
            .into(),
        OperandKind::SectionReference => {
            [0, 0x1f3, sized(encoding.offset_size)].map(Unsigned).into()
        }
        OperandKind::Block1 | OperandKind::Block => {
            vec![Bytes(&[]), Bytes(&[1]), Bytes(&[0xff; 200])]
        }
        // A nested expression: lit1, regx SGPR33.
        OperandKind::Expression => vec![Bytes(&[]), Bytes(&[0x31, 0x90, 0x41])],
    }
}

/// Returns every row with every combination of edge operands.
fn all_operations(encoding: Encoding) -> Vec<Operation<'static>> {
    let mut all = Vec::new();
    for row in ROWS {
        let mut combinations = vec![Vec::new()];
        for kind in row.operands {
            combinations = combinations
                .iter()
                .flat_map(|start| {
                    edges(*kind, encoding)
                        .into_iter()
                        .map(move |value| [start.as_slice(), &[value]].concat())
                })
                .collect();
        }
        for operands in combinations {
            all.push(Operation::from_operands(row.opcode, &operands).unwrap());
        }
    }
    all
}

fn has_code(opcode: Opcode, dialect: Dialect) -> bool {
    let codes = opcode.row().codes;
    codes.std.is_some()
        || match dialect {
            Dialect::User => codes.user.is_some(),
            // Only DWARF 6 allows one without parts.
            Dialect::UserWith(_) => opcode != Opcode::Composite,
            Dialect::Dwarf6InMemory => true,
            Dialect::Dwarf6 => false,
            Dialect::OneByte => codes.one.is_some(),
            Dialect::Draft => codes.draft.is_some(),
        }
}

#[test]
fn every_operation_reads_back_what_it_writes() {
    for encoding in encodings() {
        for operation in all_operations(encoding) {
            let mut bytes = Vec::new();
            let written = encode_operation(&operation, encoding, &mut bytes);
            if !has_code(operation.opcode(), encoding.dialect) {
                let error = written.unwrap_err().to_string();
                // The error names the four operations without any code. It does not name codes that a dialect lacks.
                assert!(error.contains("no code"), "{error}");
                continue;
            }
            written.unwrap();
            let items: Vec<_> = operations(&bytes, encoding).collect().unwrap();
            assert_eq!(items.len(), 1, "{operation:?}");
            assert_eq!(items[0].operation, operation);
            assert_eq!((items[0].offset, items[0].end), (0, bytes.len()));
        }
    }
}

#[test]
fn every_operation_parses_back_what_it_prints() {
    for encoding in encodings() {
        for style in [RegisterStyle::Names, RegisterStyle::LlvmDwarfdump] {
            for operation in all_operations(encoding) {
                let mut bytes = Vec::new();
                if encode_operation(&operation, encoding, &mut bytes).is_err() {
                    continue;
                }
                let text = Printer::new(encoding).style(style).expression(&bytes);
                // llvm-dwarfdump's text for a type without a unit.
                if text.contains("<base_type ref: ") {
                    continue;
                }
                // A name denotes the register of one wave size; the number below selects it.
                let wave_size = operation
                    .operands()
                    .first()
                    .and_then(|operand| match operand {
                        OperandValue::Unsigned(number) => {
                            Register::from_number(*number).and_then(Register::wave_size)
                        }
                        OperandValue::Signed(_) | OperandValue::Bytes(_) => None,
                    });
                let options = ParseOptions {
                    encoding,
                    wave_size: wave_size.unwrap_or(WaveSize::Wave64),
                    unit_offset: 0,
                };
                let parsed = parse(&text, &options).unwrap_or_else(|e| panic!("{text}: {e}"));
                assert_eq!(parsed.operations().next(), Some(operation), "{text}");
                assert_eq!(parsed.encode(encoding).unwrap(), bytes, "{text}");
            }
        }
    }
}

#[test]
fn every_operation_cut_short_is_truncated() {
    for encoding in encodings() {
        for operation in all_operations(encoding) {
            let mut bytes = Vec::new();
            if encode_operation(&operation, encoding, &mut bytes).is_err() {
                continue;
            }
            for end in 1..bytes.len() {
                let error = operations(&bytes[..end], encoding).next().unwrap_err();
                assert!(
                    matches!(error.kind(), ErrorKind::Truncated { .. }),
                    "{operation:?} cut to {end}: {error}"
                );
                assert_eq!(error.offset(), Some(0));
            }
        }
    }
}

// The codes of HET A.7.7.1, of DWARF 5 §7.7.1, and of their predecessors, each once.
#[test]
fn codes_are_unique_in_every_dialect() {
    for dialect in DIALECTS {
        let mut seen = std::collections::BTreeMap::new();
        for row in ROWS {
            let codes = row.codes;
            let vendor = match dialect {
                Dialect::User
                | Dialect::UserWith(_)
                | Dialect::Dwarf6
                | Dialect::Dwarf6InMemory => None,
                Dialect::OneByte => codes.one,
                Dialect::Draft => codes.draft,
            };
            for first in [codes.std, vendor, codes.gnu].into_iter().flatten() {
                for code in first
                    ..first
                        + if codes.gnu == Some(first) {
                            1
                        } else {
                            row.family
                        }
                {
                    if let Some(other) = seen.insert(code, row.name) {
                        panic!("{code:#x} in {dialect:?}: {other} and {}", row.name);
                    }
                }
            }
        }
    }
}

#[test]
fn gnu_spellings_are_read_as_the_operations_of_dwarf_5_and_keep_their_names() {
    // Codes from GCC's include/dwarf2.def, as listed in the tables of `spec-notes/encodings.md`.
    let cases: [(&[u8], &str, Operation<'_>); 4] = [
        (
            &[0xe0],
            "DW_OP_GNU_push_tls_address",
            Operation::FormTlsAddress,
        ),
        (
            &[0xf3, 1, 0x31],
            "DW_OP_GNU_entry_value(DW_OP_lit1)",
            Operation::EntryValue {
                expression: &[0x31],
            },
        ),
        (
            &[0xf7, 0],
            "DW_OP_GNU_convert 0x0",
            Operation::Convert { base_type: 0 },
        ),
        (
            &[0xfb, 5],
            "DW_OP_GNU_addr_index 0x5",
            Operation::Addrx { index: 5 },
        ),
    ];
    for (bytes, text, operation) in cases {
        let item = operations(bytes, Encoding::AMDGPU).next().unwrap().unwrap();
        assert_eq!(item.operation, operation);
        assert_eq!(Printer::new(Encoding::AMDGPU).expression(bytes), text);
        assert_eq!(
            parse(text, &ParseOptions::default())
                .unwrap()
                .operations()
                .next(),
            Some(operation)
        );
    }
}

#[test]
fn unknown_codes_say_what_they_are() {
    let error = |bytes: &[u8]| operations(bytes, Encoding::AMDGPU).next().unwrap_err();
    assert_eq!(
        *error(&[0x01]).kind(),
        ErrorKind::UnknownOperation {
            opcode: 1,
            user: None
        }
    );
    assert_eq!(
        *error(&[0xe9, 0x7f]).kind(),
        ErrorKind::UnknownOperation {
            opcode: 0xe9,
            user: Some(0x7f)
        }
    );
    assert_eq!(
        *error(&[0xe9, 0x00]).kind(),
        ErrorKind::IllFormed(SpecRule::ReservedVendorCode)
    );
    // A vendor code may be padded, and may be too large for any table.
    assert_eq!(
        operations(&[0xe9, 0x83, 0x00], Encoding::AMDGPU)
            .next()
            .unwrap()
            .unwrap()
            .operation,
        Operation::PushLane
    );
    assert!(matches!(
        error(&[0xe9, 0xff, 0xff, 0xff, 0xff, 0x7f]).kind(),
        ErrorKind::UnknownOperation { .. }
    ));
    // After an error it stays ended.
    let mut items = operations(&[0x30, 0x01, 0x31], Encoding::AMDGPU);
    assert!(items.next().unwrap().is_some());
    assert!(items.next().is_err());
    assert!(items.next().unwrap().is_none());
    assert_eq!(
        Printer::new(Encoding::AMDGPU).expression(&[0x30, 0x01, 0x31]),
        "DW_OP_lit0, <decoding error> 01 31"
    );
}

#[test]
fn text_may_be_short_and_registers_may_be_named_in_three_ways() {
    let options = ParseOptions::default();
    let same = [
        "DW_OP_regx VGPR42, DW_OP_LLVM_user DW_OP_LLVM_push_lane, DW_OP_lit4, DW_OP_mul, DW_OP_LLVM_user DW_OP_LLVM_offset",
        "regx v42, push_lane, lit4, mul, LLVM_offset",
        "DW_OP_regx 0xa2a,DW_OP_LLVM_push_lane,DW_OP_lit4,DW_OP_mul,DW_OP_LLVM_offset",
        "regx 2602, push_lane, lit4, mul, offset",
    ];
    for text in same {
        let bytes = parse(text, &options)
            .unwrap()
            .encode(Encoding::AMDGPU)
            .unwrap();
        assert_eq!(
            bytes,
            [0x90, 0xaa, 0x14, 0xe9, 0x03, 0x34, 0x1e, 0xe9, 0x04],
            "{text}"
        );
    }
    let wave32 = ParseOptions {
        wave_size: WaveSize::Wave32,
        ..options
    };
    assert_eq!(
        parse("regx v42", &wave32)
            .unwrap()
            .encode(Encoding::AMDGPU)
            .unwrap(),
        [0x90, 0xaa, 0x0c]
    );
}

#[test]
fn text_that_makes_no_sense_says_what_was_expected() {
    for (text, expected) in [
        ("DW_OP_lit32", "the name of an operation"),
        ("DW_OP_lit", "the name of an operation"),
        ("", ""),
        ("DW_OP_lit1,", "the name of an operation"),
        ("DW_OP_regx", "a register after `DW_OP_regx`, found nothing"),
        ("DW_OP_regx v256", "a register"),
        ("DW_OP_plus 1", "no more operands of DW_OP_plus"),
        ("DW_OP_const1u 256", "operands that fit DW_OP_const1u"),
        (
            "DW_OP_const1u",
            "a number after `DW_OP_const1u`, found nothing",
        ),
        (
            "DW_OP_lit1, DW_OP_entry_value(DW_OP_const1u)",
            "a number after `DW_OP_const1u`, found nothing",
        ),
        ("DW_OP_const1u 0x", "a number"),
        ("DW_OP_const1u -1", "a number"),
        ("DW_OP_implicit_value 2 0x01", "2 bytes"),
        (
            "DW_OP_entry_value DW_OP_lit1",
            "an expression in parentheses",
        ),
        ("DW_OP_bregx SGPR33+x", "a register and an offset"),
    ] {
        match parse(text, &ParseOptions::default()) {
            Ok(parsed) => assert!(expected.is_empty() && parsed.is_empty(), "{text}"),
            Err(error) => assert!(error.to_string().contains(expected), "{text}: {error}"),
        }
    }
}

/// `DW_OP_LLVM_offset` is 0xe3 in the dialect of 2020 to 2022, and 0xe9 0x04 today.
#[test]
fn an_expression_within_another_has_the_codes_of_its_dialect() {
    let text = "DW_OP_entry_value(DW_OP_LLVM_offset)";
    for (dialect, expected) in [
        (Dialect::OneByte, &[0xa3, 1, 0xe3][..]),
        (Dialect::User, &[0xa3, 2, 0xe9, 4]),
    ] {
        let encoding = Encoding {
            dialect,
            ..Encoding::AMDGPU
        };
        let options = ParseOptions {
            encoding,
            ..ParseOptions::default()
        };
        let parsed = parse(text, &options).unwrap();
        assert_eq!(parsed.encode(encoding).unwrap(), expected);
    }
    // No code has been agreed upon, so none is written to a file either.
    let error = parse(
        "DW_OP_entry_value(DW_OP_LLVM_overlay)",
        &ParseOptions::default(),
    );
    assert!(matches!(
        error.unwrap_err().kind(),
        ErrorKind::Unsupported(_)
    ));
}

#[test]
fn the_builder_refuses_nonsense() {
    let refuse = |build: &dyn Fn(&mut Builder) -> crate::Result<()>| {
        let mut builder = Builder::new(Encoding::AMDGPU);
        build(&mut builder).unwrap_err().kind().clone()
    };
    assert_eq!(
        refuse(&|b| b.push(Operation::Plus).map(|_| ())),
        ErrorKind::StackUnderflow {
            needed: 2,
            found: 0
        }
    );
    assert_eq!(
        refuse(&|b| b
            .constant(1)?
            .push(Operation::Pick { index: 1 })
            .map(|_| ())),
        ErrorKind::StackUnderflow {
            needed: 2,
            found: 1
        }
    );
    assert_eq!(
        refuse(&|b| b.push(Operation::Regx { register: 100 }).map(|_| ())),
        ErrorKind::IllFormed(SpecRule::RegisterNumber)
    );
    assert_eq!(
        refuse(&|b| b
            .push(Operation::Undefined)?
            .push(Operation::Extend {
                bit_size: 0,
                count: 64
            })
            .map(|_| ())),
        ErrorKind::IllFormed(SpecRule::ZeroElement)
    );
    assert!(matches!(
        refuse(&|b| b.push(Operation::PushIteration).map(|_| ())),
        ErrorKind::Unsupported(_)
    ));
    assert!(matches!(
        refuse(&|b| b.lane_of_vector(Register(33)).map(|_| ())),
        ErrorKind::TypeMismatch { .. }
    ));
    // Rejected operations leave nothing behind.
    let mut builder = Builder::new(Encoding::AMDGPU);
    builder.constant(5).unwrap();
    assert!(builder.push(Operation::Plus).is_err());
    assert_eq!(builder.finish().unwrap(), [0x35]);
}

#[test]
fn branches_reach_their_labels() {
    // lit3; loop: lit1; minus; dup; bra loop; skip end; nop; end:
    let mut builder = Builder::new(Encoding::AMDGPU);
    builder.constant(3).unwrap();
    let (start, end) = (builder.label(), builder.label());
    builder
        .place(start)
        .constant(1)
        .unwrap()
        .push(Operation::Minus)
        .unwrap()
        .push(Operation::Dup)
        .unwrap();
    builder
        .branch_if(start)
        .unwrap()
        .branch(end)
        .unwrap()
        .push(Operation::Nop)
        .unwrap();
    builder.place(end);
    let bytes = builder.finish().unwrap();
    // The branch ends at byte 7 and goes back to byte 1; the skip ends at byte 10 and goes to byte 11.
    assert_eq!(
        bytes,
        [
            0x33, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff, 0x2f, 0x01, 0x00, 0x96
        ]
    );
    let mut builder = Builder::new(Encoding::AMDGPU);
    let label = builder.label();
    builder.branch(label).unwrap();
    assert_eq!(
        *builder.finish().unwrap_err().kind(),
        ErrorKind::IllFormed(SpecRule::BranchTarget)
    );
}

#[test]
fn the_largest_register_number_does_not_overflow_the_printer() {
    let mut bytes = Vec::new();
    encode_operation(
        &Operation::Bregx {
            register: u64::MAX,
            offset: i64::MIN,
        },
        Encoding::AMDGPU,
        &mut bytes,
    )
    .unwrap();
    assert_eq!(
        Printer::new(Encoding::AMDGPU).expression(&bytes),
        "DW_OP_bregx 0xffffffffffffffff -9223372036854775808"
    );
}

/// 0x0d is NVIDIA's, with an undocumented selector (LLVM's `Dwarf.def`).
#[test]
fn nvidias_operation_has_a_name_and_no_meaning() {
    let bytes = [0x30, 0xe9, 0x0d, 0x85, 0x01];
    let text = "DW_OP_lit0, DW_OP_LLVM_user DW_OP_LLVM_NVIDIA_mux 0x85";
    assert_eq!(Printer::new(Encoding::AMDGPU).expression(&bytes), text);
    let parsed = parse(text, &ParseOptions::default()).unwrap();
    assert_eq!(parsed.encode(Encoding::AMDGPU).unwrap(), bytes);
}

/// DWARF 6 has names and no codes: text is parsed and printed, and codes are neither written nor read.
#[test]
fn dwarf_6_is_a_dialect_of_names() {
    let encoding = Encoding {
        dialect: Dialect::Dwarf6,
        ..Encoding::AMDGPU
    };
    let options = ParseOptions {
        encoding,
        ..ParseOptions::default()
    };
    let names = [
        "DW_OP_offset",
        "DW_OP_bit_offset",
        "DW_OP_undefined",
        "DW_OP_push_lane",
        "DW_OP_composite",
        "DW_OP_overlay",
        "DW_OP_bit_overlay",
    ];
    for name in names {
        let parsed = parse(name, &options).unwrap();
        let bytes = parsed.encode(encoding.in_memory()).unwrap();
        assert_eq!(Printer::new(encoding.in_memory()).expression(&bytes), name);
        let prefixed = parse(&format!("DW_OP_extended {name}"), &options).unwrap();
        assert_eq!(prefixed, parsed);
        let error = parsed.encode(encoding).unwrap_err().to_string();
        assert!(
            error.contains(name) && error.contains("DWARF 6 has not assigned"),
            "{error}"
        );
        // The codes of the current extensions do not belong to DWARF 6.
        assert!(!Printer::new(encoding).expression(&bytes).contains(name));
    }
    // Operations that DWARF 5 has under another name keep their code.
    for (name, code) in [
        ("DW_OP_push_object_location", 0x97),
        ("DW_OP_form_tls_location", 0x9b),
    ] {
        let bytes = parse(name, &options).unwrap().encode(encoding).unwrap();
        assert_eq!(bytes, [code]);
        assert_eq!(Printer::new(encoding).expression(&bytes), name);
    }
    // The extensions have no empty composite.
    let error = parse("DW_OP_composite", &ParseOptions::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("DW_OP_composite has no code in this dialect"),
        "{error}"
    );
}
