//! An editor that speaks the Debug Adapter Protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// An editor.
pub struct Client {
    output: Option<std::io::PipeWriter>,
    input: BufReader<std::io::PipeReader>,
    seq: i64,
    pub events: Vec<Value>,
    adapter: Option<JoinHandle<std::io::Result<()>>>,
}

impl Client {
    pub fn new() -> Client {
        let (to_read, output) = std::io::pipe().unwrap();
        let (input, mut to_write) = std::io::pipe().unwrap();
        // `.ci/planted` identifies the test by the name of the thread.
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        let adapter = std::thread::Builder::new().name(test);
        let adapter = adapter.spawn(move || {
            hetdwarf_cli::debug_adapter(&mut BufReader::new(to_read), &mut to_write)
        });
        Client {
            output: Some(output),
            input: BufReader::new(input),
            seq: 0,
            events: Vec::new(),
            adapter: Some(adapter.unwrap()),
        }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.output.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Returns the next message.
    pub fn receive(&mut self) -> Option<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.input.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse().unwrap(),
                Some(other) => panic!("{other:?}"),
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.input.read_exact(&mut body).unwrap();
        Some(serde_json::from_slice(&body).unwrap())
    }

    /// Sends a request. Returns its response, which must be the only one.
    pub fn ask(&mut self, command: &str, arguments: Value) -> Value {
        self.seq += 1;
        let seq = self.seq;
        let request =
            json!({ "seq": seq, "type": "request", "command": command, "arguments": arguments });
        let text = request.to_string();
        self.send(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
        loop {
            let message = self
                .receive()
                .unwrap_or_else(|| panic!("{command}: no answer"));
            if message["type"] == "event" {
                self.events.push(message);
                continue;
            }
            assert_eq!(message["type"], "response");
            assert_eq!(message["request_seq"], seq);
            assert_eq!(message["command"], command);
            return message;
        }
    }

    /// Sends a request that must succeed. Returns the body of the response.
    pub fn body(&mut self, command: &str, arguments: Value) -> Value {
        let response = self.ask(command, arguments.clone());
        assert_eq!(
            response["success"], true,
            "{command} {arguments}: {response}"
        );
        response["body"].clone()
    }

    /// Opens a core, log or snapshot, as VS Code does.
    pub fn open(arguments: Value) -> Client {
        let mut client = Client::new();
        client.body("initialize", json!({ "adapterID": "hetdwarf" }));
        client.body("attach", arguments);
        client.body("configurationDone", json!({}));
        // The event comes after the response.
        client.body("threads", json!({}));
        assert!(
            client
                .events
                .iter()
                .any(|event| event["event"] == "initialized")
        );
        client
    }

    pub fn stopped(&self) -> &Value {
        let stopped = self.events.iter().find(|event| event["event"] == "stopped");
        &stopped.unwrap()["body"]
    }

    pub fn frames(&mut self, wave: &Value) -> Vec<Value> {
        let body = self.body("stackTrace", json!({ "threadId": wave }));
        body["stackFrames"].as_array().unwrap().clone()
    }

    pub fn children(&mut self, of: &Value) -> Vec<Value> {
        let arguments = json!({ "variablesReference": of["variablesReference"] });
        let body = self.body("variables", arguments);
        body["variables"].as_array().unwrap().clone()
    }

    /// Returns the variables in a scope of a frame.
    pub fn scope(&mut self, frame: &Value, name: &str) -> Vec<Value> {
        let scopes = self.body("scopes", json!({ "frameId": frame["id"] }));
        let scopes = scopes["scopes"].as_array().unwrap();
        let scope = scopes
            .iter()
            .find(|scope| scope["name"] == name)
            .unwrap()
            .clone();
        self.children(&scope)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.output.take());
        let ended = self.adapter.take().unwrap().join();
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

pub fn text(path: &std::path::Path) -> String {
    path.display().to_string()
}

/// Returns the folder of the demo.
pub fn demo() -> PathBuf {
    dwarf_tests::package().join("../examples/demo")
}

/// Returns the path of the demo's core. Its wave 3 faulted in `leaf`.
pub fn demo_core() -> String {
    text(&demo().join("demo.core"))
}
