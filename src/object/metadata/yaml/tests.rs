use std::sync::Arc;

use super::*;
use crate::error::ErrorKind;
use crate::limits::Limits;
use crate::meter::Meter;

fn parse(text: &str) -> Result<Value> {
    let meter = Arc::new(Meter::new(&Limits::default(), text.len() as u64));
    let held = Held::new(Arc::clone(&meter));
    let value = read(text, &held);
    drop(held);
    assert_eq!(meter.bytes(), 0);
    value
}

fn map(entries: &[(&str, Value)]) -> Value {
    let entries = entries.iter().cloned();
    Value::Map(entries.map(|(key, value)| (key.into(), value)).collect())
}

fn list(items: &[Value]) -> Value {
    Value::Array(items.to_vec())
}

#[test]
fn blocks_are_maps_and_lists_by_their_indents() {
    let text = "---\n# a comment\nVersion: [ 1, 0 ] # here too\nKernels:\n  - Name: a\n    Args:\n      - Size: 8\n        Kind: x y\n      -\n        Size: 4\n    Props:\n      N: -1\n  - Name: b\nSame:\n- 1\n- - 2\n  - 3\nNone:\nLast: ~\n...\nanything\n";
    let expected = map(&[
        ("Version", list(&[1.into(), 0.into()])),
        (
            "Kernels",
            list(&[
                map(&[
                    ("Name", "a".into()),
                    (
                        "Args",
                        list(&[
                            map(&[("Size", 8.into()), ("Kind", "x y".into())]),
                            map(&[("Size", 4.into())]),
                        ]),
                    ),
                    ("Props", map(&[("N", (-1).into())])),
                ]),
                map(&[("Name", "b".into())]),
            ]),
        ),
        ("Same", list(&[1.into(), list(&[2.into(), 3.into()])])),
        ("None", Value::Nil),
        ("Last", Value::Nil),
    ]);
    assert_eq!(parse(text).unwrap(), expected);
}

#[test]
fn scalars_are_plain_or_quoted() {
    // YAML 1.2, 5.7 and 7.3: single quotes escape a quote by doubling it; double quotes have escape sequences.
    for (text, expected) in [
        ("'it''s: #1'", Value::from("it's: #1")),
        (r#""a\n\"\\\x41\u00e9\t""#, "a\n\"\\A\u{e9}\t".into()),
        ("''", "".into()),
        ("'8'", "8".into()),
        ("8", 8.into()),
        ("18446744073709551615", u64::MAX.into()),
        ("a:b", "a:b".into()),
        ("a#b", "a#b".into()),
        ("true", true.into()),
        ("'true'", "true".into()),
        ("[]", list(&[])),
        (
            "[ a, 'b, c', \"d]\" ]",
            list(&["a".into(), "b, c".into(), "d]".into()]),
        ),
        (
            "[ 1,\n    2,\n    3 ]",
            list(&[1.into(), 2.into(), 3.into()]),
        ),
    ] {
        assert_eq!(
            parse(&format!("key: {text}\n")).unwrap(),
            map(&[("key", expected)]),
            "{text}"
        );
    }
    assert_eq!(parse("'a: b': c").unwrap(), map(&[("a: b", "c".into())]));
}

#[test]
fn what_compilers_do_not_write_is_an_error_with_its_line() {
    for text in [
        "a: 1\nb: &x 1",
        "a: 1\nb: *x",
        "a: 1\nb: !t 1",
        "a: 1\nb: |\n  text",
        "a: 1\nb: {c: 1}",
        "a: 1\nb: 'open",
        "a: 1\nb: \"\\q\"",
        "a: 1\nb: \"\\ud800\"",
        "a: 1\nb: [ 1, [ 2 ] ]",
        "a: 1\nb: [ 1",
        "a: 1\n  b: 1",
        "a: 1\nword",
        "a: 1\n- b",
        "a: 1\nb: 'c' d",
        "a: 1\n\tb: 1",
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains("line 2 "), "{text}: {error}");
    }
}

#[test]
fn depth_and_size_are_limited() {
    let deep: String = (0..100).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    for text in [deep, "- ".repeat(100) + "a"] {
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains("nested too deeply"), "{error}");
    }
    let limits = Limits {
        memory: 1 << 20,
        memory_per_byte: 0,
        ..Limits::DEFAULT
    };
    for text in [
        "- \n".repeat(1 << 16),
        format!("[ {} 1 ]", "1,".repeat(1 << 16)),
    ] {
        let meter = Arc::new(Meter::new(&limits, 0));
        let error = read(&text, &Held::new(meter)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
    }
}

#[test]
fn cut_or_changed_anywhere_it_does_no_harm() {
    let text = "Kernels:\n  - Name: 'a'\n    Args: [ \"\\x41\", 2 ]\n";
    for at in 0..text.len() {
        let (before, after) = text.split_at(at);
        let _ = parse(before);
        for byte in ["'", "\"", "[", "]", "-", ":", " ", "\n", "\\", "#", "é"] {
            let _ = parse(&format!("{before}{byte}{after}"));
        }
    }
}
