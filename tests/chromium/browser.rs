//! Headless Chromium, driven over its DevTools protocol, and all that a page did in it.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The protocol is spoken over the descriptors 3 and 4.
const PIPES: &str = r#"exec chromium "$@" 3<&0 4>&1 >/dev/null 2>&1"#;

/// A page, once it has been loaded.
pub(crate) struct Opened {
    browser: Browser,
    /// All that was asked for, by address.
    pub(crate) requests: Vec<String>,
    /// What stands in the console, and what the browser has refused.
    pub(crate) complaints: Vec<String>,
}

struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    sent: u64,
    events: VecDeque<Value>,
    _profile: tempfile::TempDir,
}

impl Opened {
    /// Opens a file, in a window of this width, and waits until it is loaded.
    pub(crate) fn file(path: &Path, width: u32) -> Self {
        let mut browser = Browser::start();
        for domain in ["Page", "Network", "Log", "Runtime"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        let window =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        browser.call("Emulation.setDeviceMetricsOverride", window);
        let address = format!("file://{}", path.display());
        browser.call("Page.navigate", json!({"url": address}));
        let mut opened = Opened {
            browser,
            requests: Vec::new(),
            complaints: Vec::new(),
        };
        while !opened.hear_one() {}
        // What was asked for after the page had been loaded has been told of when this is answered.
        opened.evaluate("document.title");
        opened
    }

    /// The value of an expression in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true});
        let answer = self.browser.call("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        while !self.browser.events.is_empty() {
            self.hear_one();
        }
        answer["result"]["value"].clone()
    }

    /// Lays the page out for light or dark surroundings.
    pub(crate) fn prefer(&mut self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.browser
            .call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// A picture of the whole page, as PNG in base64.
    pub(crate) fn picture(&mut self) -> String {
        let whole = json!({"format": "png", "captureBeyondViewport": true});
        let answer = self.browser.call("Page.captureScreenshot", whole);
        answer["data"].as_str().expect("a picture").to_owned()
    }

    /// Takes in what the browser tells next. Returns whether it is that the page is loaded.
    fn hear_one(&mut self) -> bool {
        let event = self.browser.event();
        let parameters = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().expect("an address");
                self.requests.push(url.to_owned());
            }
            "Log.entryAdded" | "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" => {
                self.complaints.push(parameters.to_string());
            }
            "Page.loadEventFired" => return true,
            _ => (),
        }
        false
    }
}

impl Browser {
    fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut process = Command::new("sh")
            .args(["-c", PIPES, "sh"])
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let (to, from) = (process.stdin.take(), process.stdout.take());
        let mut browser = Browser {
            process,
            to: to.unwrap(),
            from: BufReader::new(from.unwrap()),
            session: None,
            sent: 0,
            events: VecDeque::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        browser
    }

    /// Calls a method, and returns its result.
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        write!(self.to, "{message}\0").expect("chromium runs");
        loop {
            let message = self.read();
            if message["id"] == self.sent {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    fn event(&mut self) -> Value {
        let known = self.events.pop_front();
        known.unwrap_or_else(|| self.read())
    }

    fn read(&mut self) -> Value {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "chromium is there, and goes on");
        serde_json::from_slice(&message).expect("JSON")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends all that it has started itself, before the directory of its profile is removed.
        let id = self.sent + 1;
        let _ = write!(self.to, "{{\"id\":{id},\"method\":\"Browser.close\"}}\0");
        let _ = std::io::copy(&mut self.from, &mut std::io::sink());
        let _ = self.process.wait();
    }
}
