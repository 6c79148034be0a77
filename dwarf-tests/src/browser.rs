//! Controls a headless browser for tests of pages. Clicks and keys arrive as if a person had made them.
//!
//! The browser is Chromium. It is controlled through a pipe with the Chrome DevTools Protocol: JSON messages, each terminated by a zero
//! byte.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::cores::Folder;

/// A browser with one page. Dropping it ends the browser.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    last: u64,
    events: VecDeque<Value>,
    _profile: Folder,
}

impl Browser {
    /// Starts a browser. If none is installed, returns None and prints a line on standard error.
    #[must_use]
    pub fn start() -> Option<Browser> {
        let Some(program) = installed() else {
            crate::skipped("chromium is not installed");
            return None;
        };
        let profile = Folder::new();
        // The browser reads from file 3 and writes to file 4.
        let mut child = Command::new("sh")
            .args([
                "-c",
                "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1",
            ])
            .arg(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
            .args(["--no-first-run", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.folder().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let from = BufReader::new(child.stdout.take().unwrap());
        let mut browser = Browser {
            child,
            to,
            from,
            session: None,
            last: 0,
            events: VecDeque::new(),
            _profile: profile,
        };
        let page = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": page["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", target);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.resize(1400, 1000);
        Some(browser)
    }

    /// Sets the size of the window.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    fn next(&mut self) -> Value {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "the browser ended");
        serde_json::from_slice(&message).unwrap()
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        write!(self.to, "{message}\0").unwrap();
        self.to.flush().unwrap();
        loop {
            let mut answer = self.next();
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push_back(answer);
        }
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, path: &Path) {
        let path = path
            .to_str()
            .unwrap()
            .replace('%', "%25")
            .replace('#', "%23");
        self.events.clear();
        self.call("Page.navigate", json!({"url": format!("file://{path}")}));
        let is_loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        while !self.events.iter().any(is_loaded) {
            let event = self.next();
            self.events.push_back(event);
        }
    }

    /// Evaluates an expression of JavaScript and waits for promises.
    ///
    /// # Panics
    /// If the expression throws an exception.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", parameters);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].take()
    }

    /// Returns the texts of the elements that match a CSS selector.
    pub fn texts(&mut self, selector: &str) -> Vec<String> {
        let found = self.evaluate(&format!(
            "[...document.querySelectorAll({selector:?})].map(e => e.textContent)"
        ));
        serde_json::from_value(found).unwrap()
    }

    /// Clicks the middle of the element with this index, from 0, among those that match the selector.
    ///
    /// # Panics
    /// If there is no such element, or another element covers it.
    pub fn click(&mut self, selector: &str, index: usize) {
        let middle = self.evaluate(&format!(
            "(() => {{ const element = document.querySelectorAll({selector:?})[{index}]; \
             element.scrollIntoView({{block: 'nearest'}}); \
             const box = element.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2; \
             return [x, y, element.contains(document.elementFromPoint(x, y))]; }})()"
        ));
        assert_eq!(middle[2], true, "{selector} {index} is not to be seen");
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": middle[0], "y": middle[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        }
        self.settle();
    }

    /// Presses and releases a key by its name: `ArrowDown`, `w`.
    pub fn press(&mut self, key: &str) {
        let mut down = json!({"type": "keyDown", "key": key});
        if key.chars().count() == 1 {
            down["text"] = key.into();
        }
        self.call("Input.dispatchKeyEvent", down);
        let up = json!({"type": "keyUp", "key": key});
        self.call("Input.dispatchKeyEvent", up);
        self.settle();
    }

    /// Waits until the page is drawn.
    fn settle(&mut self) {
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
    }

    /// Sets the preferred color scheme: light or dark.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features);
        self.settle();
    }

    /// Returns the page's errors since it was opened, and all addresses that it requested apart from its own.
    pub fn complaints(&mut self) -> Vec<String> {
        self.settle();
        let mut own = None;
        let mut found = Vec::new();
        for event in &self.events {
            let parameters = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" | "Log.entryAdded" | "Runtime.consoleAPICalled" => {
                    found.push(parameters.to_string());
                }
                "Network.requestWillBeSent" => {
                    let address = parameters["request"]["url"].to_string();
                    if *own.get_or_insert_with(|| address.clone()) != address {
                        found.push(address);
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Writes a picture of the page to the folder `HETDWARF_SCREENSHOTS`, if that is set.
    pub fn screenshot(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("HETDWARF_SCREENSHOTS") else {
            return;
        };
        let answer = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = base64(answer["data"].as_str().unwrap());
        std::fs::write(PathBuf::from(folder).join(name), bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser is asked to exit, so that its child processes exit too.
        let _ = write!(self.to, "{{\"id\":0,\"method\":\"Browser.close\"}}\0");
        let _ = self.to.flush();
        let _ = self.child.wait();
    }
}

fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|program| program.is_file())
}

/// Decodes base64. Other characters are ignored.
#[must_use]
pub fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text
        .bytes()
        .filter_map(|digit| DIGITS.iter().position(|known| *known == digit));
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_usize, 0);
    for digit in digits {
        (bits, count) = (bits << 6 | digit, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}
