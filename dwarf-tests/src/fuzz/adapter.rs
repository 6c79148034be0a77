//! Sends messages of an editor to `hetdwarf dap`, about the core of the demo.

use std::io::Cursor;

use serde_json::Value;

/// The requests that a line can choose.
const COMMANDS: [&str; 20] = [
    "threads",
    "stackTrace",
    "scopes",
    "variables",
    "evaluate",
    "completions",
    "source",
    "loadedSources",
    "modules",
    "exceptionInfo",
    "disassemble",
    "readMemory",
    "hetdwarf/setLane",
    "hetdwarf/focus",
    "hetdwarf/lanes",
    "hetdwarf/groups",
    "setBreakpoints",
    "configurationDone",
    "continue",
    "cancel",
];

/// The most lines that are used.
const MOST: usize = 16;

fn framed(body: &[u8]) -> Vec<u8> {
    let mut message = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    message.extend(body);
    message
}

fn request(seq: usize, command: &str, arguments: &str) -> Vec<u8> {
    let body = format!(
        "{{\"seq\":{seq},\"type\":\"request\",\"command\":\"{command}\",\"arguments\":{arguments}}}"
    );
    framed(body.as_bytes())
}

/// Sends each line. A line that starts with a letter from `a` on has the arguments of the request that the letter chooses. Any other line
/// is a raw message. Every reply must be a message, and every valid request must get a response.
///
/// # Panics
/// If the protocol is violated.
pub fn check(bytes: &[u8]) {
    let core = crate::package().join("../examples/demo/demo.core");
    let attach = serde_json::json!({ "coreFile": core.display().to_string() });
    let mut input = request(1, "attach", &attach.to_string());
    input.extend(request(2, "stackTrace", "{\"threadId\":3}"));
    input.extend(request(3, "scopes", "{\"frameId\":1}"));
    let mut asked = 3;
    for (number, line) in bytes.split(|byte| *byte == b'\n').take(MOST).enumerate() {
        // Requests that open another file or end the session are skipped.
        let text = String::from_utf8_lossy(line);
        if text.contains("attach") || text.contains("launch") || text.contains("terminate") {
            continue;
        }
        let letter = line.first().map(|first| first.wrapping_sub(b'a'));
        let command = letter.and_then(|letter| COMMANDS.get(usize::from(letter)));
        match (command, text.get(1..)) {
            (Some(command), Some(arguments)) => {
                input.extend(request(number + 4, command, arguments));
                let is_json = serde_json::from_str::<Value>(arguments).is_ok();
                asked += usize::from(is_json);
            }
            (_, _) => input.extend(framed(line)),
        }
    }
    let mut output = Vec::new();
    hetdwarf_cli::debug_adapter(&mut Cursor::new(input), &mut output).unwrap();
    let mut answers = 0;
    let mut rest = &*output;
    while !rest.is_empty() {
        let text = rest.strip_prefix(b"Content-Length: ").unwrap();
        let end = text.windows(4).position(|one| one == b"\r\n\r\n").unwrap();
        let length: usize = std::str::from_utf8(&text[..end]).unwrap().parse().unwrap();
        let body = &text[end + 4..][..length];
        let message: Value = serde_json::from_slice(body).unwrap();
        answers += usize::from(message["type"] == "response");
        rest = &text[end + 4 + length..];
    }
    // A raw message can also be a request.
    assert!(answers >= asked, "{answers} answers to {asked} requests");
}

/// Returns requests of an editor.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    [
        "a{}\nb{\"threadId\":1,\"startFrame\":1,\"levels\":1}\nj{\"threadId\":3}",
        "d{\"variablesReference\":5}\nd{\"variablesReference\":6,\"start\":1,\"count\":2}\nd{\"variablesReference\":7}\nd{\"variablesReference\":8}",
        "e{\"expression\":\"a + x * 2\",\"frameId\":1}\ne{\"expression\":\"*g\",\"frameId\":1}\ne{\"expression\":\"lane 3\",\"context\":\"repl\"}\ne{\"expression\":\"$v2\"}",
        "f{\"text\":\"a + \",\"column\":5,\"frameId\":1}\ng{\"sourceReference\":2}\nh{}\ni{\"startModule\":0}",
        "k{\"memoryReference\":\"0x7f4000001630\",\"instructionOffset\":-3,\"instructionCount\":6}\nl{\"memoryReference\":\"private_lane:3:0x10\",\"count\":16}",
        "m{\"threadId\":3,\"lane\":3}\nn{\"threadId\":2}\no{\"frameId\":1}\np{}\nq{\"breakpoints\":[{\"line\":1}]}\nr{}\ns{}\nt{}",
        "b{\"threadId\":99}\nc{\"frameId\":99}\nd{\"variablesReference\":-1}\ne{\"expression\":\"(((((\"}",
        "e{\"expression\":\"y\",\"frameId\":1,\"context\":\"lanes\"}\nd{\"variablesReference\":6}\nd{\"variablesReference\":6,\"start\":31,\"count\":9999999999}",
        "e{\"expression\":\"wave 5\",\"context\":\"repl\"}\ne{\"expression\":\"waves\",\"context\":\"repl\"}\ne{\"expression\":\"lanes\",\"context\":\"repl\"}\nb{\"threadId\":5}",
        "{\"seq\":9,\"type\":\"request\",\"command\":\"threads\"}\n{\nnull\n[]",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}
