//! The example of USAGE `DW_AT_LLVM_lane_pc`, operation by operation, with the corrections of
//! `spec-notes/lane-pc.md`.

use super::*;
use crate::arch::{Register, WaveSize};
use crate::expr::{Encoding, Printer};

fn label(name: &str) -> Label {
    Label::symbol(name)
}

/// Returns the nested `IF/THEN/ELSE` of USAGE, with EXEC saved in s[4:5] and s[6:7].
fn example(wave_size: WaveSize) -> Program {
    let range = |from: &str, to: &str| label(from)..label(to);
    let inner = Region::if_then_else(
        label("lex_1_1_start"),
        (range("lex_1_1_then", "lex_1_1_else"), vec![]),
        (range("lex_1_1_else", "lex_1_1_end"), vec![]),
        label("lex_1_1_end"),
        MaskPlace::Scalar(6),
    );
    let outer = Region::if_then_else(
        label("lex_1_start"),
        (range("lex_1_then", "lex_1_else"), vec![inner]),
        (range("lex_1_else", "lex_1_end"), vec![]),
        label("lex_1_end"),
        MaskPlace::Scalar(4),
    );
    let function = Function {
        code: range("lex_start", "lex_end"),
        wave_size,
        regions: vec![outer],
        whole_wave: vec![],
    };
    Program::new(&function).unwrap()
}

/// Returns an expression as USAGE writes it.
fn text(program: &Program, operands: &[Operand]) -> Vec<String> {
    let printer = Printer::new(Encoding::AMDGPU);
    operands
        .iter()
        .flat_map(|operand| match operand {
            Operand::Bytes(bytes) => printer
                .expression(bytes)
                .split(", ")
                .map(str::to_owned)
                .collect(),
            Operand::Call(number) => vec![format!(
                "DW_OP_call_ref %{}",
                program.procedures[*number].name
            )],
            Operand::Mask(number) => vec![format!(
                "DW_OP_call_ref %{}",
                program.variables[*number].name
            )],
            Operand::Address(Label::Symbol(name)) => vec![format!("DW_OP_addrx &{name}")],
            Operand::Address(Label::Offset(_)) => panic!("the example has symbols"),
            Operand::RegisterMask(Register::EXEC_64) => {
                vec!["DW_OP_regval_type EXEC, %uint_64".to_owned()]
            }
            Operand::RegisterMask(register) => {
                vec![format!("DW_OP_regval_type {register}, %uint_32")]
            }
            Operand::ReadMask => {
                let read = ["DW_OP_deref_size 8", "DW_OP_convert %__uint_64"];
                read.map(str::to_owned).to_vec()
            }
        })
        .map(|operation| operation.replace("DW_OP_LLVM_user ", ""))
        .collect()
}

#[test]
fn the_procedures_of_the_example() {
    let program = example(WaveSize::Wave64);
    let extend = "DW_OP_LLVM_extend 0x40 0x40";
    let select = "DW_OP_LLVM_select_bit_piece 0x40 0x40";
    let waiting = |name: &'static str, around: &str, wait: &str, mask: &str| {
        let call = |name: &str| format!("DW_OP_call_ref %{name}");
        let expression = [
            call(around),
            format!("DW_OP_addrx &{wait}"),
            "DW_OP_stack_value".to_owned(),
            extend.to_owned(),
            call(mask),
            "DW_OP_deref_size 8".to_owned(),
            "DW_OP_convert %__uint_64".to_owned(),
            select.to_owned(),
        ];
        (name, expression.to_vec())
    };
    // As in the document, except that `DW_OP_regx PC` has its short form, and that `DW_OP_deref_type` is avoided, which LLVM 22 does not
    // decode.
    let expected = [
        (
            "__divergent_lane_pc",
            vec!["DW_OP_LLVM_undefined".to_owned(), extend.to_owned()],
        ),
        (
            "__active_lane_pc",
            [
                "DW_OP_reg16 PC_REG",
                extend,
                "DW_OP_regval_type EXEC, %uint_64",
                select,
            ]
            .map(str::to_owned)
            .to_vec(),
        ),
        waiting(
            "__divergent_lane_pc_1_then",
            "__divergent_lane_pc",
            "lex_1_start",
            "__lex_1_save_exec",
        ),
        waiting(
            "__divergent_lane_pc_1_else",
            "__divergent_lane_pc",
            "lex_1_end",
            "__lex_1_save_exec",
        ),
        waiting(
            "__divergent_lane_pc_1_1_then",
            "__divergent_lane_pc_1_then",
            "lex_1_1_start",
            "__lex_1_1_save_exec",
        ),
        waiting(
            "__divergent_lane_pc_1_1_else",
            "__divergent_lane_pc_1_then",
            "lex_1_1_end",
            "__lex_1_1_save_exec",
        ),
    ];
    let found: Vec<_> = program
        .procedures
        .iter()
        .map(|procedure| {
            (
                procedure.name.as_str(),
                text(&program, &procedure.expression),
            )
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn the_list_of_the_example() {
    let program = example(WaveSize::Wave64);
    let found: Vec<(String, String, String)> = program
        .lane_pc
        .iter()
        .map(|(range, operands)| {
            let name = |label: &Label| match label {
                Label::Symbol(name) => name.to_string(),
                Label::Offset(offset) => offset.to_string(),
            };
            let calls = text(&program, operands)
                .join("; ")
                .replace("DW_OP_call_ref ", "");
            (name(&range.start), name(&range.end), calls)
        })
        .collect();
    let expected = [
        (
            "lex_start",
            "lex_1_then",
            "%__divergent_lane_pc; %__active_lane_pc",
        ),
        (
            "lex_1_then",
            "lex_1_1_then",
            "%__divergent_lane_pc_1_then; %__active_lane_pc",
        ),
        (
            "lex_1_1_then",
            "lex_1_1_else",
            "%__divergent_lane_pc_1_1_then; %__active_lane_pc",
        ),
        (
            "lex_1_1_else",
            "lex_1_1_end",
            "%__divergent_lane_pc_1_1_else; %__active_lane_pc",
        ),
        // The document has `%__divergent_lane_pc` here, which would lose the lanes that wait for the outer ELSE.
        (
            "lex_1_1_end",
            "lex_1_else",
            "%__divergent_lane_pc_1_then; %__active_lane_pc",
        ),
        (
            "lex_1_else",
            "lex_1_end",
            "%__divergent_lane_pc_1_else; %__active_lane_pc",
        ),
        (
            "lex_1_end",
            "lex_end",
            "%__divergent_lane_pc; %__active_lane_pc",
        ),
    ];
    let expected: Vec<_> = expected
        .map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()))
        .into();
    assert_eq!(found, expected);
}

#[test]
fn masks_of_64_lanes_are_two_registers_and_of_32_one() {
    let printer = Printer::new(Encoding::AMDGPU);
    let places = |wave_size| {
        let program = example(wave_size);
        program
            .variables
            .iter()
            .map(|v| (v.name.clone(), printer.expression(&v.locations[0].1)))
            .collect::<Vec<_>>()
    };
    let pair = |low: u8, high: u8| {
        format!(
            "DW_OP_regx SGPR{low}, DW_OP_piece 0x4, DW_OP_regx SGPR{high}, DW_OP_piece 0x4, DW_OP_LLVM_user DW_OP_LLVM_piece_end"
        )
    };
    let names = [
        "__lex_1_save_exec".to_owned(),
        "__lex_1_1_save_exec".to_owned(),
    ];
    let [first, second] = names;
    assert_eq!(
        places(WaveSize::Wave64),
        [(first.clone(), pair(4, 5)), (second.clone(), pair(6, 7))]
    );
    assert_eq!(
        places(WaveSize::Wave32),
        [
            (first, "DW_OP_regx SGPR4".to_owned()),
            (second, "DW_OP_regx SGPR6".to_owned())
        ]
    );
}

#[test]
fn regions_that_are_equal_share_their_procedures_and_variables() {
    // Two sections of one region: lanes wait in the same place, with the same mask.
    let wait: Label = 0x10.into();
    let phases = [(0x14, 0x20), (0x30, 0x40)]
        .map(|(from, to)| Phase::new("then", Label::from(from)..Label::from(to), wait.clone()));
    let mask = [(Label::from(0x10)..Label::from(0x40), MaskPlace::Scalar(4))];
    let function = Function {
        code: 0.into()..0x50.into(),
        wave_size: WaveSize::Wave64,
        regions: vec![Region::new(mask, phases)],
        whole_wave: vec![],
    };
    let program = Program::new(&function).unwrap();
    assert_eq!((program.procedures.len(), program.variables.len()), (3, 1));
    assert_eq!(program.lane_pc.len(), 5);
}

#[test]
fn code_that_goes_backwards_is_refused() {
    let region = Region::if_then(
        8.into(),
        Label::from(12)..Label::from(4),
        MaskPlace::Scalar(4),
        vec![],
    );
    let function = Function {
        code: 0.into()..32.into(),
        wave_size: WaveSize::Wave32,
        regions: vec![region],
        whole_wave: vec![],
    };
    assert!(Program::new(&function).is_err());
    // Neither may a region extend past the end of the function.
    let region = Region::if_then(
        8.into(),
        Label::from(12)..Label::from(40),
        MaskPlace::Scalar(4),
        vec![],
    );
    let function = Function {
        code: 0.into()..32.into(),
        wave_size: WaveSize::Wave32,
        regions: vec![region],
        whole_wave: vec![],
    };
    assert!(Program::new(&function).is_err());
}

#[test]
fn nesting_costs_one_expression_a_level() {
    let nest = |depth: u64| {
        let mut regions = Vec::new();
        for level in (0..depth).rev() {
            let then = Label::from(4 + 4 * level)..Label::from(8 * depth - 4 * level);
            regions = vec![Region::if_then(
                (4 * level).into(),
                then,
                MaskPlace::Scalar(4),
                regions,
            )];
        }
        let code = 0.into()..Label::from(8 * depth + 8);
        Program::new(&Function {
            code,
            wave_size: WaveSize::Wave64,
            regions,
            whole_wave: vec![],
        })
        .unwrap()
    };
    let (ten, hundred) = (nest(10), nest(100));
    assert_eq!((ten.procedures.len(), hundred.procedures.len()), (12, 102));
    // Two list entries and one procedure per region, at any depth.
    assert!(hundred.bytes_per_region() <= ten.bytes_per_region() + 1);
    assert_eq!(hundred.regions, 100);
}
