//! Reads and writes messages of the Debug Adapter Protocol: a header with the length, and JSON.
//!
//! Source: Debug Adapter Protocol, "Base Protocol".

use std::io::{BufRead, Read, Write};

use serde::Serialize;
use serde_json::Value;

use super::protocol::{Body, ErrorMessage, Event};

/// The most bytes of a message.
const MOST: u64 = 16 << 20;
/// The most bytes of a line of a header.
const MOST_LINE: u64 = 1 << 12;

/// A message of the editor.
pub(super) enum Received {
    Request(Request),
    /// Bytes that are not a request, with the problem.
    Malformed(String),
}

/// The state of a session after a request.
pub(super) enum Next {
    GoOn,
    End,
}

/// A request of the editor.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) seq: i64,
    pub(super) command: String,
    pub(super) arguments: Value,
}

/// An answer to a request.
#[derive(Serialize)]
struct Response<'m> {
    seq: i64,
    #[serde(rename = "type")]
    kind: &'static str,
    request_seq: i64,
    command: &'m str,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Body::is_none")]
    body: Body<'m>,
}

#[derive(Serialize)]
struct EventMessage {
    seq: i64,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    event: Event,
}

/// The stream of messages.
pub(super) struct Connection<'c> {
    input: &'c mut dyn BufRead,
    output: &'c mut dyn Write,
    /// The number of the last sent message.
    seq: i64,
}

impl<'c> Connection<'c> {
    pub(super) fn new(input: &'c mut dyn BufRead, output: &'c mut dyn Write) -> Connection<'c> {
        Connection {
            input,
            output,
            seq: 0,
        }
    }

    /// Reads the next message. Returns None at the end of the stream.
    pub(super) fn receive(&mut self) -> std::io::Result<Option<Received>> {
        let mut length = None;
        let mut is_first = true;
        loop {
            let mut line = Vec::new();
            let read = (&mut self.input)
                .take(MOST_LINE)
                .read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(None);
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end();
            if text.is_empty() {
                match (length, is_first) {
                    (Some(length), _) => return self.body(length).map(Some),
                    // Blank lines between messages are skipped.
                    (None, true) => continue,
                    (None, false) => {
                        let message = "a message has no Content-Length".to_owned();
                        return Ok(Some(Received::Malformed(message)));
                    }
                }
            }
            is_first = false;
            let Some((name, value)) = text.split_once(':') else {
                continue;
            };
            if name.trim().eq_ignore_ascii_case("content-length") {
                length = value.trim().parse::<u64>().ok();
            }
        }
    }

    fn body(&mut self, length: u64) -> std::io::Result<Received> {
        let mut body = Vec::new();
        (&mut self.input)
            .take(length.min(MOST))
            .read_to_end(&mut body)?;
        if length > MOST {
            let rest = length - MOST;
            std::io::copy(&mut (&mut self.input).take(rest), &mut std::io::sink())?;
            let message = format!("a message of {length} bytes is too long: {MOST} are read");
            return Ok(Received::Malformed(message));
        }
        Ok(request(&body).map_or_else(Received::Malformed, Received::Request))
    }

    /// Answers a request.
    pub(super) fn respond(
        &mut self,
        request: &Request,
        answer: Result<Body<'_>, String>,
    ) -> std::io::Result<()> {
        let success = answer.is_ok();
        let (body, message) = match answer {
            Ok(body) => (body, None),
            Err(text) => {
                // The identifier is for the editor's log, and is the same for all errors. The editor shows the errors of these requests at
                // their places, so it need not show a message for them.
                let show_user = !["evaluate", "completions", "source"].contains(&&*request.command);
                let error = ErrorMessage {
                    id: 1,
                    format: text.clone(),
                    show_user,
                };
                (Body::Error { error }, Some(text))
            }
        };
        self.seq += 1;
        self.send(&Response {
            seq: self.seq,
            kind: "response",
            request_seq: request.seq,
            command: &request.command,
            success,
            message,
            body,
        })
    }

    /// Sends an event.
    pub(super) fn event(&mut self, event: Event) -> std::io::Result<()> {
        self.seq += 1;
        self.send(&EventMessage {
            seq: self.seq,
            kind: "event",
            event,
        })
    }

    /// Reports a problem that does not concern a request.
    pub(super) fn complain(&mut self, message: &str) -> std::io::Result<()> {
        self.event(Event::Output {
            category: "stderr",
            output: format!("hetdwarf: {message}\n"),
        })
    }

    fn send(&mut self, message: &impl Serialize) -> std::io::Result<()> {
        let text = serde_json::to_string(message)?;
        write!(self.output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.output.flush()
    }
}

/// Reads a request.
fn request(body: &[u8]) -> Result<Request, String> {
    let mut value: Value =
        serde_json::from_slice(body).map_err(|error| format!("a message is not JSON: {error}"))?;
    let seq = field(&value, "seq")
        .as_i64()
        .ok_or("a message has no seq")?;
    if field(&value, "type") != "request" {
        return Err(format!("message {seq} is not a request"));
    }
    let command = field(&value, "command")
        .as_str()
        .ok_or_else(|| format!("request {seq} has no command"))?
        .to_owned();
    let arguments = value
        .get_mut("arguments")
        .map(Value::take)
        .unwrap_or_default();
    Ok(Request {
        seq,
        command,
        arguments,
    })
}

impl Request {
    /// Returns an optional argument that is an integer.
    pub(super) fn integer(&self, name: &str) -> Result<Option<i64>, String> {
        let value = field(&self.arguments, name);
        match value.as_i64() {
            Some(number) => Ok(Some(number)),
            None if value.is_null() => Ok(None),
            None => Err(format!("{name}: an integer is expected")),
        }
    }

    /// Returns a required argument that is an integer.
    pub(super) fn needed(&self, name: &str) -> Result<i64, String> {
        self.integer(name)?
            .ok_or_else(|| format!("{name}: it is missing"))
    }

    /// Returns the number of requested elements of a list, and the index of the first. A count that is 0 or absent means all elements.
    pub(super) fn page(&self, start: &str, count: &str) -> Result<(usize, usize), String> {
        let start = self.integer(start)?.unwrap_or(0);
        let count = self.integer(count)?.filter(|count| *count > 0);
        let start = usize::try_from(start).map_err(|_| "start: it is negative".to_owned())?;
        let count = count.map_or(usize::MAX, |count| {
            usize::try_from(count).unwrap_or(usize::MAX)
        });
        Ok((start, count))
    }

    /// Returns an optional argument that is true or false.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, String> {
        let value = field(&self.arguments, name);
        match value.as_bool() {
            Some(flag) => Ok(Some(flag)),
            None if value.is_null() => Ok(None),
            None => Err(format!("{name}: true or false is expected")),
        }
    }

    /// Returns an optional argument that is a text.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, String> {
        let value = field(&self.arguments, name);
        match value.as_str() {
            Some(text) => Ok(Some(text)),
            None if value.is_null() => Ok(None),
            None => Err(format!("{name}: a text is expected")),
        }
    }

    /// Returns an argument that is a text, or a list of texts.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let wrong = || format!("{name}: a text, or a list of texts, is expected");
        match field(&self.arguments, name) {
            Value::Null => Ok(Vec::new()),
            Value::String(text) => Ok(vec![text.clone()]),
            Value::Array(texts) => texts
                .iter()
                .map(|text| text.as_str().map(str::to_owned).ok_or_else(wrong))
                .collect(),
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(wrong()),
        }
    }
}

/// Returns a field of an object, or null if there is none, or if the value is not an object.
pub(super) fn field<'v>(object: &'v Value, name: &str) -> &'v Value {
    object.get(name).unwrap_or(&Value::Null)
}
