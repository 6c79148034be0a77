//! Tests files that are rejected. The message gives the field, and the expected value.

use super::*;

/// [`FILE`] with one change.
struct Case {
    /// A description of the fault, for test failures.
    name: &'static str,
    /// The text of the file that is replaced, at its first occurrence.
    from: &'static str,
    to: &'static str,
    /// A part of the message.
    says: &'static str,
}

const fn case(
    name: &'static str,
    from: &'static str,
    to: &'static str,
    says: &'static str,
) -> Case {
    Case {
        name,
        from,
        to,
        says,
    }
}

/// Checks that each is rejected with the right message.
fn check(cases: &[Case]) {
    for Case {
        name,
        from,
        to,
        says,
    } in cases
    {
        let file = FILE.replacen(from, to, 1);
        assert_ne!(file, FILE, "{name}: nothing was replaced");
        let Err(error) = read(&file) else {
            panic!("{name}: it is not refused");
        };
        assert_eq!(error.kind().name(), "malformed", "{name}");
        let found = error.to_string();
        assert!(
            found.contains(says),
            "{name}: {found}\n  but expected: {says}"
        );
    }
}

#[test]
fn fields_of_the_document() {
    check(&[
        case(
            "a later format",
            "hetdwarf-wave/1",
            "hetdwarf-wave/2",
            r#"format: expected "hetdwarf-wave/1", found "hetdwarf-wave/2""#,
        ),
        case(
            "a later format with a field of its own: the format is what is said",
            r#""format": "hetdwarf-wave/1""#,
            r#""format": "hetdwarf-wave/2", "state": 1"#,
            "format: expected",
        ),
        case(
            "a target that is a number",
            r#""gfx1100""#,
            "1100",
            "target: expected a text, found 1100",
        ),
        case(
            "a wave of 16 lanes",
            r#""wave_size": 32"#,
            r#""wave_size": 16"#,
            "wave_size: expected 32 or 64, found 16",
        ),
        case(
            "a size in words",
            r#""wave_size": 32"#,
            r#""wave_size": "big""#,
            r#"wave_size: expected 32 or 64, found "big""#,
        ),
        case("no pc", r#""pc": "0x7f4000001a1c","#, "", "pc: is missing"),
        case(
            "a lane in focus that a wave of 32 lacks",
            r#""focus_lane": 3"#,
            r#""focus_lane": 32"#,
            "focus_lane: expected a lane below 32, found 32",
        ),
        case(
            "a lane in focus that is no lane's number",
            r#""focus_lane": 3"#,
            r#""focus_lane": 1000"#,
            "focus_lane: expected a lane below 32, found 1000",
        ),
        case(
            "a field that is there twice",
            r#""target""#,
            r#""format""#,
            r#"duplicate field "format""#,
        ),
        case(
            "an object in a list that does not end",
            r#"{"shared_base""#,
            r#"[{"shared_base""#,
            "line 16",
        ),
    ]);
}

#[test]
fn names_of_fields() {
    check(&[
        case(
            "a name in capitals",
            r#""pc""#,
            r#""PC""#,
            r#"PC: unknown field; did you mean "pc"?"#,
        ),
        case(
            "a name with a letter too few",
            r#""load_address""#,
            r#""load_adress""#,
            r#"load_adress: unknown field; did you mean "load_address"?"#,
        ),
        case(
            "a name in the plural",
            r#""memory""#,
            r#""memories""#,
            r#"memories: unknown field; did you mean "memory"?"#,
        ),
        case(
            "a name that resembles none: all are listed",
            r#""load_address": "0x7f4000000000""#,
            r#""comment": null"#,
            "comment: unknown field; expected format, target, wave_size, pc, load_address,",
        ),
        case(
            "a name that resembles none, of a region",
            r#""bytes": "0102""#,
            r#""bytes": "0102", "size": 2"#,
            "memory[0].size: unknown field; expected space, address, bytes",
        ),
    ]);
}

#[test]
fn names_of_registers() {
    check(&[
        case(
            "a register that is none",
            r#""s4""#,
            r#""s999""#,
            "registers.s999: expected the name of a register",
        ),
        case(
            "a register by two of its names",
            r#""s4""#,
            r#""EXEC_LO""#,
            "registers.exec: the register is given twice, by two of its names",
        ),
        case(
            "a register by one name twice",
            r#""s4""#,
            r#""exec""#,
            r#"duplicate field "exec""#,
        ),
        case(
            "the program counter with another value than the document's",
            r#""s4""#,
            r#""pc""#,
            r#"registers.pc: expected the document's "pc", 0x7f4000001a1c, found 305419896"#,
        ),
        case(
            "a vector register of a wave of the other size",
            r#""s4""#,
            r#""2560""#,
            "registers.2560: expected a register of 32 lanes, found DWARF register 2560, which has 64",
        ),
    ]);
}

#[test]
fn values_of_registers() {
    check(&[
        case(
            "a scalar of 33 bits",
            "305419896",
            "4294967296",
            "registers.s4: expected an integer of at most 32 bits, found 4294967296",
        ),
        case(
            "a scalar that is a list",
            "305419896",
            "[1]",
            "registers.s4: expected an integer of at most 32 bits, found a list of 1",
        ),
        case(
            "lanes of a wave of the other size",
            r#""wave_size": 32"#,
            r#""wave_size": 64"#,
            "registers.v0: expected a list of 64 lanes, found 32",
        ),
        case(
            "a lane that is an object",
            "null",
            "{}",
            "registers.v0[5]: expected an integer of at most 32 bits, found an object",
        ),
        case(
            "a lane of 33 bits",
            r#""257""#,
            r#""0x100000000""#,
            r#"registers.v0[1]: expected an integer of at most 32 bits, found "0x100000000""#,
        ),
    ]);
}

#[test]
fn a_vector_register_that_is_no_list_of_its_lanes() {
    let (_, vector) = FILE.split_once(r#""v0": "#).unwrap();
    let (vector, _) = vector.split_once(" }").unwrap();
    for (value, found) in [(r#""0x1""#, r#""0x1""#), ("[1, 2]", "2")] {
        let message = error(&FILE.replacen(vector, value, 1));
        let expected = format!("registers.v0: expected a list of 32 lanes, found {found}");
        assert!(message.contains(&expected), "{value}: {message}");
    }
}

#[test]
fn spaces_of_memory() {
    check(&[
        case(
            "an address space that is a view of another",
            r#""private_wave""#,
            r#""private_lane""#,
            r#"memory[5].space: expected a memory, found "private_lane""#,
        ),
        case(
            "an address space that has no bytes of its own",
            r#""local""#,
            r#""generic""#,
            r#"memory[4].space: expected a memory, found "generic""#,
        ),
        case(
            "an address space by a name that it does not have here",
            r#""local""#,
            r#""lds""#,
            r#"memory[4].space: expected "none", "region", "local" or "private_wave", found "lds""#,
        ),
    ]);
}

#[test]
fn bytes_of_memory() {
    check(&[
        case(
            "half a byte",
            r#""0708""#,
            r#""070""#,
            r#"memory[4].bytes: expected bytes of two hexadecimal digits each, found "070""#,
        ),
        case(
            "a letter that is no digit",
            r#""0708""#,
            r#""0g""#,
            r#"memory[4].bytes: expected bytes of two hexadecimal digits each, found "0g""#,
        ),
        case(
            "a letter of two bytes",
            r#""0708""#,
            r#""é0""#,
            "memory[4].bytes: expected bytes of two",
        ),
        case(
            "a list of numbers",
            r#""0708""#,
            "[7, 8]",
            "memory[4].bytes: expected a text, found a list of 2",
        ),
    ]);
}

#[test]
fn addresses_of_memory() {
    check(&[
        case(
            "more bytes than scratch has",
            r#""090A""#,
            r#""090a0b""#,
            "memory[5]: private_wave has 0x100000000 bytes, but 0x3 bytes at 0xfffffffe end at 0x100000001",
        ),
        case(
            "more bytes than there are addresses",
            "0x7f0000001002",
            "0xffffffffffffffff",
            "memory[1]: none has 0x10000000000000000 bytes, but 0x2 bytes at 0xffffffffffffffff end at",
        ),
        case(
            "regions that contradict each other",
            "0x7f0000001002",
            "0x7f0000001001",
            "memory: two regions have different bytes at 0x7f0000001001 of none",
        ),
        case(
            "no address",
            r#"{"space": "region", "address": 8, "#,
            r#"{"space": "region", "#,
            "memory[3].address: is missing",
        ),
    ]);
}

#[test]
fn apertures_and_the_dispatch() {
    check(&[
        case(
            "a name of an aperture that is cut: both are listed",
            r#""private_base""#,
            r#""private""#,
            "apertures.private: unknown field; expected shared_base, private_base",
        ),
        case(
            "one aperture of two",
            r#", "private_base": "0x2000000000000""#,
            "",
            "apertures.private_base: is missing",
        ),
        case(
            "a name of the dispatch without its underscore",
            r#""grid_size""#,
            r#""gridsize""#,
            r#"dispatch.gridsize: unknown field; did you mean "grid_size"?"#,
        ),
        case(
            "a size of two dimensions",
            "[64,1,1]",
            "[64,1]",
            "dispatch.workgroup_size: expected a list of 3, found a list of 2",
        ),
        case(
            "a negative size",
            "[64,1,1]",
            "[64,1,-1]",
            "dispatch.workgroup_size[2]: expected an integer of at most 32 bits, found -1",
        ),
    ]);
}

#[test]
fn what_is_no_document() {
    for other in [
        "",
        "null",
        "[]",
        "1",
        r#""hetdwarf-wave/1""#,
        "{",
        "{}",
        "{} {}",
        "\u{feff}{}",
    ] {
        error(other);
    }
    assert!(Snapshot::from_json(b"{\"format\": \"\xff\"}").is_err());
}

#[test]
fn a_message_quotes_no_long_text() {
    let long = "é".repeat(1000);
    for (from, says) in [
        ("0x7f4000001a1c", "found a text of 2000 bytes"),
        ("focus_lane", "unknown field"),
    ] {
        let message = error(&FILE.replace(from, &long));
        assert!(message.contains(says), "{from}: {message}");
        assert!(message.len() < 300, "{from}: {message}");
    }
    let message = error(&format!(r#"{{"{long}": 0, "{long}": 0}}"#));
    assert!(message.contains("duplicate field"), "{message}");
    assert!(message.len() < 300, "{message}");
}
