//! Tests abbreviations, line tables, string tables and relocations. The sections are written byte by byte, each just inside or outside the limit of a
//! rule. Sources: DWARF 5 §7.5.3 for abbreviations, §6.2.4 for line table headers, §7.26 for string tables.

use std::sync::Arc;

use crate::frame::Instruction;
use crate::inspect::Program;
use crate::limits::Limits;
use crate::meter::Meter;
use crate::object::testing::{
    ALLOC, EXECUTE, PROGBITS, RELA, STRTAB, SYMTAB, TestSection, linked, rela, relocatable,
    section, symbol,
};
use crate::object::{CodeObject, Layout};
use crate::verify::finding::Findings;
use crate::verify::subject::Subject;
use crate::verify::tests::made::{Made, cie, code, fde};
use crate::verify::{abbreviation, lines, location, strings, target, verify};

pub(super) type Check = fn(&Subject<'_, '_>, &mut Findings);

/// The rule, the offset and the message of a finding.
pub(super) type Said = (&'static str, u64, String);

/// Returns the findings of a check in a file of any machine.
pub(super) fn said(file: &[u8], check: Check) -> Vec<Said> {
    let meter = Arc::new(Meter::new(&Limits::DEFAULT, 0));
    let object = CodeObject::parse_any_machine(file, Layout::Distinct, &meter).unwrap();
    let program = Program::load(&object).unwrap();
    let mut findings = Findings::default();
    let meter = Arc::clone(program.meter());
    check(&Subject::new(&program, meter), &mut findings);
    let found = findings.finish(program.meter()).0.into_iter();
    found
        .map(|one| {
            let message = one.message.raw().to_owned();
            (one.rule.id, one.offset.unwrap_or_default(), message)
        })
        .collect()
}

/// Returns a linked object with these sections and some code.
pub(super) fn with(sections: &[(&'static str, &[u8])]) -> Vec<u8> {
    let code = section(".text", PROGBITS, &[0; 0x40]).flags(ALLOC | EXECUTE);
    let more = sections.iter();
    let more = more.map(|(name, bytes)| section(name, PROGBITS, bytes));
    linked(&core::iter::once(code).chain(more).collect::<Vec<_>>())
}

pub(super) fn expect(found: &[Said], rule: &str, offset: u64, part: &str) {
    assert!(
        matches!(found, [(id, at, text)] if (*id, *at) == (rule, offset) && text.contains(part)),
        "{rule} at {offset:#x}, {part}: {found:#?}"
    );
}

/// Returns bytes with their length before them.
fn sized(body: &[u8]) -> Vec<u8> {
    let mut all = (body.len() as u32).to_le_bytes().to_vec();
    all.extend(body);
    all
}

const COMPILE: u8 = 1;
const TYPE: u8 = 2;

/// Returns a unit with these entries.
///
/// * `kind`: the unit type of DWARF 5.
fn unit(version: u16, kind: u8, abbreviations: u32, entries: &[u8]) -> Vec<u8> {
    let mut body = version.to_le_bytes().to_vec();
    if version == 5 {
        body.extend([kind, 8]);
    }
    body.extend(abbreviations.to_le_bytes());
    match (version, kind) {
        (5, TYPE) => body.extend([1, 2, 3, 4, 5, 6, 7, 8, 24, 0, 0, 0]),
        (5, _) => {}
        _ => body.push(8),
    }
    body.extend(entries);
    sized(&body)
}

/// Returns the abbreviations of a compilation unit without children, with these names and forms of attributes.
fn abbreviations(attributes: &[u8]) -> Vec<u8> {
    [&[1, 0x11, 0], attributes, &[0, 0, 0]].concat()
}

const STMT_LIST: u8 = 0x10;
const NAME: u8 = 0x03;
const DATA4: u8 = 0x06;
const SEC_OFFSET: u8 = 0x17;

#[test]
fn abbreviations_are_read_up_to_the_end_of_their_table() {
    let found = |table: &[u8], units: &[Vec<u8>]| {
        let info = units.concat();
        let file = with(&[(".debug_abbrev", table), (".debug_info", &info)]);
        said(&file, abbreviation::check)
    };
    let one = |version, offset| unit(version, COMPILE, offset, &[1, 0, 0, 0, 0]);
    let twice = abbreviations(&[STMT_LIST, SEC_OFFSET, STMT_LIST, SEC_OFFSET]);
    let message = "abbreviation 1 has DW_AT_stmt_list twice";
    // There is one finding, though two units use the table. Its offset is the abbreviation, which follows an unused table below.
    expect(
        &found(&twice, &[one(4, 0), one(4, 0)]),
        "abbrev-attribute-twice",
        0,
        message,
    );
    let behind = [&[0], &twice[..]].concat();
    expect(
        &found(&behind, &[one(4, 1)]),
        "abbrev-attribute-twice",
        1,
        message,
    );

    // In tables without a unit, duplicate attributes are reported. Faults that depend on the version of a unit are not.
    expect(&found(&behind, &[]), "abbrev-attribute-twice", 1, message);
    assert_eq!(found(&abbreviations(&[STMT_LIST, NAME]), &[]), []);

    let open = &twice[..5];
    let open = [open, &[0, 0]].concat();
    expect(
        &found(&open, &[one(4, 0)]),
        "abbrev-end",
        0,
        "does not end before the end of the section",
    );
    // The unit refers to the end of the section and has no table, which is reported with the unit.
    let end = open.len() as u32;
    assert_eq!(found(&open, &[one(4, end)]), []);

    // Before DWARF 4, offsets had no form of their own.
    let numbered = abbreviations(&[STMT_LIST, DATA4]);
    assert_eq!(found(&numbered, &[one(3, 0)]), []);
    let message = "DW_AT_stmt_list of abbreviation 1 has DW_FORM_data4, which is a constant, where it is an offset";
    expect(&found(&numbered, &[one(4, 0)]), "abbrev-form", 0, message);
    // The class of an unknown form is not known.
    assert_eq!(found(&abbreviations(&[NAME, 0x7e]), &[one(4, 0)]), []);
}

/// A unit may lack the addresses of its code. DWARF 4 §3.1.1 lists the attributes of units with addresses.
#[test]
fn functions_of_a_unit_without_addresses_are_compared() {
    // A unit with children and without attributes, and a function with DW_AT_low_pc and DW_AT_high_pc.
    let table = [1, 0x11, 1, 0, 0, 2, 0x2e, 0, 0x11, 1, 0x12, 6, 0, 0, 0];
    let function =
        |start: u64, size: u32| [&[2], &start.to_le_bytes()[..], &size.to_le_bytes()[..]].concat();
    let found = |second: (u64, u32)| {
        let entries = [
            vec![1],
            function(0x10, 0x10),
            function(second.0, second.1),
            vec![0],
        ];
        let info = unit(4, COMPILE, 0, &entries.concat());
        let file = with(&[(".debug_abbrev", &table), (".debug_info", &info)]);
        let found = said(&file, |subject, findings| {
            location::check(subject, 1, findings);
        });
        let scopes = found
            .into_iter()
            .filter(|said| said.0.starts_with("scope-"));
        scopes.collect::<Vec<_>>()
    };
    assert_eq!(found((0x20, 8)), []);
    expect(&found((0x1f, 1)), "scope-overlap", 25, "0x1f");
}

/// A line table under construction.
#[derive(Clone, Copy)]
struct Lines<'l> {
    version: u16,
    directories: &'l [&'l str],
    /// The directory number of each file.
    files: &'l [u8],
    program: &'l [u8],
}

impl Lines<'_> {
    fn bytes(&self) -> Vec<u8> {
        let mut rest = vec![1, 1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1];
        let name = |out: &mut Vec<u8>, name: &str| {
            out.extend(name.as_bytes());
            out.push(0);
        };
        if self.version == 5 {
            // Names are inline. A file also has its directory number.
            rest.extend([1, 1, 8, self.directories.len() as u8]);
            self.directories.iter().for_each(|one| name(&mut rest, one));
            rest.extend([2, 1, 8, 2, 0x0b, self.files.len() as u8]);
            for directory in self.files {
                name(&mut rest, "a");
                rest.push(*directory);
            }
        } else {
            self.directories.iter().for_each(|one| name(&mut rest, one));
            rest.push(0);
            for directory in self.files {
                name(&mut rest, "a");
                rest.extend([*directory, 0, 0]);
            }
            rest.push(0);
        }
        let mut body = self.version.to_le_bytes().to_vec();
        if self.version == 5 {
            body.extend([8, 0]);
        }
        body.extend(sized(&rest));
        body.extend(self.program);
        sized(&body)
    }
}

/// Returns the findings about line tables in a file with a unit that has this `DW_AT_stmt_list`.
fn in_table(table: &[u8], offset: u32) -> Vec<Said> {
    let info = unit(4, COMPILE, 0, &[&[1], &offset.to_le_bytes()[..]].concat());
    let file = with(&[
        (".debug_abbrev", &abbreviations(&[STMT_LIST, SEC_OFFSET])),
        (".debug_info", &info),
        (".debug_line", table),
    ]);
    said(&file, lines::check)
}

/// Returns `DW_LNE_set_address` and a row.
fn row(address: u8) -> Vec<u8> {
    vec![0, 9, 2, address, 0, 0, 0, 0, 0, 0, 0, 1]
}

const END: [u8; 3] = [0, 1, 1];
const SET_FILE: u8 = 4;

#[test]
fn rows_are_of_files_that_are_listed_and_do_not_go_back() {
    let found = |version: u16, program: &[&[u8]]| {
        let lines = Lines {
            version,
            directories: &["/"],
            files: &[0],
            program: &program.concat(),
        };
        in_table(&lines.bytes(), 0)
    };
    // Before DWARF 5, the first file is 1, and 0 means no file. Since DWARF 5, the first file is 0.
    let file = |number: u8| [SET_FILE, number];
    assert_eq!(found(4, &[&file(1), &row(0x10), &END]), []);
    assert_eq!(found(4, &[&file(0), &row(0x10), &END]), []);
    expect(
        &found(4, &[&file(2), &row(0x10), &END]),
        "line-file",
        0,
        "of 0x10 names file 2, but files are 1 to 1",
    );
    assert_eq!(found(5, &[&file(0), &row(0x10), &END]), []);
    expect(
        &found(5, &[&file(1), &row(0x10), &END]),
        "line-file",
        0,
        "of 0x10 names file 1, but files are 0 to 0",
    );
    // DW_LNE_define_file adds one.
    let define = [0, 6, 3, b'b', 0, 0, 0, 0];
    assert_eq!(found(4, &[&define, &file(2), &row(0x10), &END]), []);
    // The last row of a sequence belongs to no line.
    assert_eq!(found(4, &[&row(0x10), &file(9), &END]), []);

    assert_eq!(found(4, &[&row(0x10), &row(0x10), &row(0x14), &END]), []);
    assert_eq!(found(4, &[&row(0x10), &END, &row(8), &END]), []);
    let back = found(4, &[&row(0x10), &row(0x0c), &row(0x0b), &END]);
    expect(
        &back,
        "line-backwards",
        0,
        "the row of 0xc follows the row of 0x10",
    );
    // The instruction is cut off.
    assert!(matches!(
        found(4, &[&row(0x10), &row(0x14)[..6]])[..],
        [("line-table", 0, _)]
    ));
}

#[test]
fn files_are_in_directories_that_are_listed() {
    let found = |version, directories: &[&str], files: &[u8]| {
        let lines = Lines {
            version,
            directories,
            files,
            program: &[],
        };
        in_table(&lines.bytes(), 0)
    };
    // Before DWARF 5, the directory of the unit has the number 0 and is not listed.
    assert_eq!(found(4, &[], &[0]), []);
    expect(
        &found(4, &[], &[0, 1]),
        "line-directory",
        0,
        "file 2 is in directory 1, but directories are 0 to 0",
    );
    assert_eq!(found(4, &["/"], &[1]), []);
    assert_eq!(found(5, &["/"], &[0]), []);
    expect(
        &found(5, &["/"], &[0, 1]),
        "line-directory",
        0,
        "file 1 is in directory 1, but directories are 0 to 0",
    );
}

#[test]
fn a_line_table_is_in_its_section_and_of_one_compilation_unit() {
    let lines = Lines {
        version: 5,
        directories: &["/"],
        files: &[0],
        program: &[],
    };
    let table = lines.bytes();
    let end = table.len() as u32;
    assert_eq!(in_table(&table, 0), []);
    expect(&in_table(&table, end), "line-offset", 0, "ends before");

    let both = |kinds: [u8; 2]| {
        let info = kinds
            .map(|kind| unit(5, kind, 0, &[1, 0, 0, 0, 0]))
            .concat();
        let file = with(&[
            (".debug_abbrev", &abbreviations(&[STMT_LIST, SEC_OFFSET])),
            (".debug_info", &info),
            (".debug_line", &table),
        ]);
        said(&file, lines::check)
    };
    // Type units share the files of a compilation unit.
    assert_eq!(both([COMPILE, TYPE]), []);
    assert_eq!(both([TYPE, COMPILE]), []);
    expect(
        &both([COMPILE; 2]),
        "line-shared",
        0x11,
        "have the table at 0x0",
    );
}

/// Returns the findings of `location` for a unit with a variable entry that has this attribute.
fn of_entry(
    version: u16,
    attribute: &[u8],
    value: &[u8],
    more: &[(&'static str, &[u8])],
) -> Vec<Said> {
    let table = [
        &[1, 0x11, 1, STMT_LIST, SEC_OFFSET, 0, 0, 2, 0x34, 0],
        attribute,
        &[0, 0, 0],
    ]
    .concat();
    let entries = [&[1, 0, 0, 0, 0, 2], value, &[0]].concat();
    let info = unit(version, COMPILE, 0, &entries);
    let mut sections = vec![(".debug_abbrev", &table[..]), (".debug_info", &info)];
    sections.extend(more);
    said(&with(&sections), |subject, findings| {
        location::check(subject, 1, findings);
    })
}

/// The root entry of a type unit must be `DW_TAG_type_unit`.
#[test]
fn a_type_unit_begins_with_its_own_tag() {
    let of_tag = |tag: u8| {
        let info = unit(5, TYPE, 0, &[1]);
        let table = [1, tag, 0, 0, 0, 0];
        let file = with(&[(".debug_abbrev", &table), (".debug_info", &info)]);
        said(&file, |subject, findings| {
            location::check(subject, 1, findings);
        })
    };
    assert_eq!(of_tag(0x41), []);
    expect(&of_tag(0x11), "unit-root", 24, "DW_TAG_compile_unit");
}

#[test]
fn strings_end_in_their_section() {
    let found = |form: u8, section: &'static str, offset: u8, text: &[u8]| {
        of_entry(5, &[NAME, form], &[offset, 0, 0, 0], &[(section, text)])
    };
    let (strp, line_strp) = (0x0e, 0x1f);
    for (form, section) in [(strp, ".debug_str"), (line_strp, ".debug_line_str")] {
        assert_eq!(found(form, section, 2, b"a\0b\0"), []);
        assert_eq!(found(form, section, 3, b"a\0b\0"), []);
        let said = format!("0x4 in {section}");
        expect(
            &found(form, section, 4, b"a\0b\0"),
            "unit-string",
            0x11,
            &said,
        );
        assert_eq!(found(form, section, 0, b"a\0b"), []);
        let said = format!("0x2 in {section}");
        expect(
            &found(form, section, 2, b"a\0b"),
            "unit-string",
            0x11,
            &said,
        );
    }
}

#[test]
fn files_of_entries_are_in_the_line_table() {
    const DECL_FILE: u8 = 0x3a;
    let found = |version: u16, number: u8, program: &[u8]| {
        let lines = Lines {
            version,
            directories: &["/"],
            files: &[0],
            program,
        };
        let table = lines.bytes();
        of_entry(
            version,
            &[DECL_FILE, 0x0b],
            &[number],
            &[(".debug_line", &table)],
        )
    };
    assert_eq!(found(5, 0, &[]), []);
    expect(
        &found(5, 1, &[]),
        "unit-file",
        0x11,
        "the files of the line table are 0 to 0",
    );
    // Before DWARF 5, the number 0 means no file.
    assert_eq!(found(4, 0, &[]), []);
    assert_eq!(found(4, 1, &[]), []);
    expect(
        &found(4, 2, &[]),
        "unit-file",
        0x10,
        "the files of the line table are 1 to 1",
    );
    let define = [0, 6, 3, b'b', 0, 0, 0, 0];
    assert_eq!(found(4, 2, &define), []);
}

#[test]
fn offsets_of_strings_lead_to_strings() {
    let part = |offsets: &[u32]| {
        let body: Vec<u8> = offsets.iter().flat_map(|one| one.to_le_bytes()).collect();
        sized(&[&[5, 0, 0, 0], &body[..]].concat())
    };
    let found = |table: &[u8]| {
        let file = with(&[(".debug_str_offsets", table), (".debug_str", b"a\0b\0")]);
        said(&file, strings::check)
    };
    assert_eq!(found(&part(&[0, 2, 3])), []);
    expect(
        &found(&part(&[0, 4])),
        "string-offset",
        12,
        "0x4 is not in .debug_str",
    );
    expect(
        &found(&part(&[9, 4, 0])),
        "string-offset",
        8,
        "0x9 is not in .debug_str, nor are 1 others",
    );
    // The second part begins at 12.
    let both = [part(&[0]), part(&[2, 4])].concat();
    expect(&found(&both), "string-offset", 24, "0x4 is not");
    // Offsets of the 64-bit format have eight bytes.
    let wide = |offset: u64| {
        let length = [0xff, 0xff, 0xff, 0xff, 12, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0];
        [&length[..], &offset.to_le_bytes()].concat()
    };
    assert_eq!(found(&wide(2)), []);
    let bad = found(&wide(0x1_0000_0002));
    expect(&bad, "string-offset", 16, "0x100000002 is not");
}

/// Returns a relocatable object in which two words of a section have relocations of these types, to an undefined symbol.
fn relocated(name: &'static str, kinds: [u32; 2], machine: u8) -> Vec<u8> {
    let table = [rela(0, kinds[0], 1, 0), rela(4, kinds[1], 1, 0)].concat();
    let symbols = [symbol(0, 0, 0, 0, 0), symbol(0, 0, 0, 0, 0)].concat();
    let sections: [TestSection; 4] = [
        section(name, PROGBITS, &[0; 8]),
        section(".rela", RELA, &table).linked(3, 1),
        section(".symtab", SYMTAB, &symbols).linked(4, 2),
        section(".strtab", STRTAB, &[0]),
    ];
    let mut file = relocatable(&sections);
    file[18] = machine;
    file
}

/// For AMDGPU, `R_AMDGPU_ABS32` is 6 and 12 is unassigned. For x86-64, `R_X86_64_32` is 10 and 43 is newer than the table.
#[test]
fn relocations_of_unknown_types_are_told() {
    let found = |file: &[u8]| said(file, target::check_relocations);
    let (amdgpu, x86_64) = (224, 62);
    assert_eq!(found(&relocated(".debug_addr", [6, 0], amdgpu)), []);
    let one = found(&relocated(".debug_addr", [6, 12], amdgpu));
    expect(
        &one,
        "relocation-unknown",
        4,
        "type 12 of AMDGPU is unknown",
    );
    let both = found(&relocated(".eh_frame", [12, 99], amdgpu));
    expect(
        &both,
        "relocation-unknown",
        0,
        "type 12 of AMDGPU is unknown; 1 more",
    );
    // The linker resolves relocations of loaded sections, so they are not checked.
    assert_eq!(found(&relocated(".data", [12, 99], amdgpu)), []);
    let one = found(&relocated(".debug_addr", [10, 43], x86_64));
    expect(
        &one,
        "relocation-unknown",
        4,
        "type 43 of x86-64 is unknown",
    );
}

/// The register numbers of other machines are not checked. Nothing may grow with them.
#[test]
fn registers_of_other_machines_have_any_number() {
    let register = u64::MAX;
    let entry = fde(0, 0, 0x40, &code(&[Instruction::Undefined { register }]));
    let entries = [cie(&[]), entry].concat();
    let mut file = relocatable(&[section(".debug_frame", PROGBITS, &entries)]);
    // x86-64.
    file[18] = 62;
    let meter = Arc::new(Meter::new(&Limits::DEFAULT, 0));
    let object = CodeObject::parse_any_machine(&file, Layout::Distinct, &meter).unwrap();
    let found = verify(&Program::load(&object).unwrap()).findings;
    let is_of_register = |id: &str| id.starts_with("register");
    let mut rules = found.iter().map(|one| one.rule.id);
    assert!(!rules.any(is_of_register), "{found:#?}");
}

/// Two functions with the same code are folded if their rows are equal.
#[test]
fn entries_of_the_same_code_say_the_same() {
    let nop = code(&[Instruction::Nop]);
    let same_value = code(&[Instruction::SameValue { register: 62 }]);
    let rules = |second: &[u8]| {
        let entries = [
            cie(&[]),
            fde(0, 0, 0x40, &same_value),
            fde(0, 0, 0x40, second),
        ];
        Made::with(&entries).rules()
    };
    assert!(!rules(&same_value).contains(&"cfi-range-overlap"));
    assert!(rules(&nop).contains(&"cfi-range-overlap"));
}
