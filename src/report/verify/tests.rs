//! Tests every output format with findings that are made by hand.

use super::*;
use crate::verify::{Excerpt, Finding, Rule, SourceLine};

fn rule(id: &str) -> &'static Rule {
    Rule::by_id(id).unwrap()
}

/// Returns a finding with all optional parts.
fn full() -> Finding {
    let mut finding = Finding::new(
        rule("cfi-entry"),
        ".debug_frame",
        "50% of\nit: a, b at 0x1a08",
    )
    .at(0x68)
    .pc(0x1a08)
    .excerpt(Excerpt::new(
        "DW_CFA_expression PC DW_OP_bregx SGPR19+0",
        21..32,
    ))
    .help("say\r\nmore");
    finding.function = Some("helper".into());
    finding.source = Some(SourceLine::new("/repo/src/a,b:c.cl", 12));
    finding
}

/// Returns a finding without optional parts.
fn bare() -> Finding {
    Finding::new(rule("cfi-cie-pointer"), ".eh_frame", "nothing there")
}

fn checked(path: &str, container: Option<&str>, findings: &[Finding]) -> CheckedFile {
    let findings = findings.iter();
    let findings = findings.map(|finding| FindingDocument::of(path, finding));
    let mut file = VerifiedFile::with_findings(path.to_owned(), "gfx90a", findings.collect());
    file.container = container.map(|path| path.to_owned().into());
    file.producers = vec!["clang".into()];
    CheckedFile {
        objects: vec![file],
        unreadable: Vec::new(),
    }
}

fn sample() -> VerifyDocument {
    let mut note = bare();
    note.severity = Severity::Note;
    VerifyDocument::new([
        CheckedFile::unreadable("z.hsaco", "gone"),
        checked("lib.a(x.o)", Some("lib.a"), &[bare(), note]),
        checked("k.hsaco", None, &[full()]),
    ])
}

fn json(value: impl Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap()
}

/// Checks the fields and types of `hetdwarf-verify/1`.
#[test]
fn the_document() {
    let document = json(sample());
    assert_eq!(document["format"], "hetdwarf-verify/1");
    let file = &document["files"][0];
    assert_eq!(file["path"], "k.hsaco");
    assert_eq!(file["producers"], serde_json::json!(["clang"]));
    assert_eq!(file["target"], "gfx90a");
    let mut finding = file["findings"][0].clone();
    let fingerprint = finding.as_object_mut().unwrap().remove("fingerprint");
    assert_eq!(fingerprint.unwrap().as_str().unwrap().len(), 16);
    assert_eq!(
        finding,
        serde_json::json!({
            "rule": "cfi-entry", "severity": "error", "section": ".debug_frame", "offset": "0x68",
            "pc": "0x1a08", "function": "helper", "message": "50% of\nit: a, b at 0x1a08",
            "help": "say\r\nmore", "source": {"file": "/repo/src/a,b:c.cl", "line": 12},
            "excerpt": {"text": "DW_CFA_expression PC DW_OP_bregx SGPR19+0", "mark": [21, 32]},
            "spec": "DWARF 5 §6.4.1",
        })
    );
    let bare = &document["files"][1]["findings"][0];
    for missing in ["offset", "pc", "function", "help"] {
        assert!(bare[missing].is_null() && bare.get(missing).is_some());
    }
    assert_eq!(document["files"][1]["container"], "lib.a");
    assert_eq!(document["unreadable"][0]["path"], "z.hsaco");
    assert_eq!(
        document["summary"],
        serde_json::json!({"files": 2, "errors": 2, "warnings": 0, "notes": 1, "unreadable": 1})
    );
}

/// GitHub decodes `%25`, `%0D` and `%0A` in messages, and also `%3A` and `%2C` in properties. Line ends within the text of a finding stay escaped.
#[test]
fn annotations_are_escaped() {
    assert_eq!(
        github_annotations(&sample(), "/repo"),
        "::error file=z.hsaco,title=cannot be checked::gone\n\
         ::error file=src/a%2Cb%3Ac.cl,line=12,title=cfi-entry::50%25 of\\u{a}it: a, b at 0x1a08%0A\
         k.hsaco: .debug_frame+0x68 in helper%0Asay\\u{d}\\u{a}more\n\
         ::error file=lib.a,title=cfi-cie-pointer::nothing there%0Alib.a(x.o): .eh_frame\n\
         ::notice file=lib.a,title=cfi-cie-pointer::nothing there%0Alib.a(x.o): .eh_frame\n"
    );
}

/// GitHub shows an annotation only at a file of the repository. A source outside the repository is not such a file.
#[test]
fn sources_outside_of_the_folder_are_not_named_as_files() {
    let document = VerifyDocument::new([checked("k.hsaco", None, &[full()])]);
    let text = github_annotations(&document, "/re");
    assert!(
        text.starts_with("::error file=k.hsaco,title=cfi-entry::"),
        "{text}"
    );
    let document = VerifyDocument::new([checked("../k.hsaco", None, &[full()])]);
    let text = github_annotations(&document, "/re/po");
    assert!(text.starts_with("::error title=cfi-entry::"), "{text}");
    assert!(text.contains("%0A../k.hsaco: .debug_frame"), "{text}");
}

#[test]
fn sarif_says_the_same() {
    let log = json(SarifLog::new(&sample(), "/repo"));
    let run = &log["runs"][0];
    // The log must not reveal the location of the folder on this machine.
    assert!(!log.to_string().contains("/repo"));
    assert!(run["originalUriBaseIds"]["%SRCROOT%"].get("uri").is_none());
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    let location = &results[0]["locations"][0];
    assert_eq!(location["physicalLocation"]["region"]["startLine"], 12);
    assert_eq!(location["logicalLocations"][0]["name"], "helper");
    assert_eq!(results[0]["analysisTarget"]["uri"], "k.hsaco");
    assert!(results[1].get("analysisTarget").is_none());
    assert_eq!(results[0]["properties"]["offset"], "0x68");
    assert_eq!(
        results[1]["locations"][0]["physicalLocation"],
        serde_json::json!({
            "artifactLocation": {"uri": "lib.a", "uriBaseId": "%SRCROOT%"},
            "region": {"byteOffset": 0, "byteLength": 0},
        })
    );
    assert_eq!(
        (&results[1]["level"], &results[2]["level"]),
        (&json("error"), &json("note"))
    );
    // The findings look equal, but are two.
    let print = |n: usize| &results[n]["partialFingerprints"]["primaryLocationLineHash"];
    assert_ne!(print(1), print(2));
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
}

/// Up to [`WIDESPREAD`] functions have one cause each. With one function more, there is one cause for all.
#[test]
fn what_is_everywhere_is_told_once() {
    let helper = |function: &str| {
        let mut finding = full();
        finding.function = Some(function.to_owned().into());
        finding
    };
    let names = ["a", "b", "c", "d"];
    let grouped = |count: usize| {
        let findings: Vec<Finding> = names.iter().take(count).map(|f| helper(f)).collect();
        // The functions occur again in another file.
        VerifyDocument::new([
            checked("k.hsaco", None, &findings),
            checked("l.hsaco", None, &findings),
        ])
        .grouped()
    };
    let few = grouped(WIDESPREAD);
    assert_eq!((few.summary.errors, few.summary.findings), (3, Some(6)));
    for (n, (file, finding)) in few.findings().enumerate() {
        let group = finding.group.as_ref().unwrap();
        assert_eq!(
            (file.path.raw(), finding.function.clone()),
            ("k.hsaco", Some(names[n].into()))
        );
        assert_eq!((group.count, group.functions, group.files), (2, 1, 2));
        assert_eq!(group.also[0].path, Some("l.hsaco".into()));
    }
    let many = grouped(WIDESPREAD + 1);
    assert_eq!((many.summary.errors, many.summary.findings), (1, Some(8)));
    let (_, finding) = many.findings().next().unwrap();
    let group = finding.group.as_ref().unwrap();
    assert_eq!((group.count, group.functions, group.files), (8, 4, 2));
    assert_eq!(group.also.len(), 7);
    let row = &many.rules[0];
    assert_eq!(
        (row.rule, row.causes, row.findings, row.functions, row.files),
        ("cfi-entry", 1, 8, 4, 2)
    );
    assert_eq!(row.producers, ["LLVM"]);
    // Grouping a grouped document changes nothing.
    assert_eq!(json(many.clone().grouped()), json(many));
}

/// Names and producers are untrusted: none is interpreted as markup, and none starts a row.
#[test]
fn the_summary_is_a_table_in_markdown() {
    let mut document = VerifyDocument::new([
        CheckedFile::unreadable("z|`x`\n# y", "gone"),
        checked("k.hsaco", None, &[full()]),
    ]);
    document.files[0].producers = vec!["<b>|x".into()];
    let text = SummaryDocument::new(&document.grouped()).to_markdown();
    assert_eq!(
        text,
        "### hetdwarf verify\n\n1 code objects: **1 errors**, 0 warnings, 0 notes\n\n\
         | level | rule | causes | findings | functions | files | producer |\n\
         |---|---|--:|--:|--:|--:|---|\n\
         | error | `cfi-entry` | 1 | 1 | 1 | 1 | &#60;b&#62;&#124;x |\n\n\
         - not read: z&#124;&#96;x&#96;\\u{a}&#35; y: gone\n"
            .replace("\\u", "&#92;u")
    );
}

#[test]
fn a_fingerprint_survives_that_code_moves() {
    let before = FindingDocument::of("k", &full()).fingerprint;
    let mut moved = full().at(0x70).pc(0x2b08);
    moved.message = moved.message.raw().replace("0x1a08", "0x2b08").into();
    moved.source = Some(SourceLine::new("/repo/src/a,b:c.cl", 13));
    assert_eq!(FindingDocument::of("k", &moved).fingerprint, before);
    assert_ne!(FindingDocument::of("l", &moved).fingerprint, before);
    moved.function = None;
    assert_ne!(FindingDocument::of("k", &moved).fingerprint, before);
}

fn same(path: &Untrusted<'static>) -> Untrusted<'static> {
    path.clone()
}

#[test]
fn a_baseline_takes_what_is_known_and_leaves_what_is_new() {
    let known = Baseline::of(&sample(), same);
    let text = known.to_json().unwrap();
    // There is a line for each entry. Two findings share an entry.
    assert_eq!(text.lines().count(), 2 + 2);
    assert!(!text.contains("0x") && !text.contains("it: a"), "{text}");
    let read = Baseline::from_json(text.as_bytes()).unwrap();
    assert_eq!(read, known);

    let mut again = sample();
    read.apply(&mut again, same, |_| true);
    assert_eq!(again.findings().count(), 0);
    assert_eq!((again.summary.known, again.summary.errors), (3, 0));
    assert!(again.stale.is_empty());

    // There is a third finding of a kind with two known findings.
    let mut more = VerifyDocument::new([checked("lib.a(x.o)", None, &[bare(), bare(), bare()])]);
    read.apply(&mut more, same, |path| path == "lib.a(x.o)");
    assert_eq!((more.summary.known, more.summary.errors), (2, 1));
    assert!(more.stale.is_empty(), "k.hsaco was not checked");

    // One finding was repaired.
    let mut less = VerifyDocument::new([checked("lib.a(x.o)", None, &[bare()])]);
    read.apply(&mut less, same, |_| true);
    let stale: Vec<_> = (less.stale.iter())
        .map(|entry| (entry.files[0].raw(), entry.count))
        .collect();
    assert_eq!(stale, [("lib.a(x.o)", 1), ("k.hsaco", 1)]);
    assert_eq!(read.beyond(&Baseline::of(&less, same)), read);
    assert_eq!(read.beyond(&read), Baseline::default());
}

/// A finding in a function is known in every file. A finding outside functions is known only in its file.
#[test]
fn a_baseline_knows_a_function_in_another_file() {
    let known = Baseline::of(&sample(), same);
    let mut moved = full().at(0x70).pc(0x2b08);
    moved.message = "another one".into();
    let mut document =
        VerifyDocument::new([checked("other.hsaco", None, &[moved.clone(), bare()])]);
    known.apply(&mut document, same, |_| true);
    let left: Vec<_> = document.findings().map(|(_, one)| one.rule).collect();
    assert_eq!(left, ["cfi-cie-pointer"]);
    // With another compiler, the finding is not known.
    let mut document = VerifyDocument::new([checked("other.hsaco", None, &[moved])]);
    document.files[0].producers = vec!["GNU C17".into()];
    known.apply(&mut document, same, |_| true);
    assert_eq!(document.findings().count(), 1);
}

/// Two functions have the same name, and one of them was known. Registers and causes within a function are not counted.
#[test]
fn a_baseline_counts_functions() {
    let contradiction = |offset: u64| {
        let mut document = VerifyDocument::new([checked("k.hsaco", None, &[full().at(offset)])]);
        let mut finding = document.files[0].findings.pop().unwrap();
        finding.kind = "scalar".to_owned();
        finding
    };
    let document = |offsets: &[u64]| {
        let mut document = VerifyDocument::new([checked("k.hsaco", None, &[])]);
        document.files[0].findings = offsets.iter().map(|one| contradiction(*one)).collect();
        document
    };
    let known = Baseline::of(&document(&[0x68]), same);
    for (offsets, new) in [
        (&[0x68, 0x68][..], 0),
        (&[0x90, 0x90], 0),
        (&[0x68, 0x90, 0x68], 1),
    ] {
        let mut document = document(offsets);
        known.apply(&mut document, same, |_| true);
        assert_eq!(document.findings().count(), new, "{offsets:x?}");
    }
}

#[test]
fn a_baseline_of_something_else_is_an_error() {
    for text in [
        "",
        "{}",
        "[1]",
        r#"{"format": "hetdwarf-baseline/1", "findings": []}"#,
        r#"{"format": "hetdwarf-baseline/2", "findings": [{"path": "a"}]}"#,
        r#"{"format": "hetdwarf-baseline/2", "findings": [], "more": 1}"#,
    ] {
        assert!(Baseline::from_json(text.as_bytes()).is_err(), "{text}");
    }
    let none = Baseline::default().to_json().unwrap();
    assert_eq!(
        Baseline::from_json(none.as_bytes()),
        Ok(Baseline::default())
    );
}

/// GitHub shows ten annotations of a level: the worst nine, and one that counts the others.
#[test]
fn there_are_no_more_annotations_than_are_shown() {
    let annotations = |count: usize| {
        let mut note = bare();
        note.severity = Severity::Note;
        let findings: Vec<Finding> = (0..count).map(|_| bare()).chain([note]).collect();
        let document = VerifyDocument::new([checked("k.hsaco", None, &findings)]);
        github_annotations(&document, "/repo")
    };
    let ten = annotations(10);
    assert_eq!(ten.matches("::error ").count(), 10);
    assert!(!ten.contains(" more;"), "{ten}");
    let many = annotations(25);
    assert_eq!(many.matches("::error ").count(), 10);
    assert!(
        many.contains("\n::error title=hetdwarf verify::16 more; "),
        "{many}"
    );
    assert_eq!(many.matches("::notice ").count(), 1);
}

/// GitHub accepts 5,000 results. The worst are kept, and the others are counted.
#[test]
fn sarif_has_no_more_results_than_are_taken() {
    let mut note = bare();
    note.severity = Severity::Note;
    let findings: Vec<Finding> = core::iter::once(note)
        .chain((0..5001).map(|_| bare()))
        .collect();
    let log = json(SarifLog::new(
        &VerifyDocument::new([checked("k.hsaco", None, &findings)]),
        "/repo",
    ));
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 5000);
    assert!(results.iter().all(|result| result["level"] == "error"));
    let said = &run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert!(
        said.as_str().unwrap().starts_with("2 more results"),
        "{said}"
    );
}

#[test]
fn a_line_has_no_address_in_it() {
    assert_eq!(
        lines(&sample().grouped()),
        "z.hsaco: error: unreadable: -: gone\n\
         k.hsaco: error: cfi-entry: helper: 50% of\\u{a}it: a, b at 0x…\n\
         lib.a(x.o): error: cfi-cie-pointer: -: nothing there\n\
         lib.a(x.o): note: cfi-cie-pointer: -: nothing there\n"
    );
    let two = VerifyDocument::new([checked("k.hsaco", None, &[full(), full()])]);
    let text = lines(&two.grouped());
    assert!(
        text.ends_with(" [2 findings in 1 function of 1 code object]\n"),
        "{text}"
    );
}

#[test]
fn junit_has_a_suite_for_each_code_object() {
    let mut document = sample();
    document.files[0].findings[0].message = "<a> & \"b\"\u{1}\u{ffff}".into();
    document
        .files
        .push(checked("clean.hsaco", None, &[]).objects.remove(0));
    let text = junit(&document);
    for part in [
        "<testsuites name=\"hetdwarf verify\" tests=\"5\" failures=\"2\" errors=\"1\">",
        "<error type=\"unreadable\" message=\"gone\"/>",
        "<testsuite name=\"k.hsaco\" tests=\"1\" failures=\"1\" errors=\"0\">",
        "<failure type=\"cfi-entry\" message=\"&lt;a&gt; &amp; &quot;b&quot;\\u{1}\\u{ffff}\">k.hsaco: .debug_frame+0x68",
        "<testsuite name=\"lib.a(x.o)\" tests=\"2\" failures=\"1\" errors=\"0\">",
        "<system-out>note: nothing there\n",
        "<testcase name=\"verify\" classname=\"clean.hsaco\"/>",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// Several threads may deliver the files in any order.
#[test]
fn the_order_of_files_does_not_matter() {
    let files = || {
        vec![
            CheckedFile::unreadable("z.hsaco", "gone"),
            checked("lib.a(x.o)", Some("lib.a"), &[bare()]),
            checked("k.hsaco", None, &[full()]),
        ]
    };
    let text = |files: Vec<CheckedFile>| json(VerifyDocument::new(files)).to_string();
    let mut reversed = files();
    reversed.reverse();
    assert_eq!(text(files()), text(reversed));
}
