//! Connects several editors to one port.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::demo_core;

/// Starts `hetdwarf dap --port` in this process, and returns the port. It answers until the process ends.
fn listening() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    std::thread::spawn(move || dwarf_tests::hetdwarf(["dap", "--port", &port.to_string()]));
    port
}

struct Editor {
    stream: TcpStream,
    input: BufReader<TcpStream>,
    seq: u64,
}

impl Editor {
    fn connect(port: u16) -> Editor {
        for _ in 0..100 {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
                stream
                    .set_read_timeout(Some(Duration::from_secs(60)))
                    .unwrap();
                let input = BufReader::new(stream.try_clone().unwrap());
                return Editor {
                    stream,
                    input,
                    seq: 0,
                };
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("nothing listens at {port}");
    }

    fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.input.read_line(&mut line).unwrap();
        let length = line.trim_end().strip_prefix("Content-Length: ")?;
        let mut rest = vec![0; length.parse::<usize>().unwrap() + 2];
        self.input.read_exact(&mut rest).unwrap();
        Some(serde_json::from_slice(&rest[2..]).unwrap())
    }

    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        self.seq += 1;
        let request = json!({ "seq": self.seq, "type": "request", "command": command, "arguments": arguments });
        let body = request.to_string();
        write!(self.stream, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        loop {
            let message = self.receive().unwrap();
            if message["type"] == "response" {
                assert_eq!(message["request_seq"], self.seq);
                return message;
            }
        }
    }
}

/// Each editor has a session of its own: requests and errors of one do not affect the other.
#[test]
fn editors_do_not_disturb_each_other() {
    let port = listening();
    let [mut one, mut other] = [Editor::connect(port), Editor::connect(port)];
    for editor in [&mut one, &mut other] {
        editor.ask("initialize", json!({}));
        editor.ask("attach", json!({ "coreFile": demo_core() }));
    }
    one.ask("hetdwarf/setLane", json!({ "threadId": 3, "lane": 3 }));
    other
        .stream
        .write_all(b"Content-Length: 3\r\n\r\nabc")
        .unwrap();
    let mut values = Vec::new();
    for editor in [&mut one, &mut other] {
        let frames = editor.ask("stackTrace", json!({ "threadId": 3 }));
        let frame = &frames["body"]["stackFrames"][0]["id"];
        let a = editor.ask("evaluate", json!({ "expression": "a", "frameId": frame }));
        values.push(a["body"]["result"].clone());
    }
    assert_eq!(values[0], "3");
    assert!(
        values[1].as_str().unwrap().starts_with("13 values"),
        "{values:?}"
    );
    one.ask("disconnect", json!({}));
    assert_eq!(other.ask("threads", json!({}))["success"], true);
    // One editor disconnects in the middle of a message.
    other
        .stream
        .write_all(b"Content-Length: 1000\r\n\r\n{")
        .unwrap();
    drop(other);
    assert_eq!(
        Editor::connect(port).ask("initialize", json!({}))["success"],
        true
    );
}

/// An editor beyond the limit gets a message.
#[test]
fn one_editor_too_many_is_told_so() {
    let port = listening();
    let mut editors: Vec<Editor> = (0..16).map(|_| Editor::connect(port)).collect();
    for editor in &mut editors {
        assert_eq!(editor.ask("initialize", json!({}))["success"], true);
    }
    let event = Editor::connect(port).receive().unwrap();
    assert_eq!(event["event"], "output");
    let text = event["body"]["output"].as_str().unwrap();
    assert!(text.contains("16 editors are connected already"), "{text}");
}
