//! Tests the text that people see, without colours.

use super::*;
use hetdwarf::report::{CheckedFile, SourceDocument};

fn finding(severity: Severity, excerpt: Option<(&str, [usize; 2])>) -> FindingDocument {
    let spec = "DWARF 5 §6.4.1";
    let mut finding = FindingDocument::new("cfi-entry", severity, ".debug_frame", "first", spec);
    finding.offset = Some(0x68_u64.into());
    finding.pc = Some(0x1a08_u64.into());
    finding.function = Some("helper".into());
    let mut source = SourceDocument::new("k.cl", 12);
    source.text = Some("x = y;".into());
    finding.source = Some(source);
    finding.excerpt = excerpt.map(|(text, [start, end])| Excerpt::new(text.to_owned(), start..end));
    finding.help = Some("do this".into());
    finding
}

fn text_of(findings: Vec<FindingDocument>) -> String {
    let file = VerifiedFile::with_findings("k.hsaco", "gfx90a", findings);
    let document = VerifyDocument::new([CheckedFile {
        objects: vec![file],
        unreadable: Vec::new(),
    }]);
    let mut out = anstream::StripStream::new(Vec::new());
    print(&document, &mut out).unwrap();
    String::from_utf8(out.into_inner()).unwrap()
}

#[test]
fn a_finding_shows_where_what_and_what_to_do() {
    let line = "DW_CFA_def_cfa_sf SGPR99+0";
    assert_eq!(
        text_of(vec![finding(Severity::Error, Some((line, [18, 24])))]),
        "error[cfi-entry]: first
  --> k.hsaco: .debug_frame+0x68 in helper at k.cl:12 (pc 0x1a08)
  12 | x = y;
  | DW_CFA_def_cfa_sf SGPR99+0
  |                   ^^^^^^
  = help: do this

1 code object: 1 error, 0 warnings, 0 notes
"
    );
}

#[test]
fn what_is_not_known_takes_no_room() {
    let mut bare = finding(Severity::Note, Some(("all of it", [0, 0])));
    bare.offset = None;
    bare.pc = None;
    bare.function = None;
    bare.source = None;
    bare.help = None;
    assert_eq!(
        text_of(vec![bare]),
        "note[cfi-entry]: first
  --> k.hsaco: .debug_frame
  | all of it

1 code object: 0 errors, 0 warnings, 1 note
"
    );
}

/// Names come from the file, and a terminal would obey them.
#[test]
fn control_characters_are_shown_and_not_sent() {
    let mut hostile = finding(Severity::Warning, Some(("a\tb\u{1b}[2Jc", [2, 3])));
    hostile.function = Some("\u{1b}]0;title\u{7}".into());
    hostile.message = "\u{9b}31m\n::error::".into();
    let text = text_of(vec![hostile]);
    assert!(
        text.contains("  | a\\u{9}b\\u{1b}[2Jc\n  |       ^\n"),
        "{text}"
    );
    assert!(text.contains("in \\u{1b}]0;title\\u{7} at"), "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
}

/// A mark that is outside the text, or inside of a character, is no reason to fail.
#[test]
fn marks_that_make_no_sense_are_left_out() {
    for mark in [[5, 9], [7, 3], [1, 2]] {
        let text = text_of(vec![finding(Severity::Error, Some(("é", mark)))]);
        assert!(text.contains("  | é\n  = help"), "{mark:?} {text}");
    }
}

#[test]
fn paragraphs_are_wrapped() {
    assert_eq!(wrapped("aa bb  cc\nlonger dd", 5), "aa bb\ncc\nlonger\ndd");
    assert_eq!(wrapped("", 5), "");
}
