//! Checks that hostile expressions are answered or rejected, quickly and with little memory.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::expressions;

/// Returns the answer of `print` to a text about the kernel of structs.cl, on a thread with the smallest stack in tests.
fn answer(text: String) -> Value {
    let ask = move || {
        let start = Instant::now();
        let answers = expressions("structs", ".rocm.hsaco", "w05", &[], [text.as_str()]);
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{:?}",
            start.elapsed()
        );
        answers[0].clone()
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(ask);
    thread.unwrap().join().unwrap()
}

fn kind(text: String) -> String {
    let answer = answer(text);
    let kind = &answer["error"]["kind"];
    kind.as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned()
}

#[test]
fn nesting_has_a_limit() {
    let nested = |open: &str, inner: &str, close: &str, count: usize| {
        format!("{}{inner}{}", open.repeat(count), close.repeat(count))
    };
    for (open, inner, close) in [
        ("(", "1", ")"),
        ("-", "1", ""),
        ("- -", "1", ""),
        ("!", "1", ""),
        ("(int)", "1", ""),
        ("1?1:", "1", ""),
        ("1?", "1", ":1"),
        ("id[", "1", "]"),
        ("sizeof ", "id", ""),
        ("1+(", "1", ")"),
        ("(char(*", "1", ")"),
        ("sizeof(int(*", "", ")"),
    ] {
        let most = 60_000 / (open.len() + close.len());
        let kind = kind(nested(open, inner, close, most));
        assert!(
            kind == "limit" || kind == "unsupported" || kind == "syntax",
            "{open}: {kind}"
        );
    }
    assert_eq!(kind(nested("(", "1", ")", 30_000)), "limit");
    // A text with 100,000 levels is already too long before they are counted.
    assert_eq!(kind(nested("(", "1", ")", 100_000)), "limit");
    assert_eq!(kind("(".repeat(60_000)), "limit");
    assert_eq!(answer(nested("(", "1", ")", 100))["lanes"][0]["value"], "1");
}

#[test]
fn long_chains_are_no_nesting() {
    let chain = |operator: &str| vec!["1"; 5000].join(operator);
    for (text, value) in [
        (chain("+"), "5000"),
        (chain("&&"), "1"),
        (chain("||"), "1"),
        (chain("=="), "1"),
        (chain("*"), "1"),
    ] {
        let answer = answer(text);
        assert_eq!(answer["lanes"][31]["value"], value, "{answer}");
    }
    assert_eq!(kind(format!("recs{}", "[0]".repeat(5000))), "type");
    assert_eq!(kind(format!("copy{}", ".s".repeat(5000))), "type");
    assert_eq!(kind("*".repeat(200) + "g"), "type");
}

#[test]
fn long_texts_and_numbers_are_refused() {
    assert_eq!(kind("1+".repeat(100_000)), "limit");
    assert_eq!(kind("a".repeat(60_000)), "unknown-name");
    assert_eq!(kind("9".repeat(60_000)), "syntax");
    assert_eq!(kind("0x".to_owned() + &"f".repeat(60_000)), "syntax");
    assert_eq!(kind("\"".to_owned() + &"a".repeat(60_000)), "syntax");
    assert_eq!(kind("::".repeat(30_000)), "syntax");
    assert_eq!(kind("a::".repeat(20_000) + "b"), "unknown-name");
    assert_eq!(kind("(a".repeat(30_000)), "unsupported");
    assert_eq!(kind("(a+".repeat(20_000)), "limit");
    assert_eq!(
        kind(format!("(int{})0", "*".repeat(60_000)) + "+"),
        "syntax"
    );
    let digits = format!("1.{}", "0".repeat(60_000));
    assert_eq!(answer(digits)["lanes"][0]["value"], "1");
    assert_eq!(
        answer(format!("1e{}", "9".repeat(50)))["lanes"][0]["value"],
        "inf"
    );
    let string = format!("\"{}\"", "a".repeat(60_000));
    assert_eq!(
        answer(format!("sizeof {string}"))["lanes"][0]["value"],
        "60001"
    );
}

/// No size or index in an expression controls how much is read or kept.
#[test]
fn sizes_are_checked_before_anything_is_made() {
    for text in [
        "recs@999999999",
        "recs[0]@18446744073709551615",
        "g[0]@(1ull << 62)",
        "*(int(*)[1000000000])g",
        "*(Rec(*)[18446744073709551615])g",
        "((int(*)[4294967295][4294967295])g)[0][0]@4294967295",
    ] {
        let answer = answer(text.to_owned());
        let lane = &answer["lanes"][0];
        assert!(lane["value"].is_null(), "{text}: {answer}");
        let is_refused = answer["error"]["kind"] == "type";
        assert!(is_refused || lane["state"] == "error", "{text}: {answer}");
    }
    // Memory outside of an object is read like any other memory.
    for text in [
        "recs[9223372036854775807].x",
        "recs[-9223372036854775807 - 1].x",
        "g[1ul << 63]",
        "recs[1ul << 60].y[1ul << 60]",
    ] {
        let answer = answer(text.to_owned());
        assert!(answer["error"].is_null(), "{text}: {answer}");
    }
}

/// Any sequence of tokens has a well-formed answer, and no text crashes the command.
#[test]
fn random_tokens_are_answered_or_refused() {
    const TOKENS: &[&str] = &[
        "id", "recs", "copy", "g", "out", "a", "Rec", "Small", "Color", "GREEN", "x", "y", "in",
        "s", "big", "area", "k", "0", "1", "3", "0x10", "1.5", "1e3f", "'a'", "\"ab\"", "$s0",
        "$v1", "$pc", "$exec", "$sp", "$", "local#4", "int", "unsigned", "long", "struct", "const",
        "__local", "sizeof", "true", "NULL", "(", ")", "(", ")", "[", "]", ".", "->", "*", "&",
        "+", "-", "/", "%", "<<", ">>", "<", "==", "!=", "&&", "||", "?", ":", "!", "~", "@", "=",
        ",", "::", "++", "{", "\u{e4}", "#", "\\",
    ];
    let mut state = 0x1234_5678_9abc_def1_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap()
    };
    let texts: Vec<String> = (0..12_000)
        .map(|_| {
            let length = 1 + next() % 9;
            let words: Vec<&str> = (0..length).map(|_| TOKENS[next() % TOKENS.len()]).collect();
            words.join(if next() % 3 == 0 { "" } else { " " })
        })
        .collect();
    let mut answered = 0;
    for part in texts.chunks(2000) {
        let texts = part.iter().map(String::as_str);
        for (text, answer) in part.iter().zip(expressions(
            "structs",
            ".rocm.hsaco",
            "w05",
            &["--lane", "0,7"],
            texts,
        )) {
            let error = &answer["error"];
            if error.is_null() {
                answered += 1;
                assert!(answer["type"].is_string(), "{text}: {answer}");
                for lane in answer["lanes"].as_array().unwrap() {
                    let has_value = lane["state"] == "ok" || lane["state"] == "partial";
                    assert_eq!(has_value, lane["value"].is_string(), "{text}: {lane}");
                    assert_eq!(!has_value, lane["message"].is_string(), "{text}: {lane}");
                }
            } else {
                let offset = usize::try_from(error["offset"].as_u64().unwrap()).unwrap();
                assert!(text.is_char_boundary(offset), "{text}: {error}");
                assert!(!error["message"].as_str().unwrap().is_empty(), "{text}");
            }
        }
    }
    assert!(
        answered > 500,
        "only {answered} of the texts are expressions"
    );
}
