//! A browser of one's own: headless Chromium, told what to do by the W3C WebDriver protocol.
//!
//! The protocol is a handful of JSON requests; a library for it would bring more than it saves.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::server::client_builder;

/// Longest time for anything to show up.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest time for a browser to end.
const GOODBYE: Duration = Duration::from_secs(10);
/// Pause between looks.
const LOOK: Duration = Duration::from_millis(15);
/// What the protocol calls a reference to an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

pub const TAB: &str = "\u{e004}";
pub const ENTER: &str = "\u{e007}";
pub const DOWN: &str = "\u{e015}";
pub const SHIFT_TAB: &str = "\u{e008}\u{e004}\u{e000}";

/// A desktop.
pub const WIDE: (u32, u32) = (1180, 860);
/// A small telephone.
pub const NARROW: (u32, u32) = (360, 740);

/// A session of a browser. It ends when dropped.
pub struct Browser {
    driver: Child,
    client: Client,
    session: String,
    folder: TempDir,
}

impl Browser {
    /// A browser with an empty profile and the window of a desktop.
    pub async fn open() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts; scripts/browser installs it");
        let stdout = driver.stdout.take().expect("standard output is piped");
        let mut lines = BufReader::new(stdout).lines();
        let port = lines.find_map(|line| {
            let line = line.expect("standard output can be read");
            let port = line.split("successfully on port ").nth(1)?;
            Some(port.trim_end_matches('.').to_owned())
        });
        let port = port.expect("chromedriver says its port");
        // Nobody reads the rest, and nobody must wait for that.
        std::thread::spawn(move || lines.for_each(drop));
        let client = client_builder().timeout(2 * PATIENCE).build().expect("a client");
        let folder = TempDir::new().expect("a temporary folder");
        let mut browser =
            Self { driver, client, session: format!("http://127.0.0.1:{port}/session"), folder };
        let wanted = browser.capabilities();
        let answer = browser.ask("", &wanted).await;
        let id = answer["sessionId"].as_str().expect("a session").to_owned();
        browser.session = format!("{}/{id}", browser.session);
        browser.look_like("light", WIDE).await;
        browser
    }

    fn capabilities(&self) -> Value {
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ];
        let mut arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
        let profile = self.folder.path().join("profile");
        arguments.push(format!("--user-data-dir={}", profile.display()));
        let options = json!({
            "binary": std::env::var("CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_owned()),
            "args": arguments,
            "prefs": { "download.default_directory": self.downloads() },
        });
        json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
        } } })
    }

    /// The folder with what was downloaded.
    pub fn downloads(&self) -> PathBuf {
        self.folder.path().join("downloads")
    }

    /// One command of the protocol.
    #[track_caller]
    fn ask(&self, path: &str, body: &Value) -> impl Future<Output = Value> + use<> {
        let request = self.client.post(format!("{}{path}", self.session)).json(body);
        let what = format!("{path} {}", body.to_string().chars().take(300).collect::<String>());
        async move {
            let response = request.send().await.expect("chromedriver answers");
            let status = response.status();
            let mut answer: Value = response.json().await.expect("JSON");
            assert!(status.is_success(), "{what}: {}", answer["value"]["message"]);
            answer["value"].take()
        }
    }

    /// Opens an address.
    pub async fn go(&self, url: &str) {
        self.ask("/url", &json!({ "url": url })).await;
    }

    /// A command of the browser's own protocol.
    async fn chromium(&self, command: &str, parameters: Value) -> Value {
        self.ask("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters })).await
    }

    /// The colour scheme that the user prefers, and the size of the window.
    pub async fn look_like(&self, scheme: &str, (width, height): (u32, u32)) {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.chromium("Emulation.setEmulatedMedia", features).await;
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.chromium("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// What a function with this body returns in the page.
    pub async fn run(&self, body: &str) -> Value {
        self.ask("/execute/sync", &json!({ "script": body, "args": [] })).await
    }

    /// What a function with this body hands to its last argument.
    pub async fn run_async(&self, body: &str) -> Value {
        self.ask("/execute/async", &json!({ "script": body, "args": [] })).await
    }

    /// Waits until `condition`, an expression, is true of the page.
    pub async fn until(&self, condition: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let value = self.run(&format!("return {condition}")).await;
            if value != Value::Null && value != false && value != "" && value != 0 {
                return value;
            }
            if Instant::now() > deadline {
                let shown =
                    self.run("return location.hash + '\\n' + document.body.innerText").await;
                panic!("never: {condition}\n{}", shown.as_str().unwrap_or_default());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until the page has this text somewhere.
    pub async fn until_text(&self, text: &str) {
        self.until(&format!("document.body.innerText.includes({})", json!(text))).await;
    }

    /// The text of the first element.
    pub async fn text(&self, selector: &str) -> String {
        let found = format!("document.querySelector({})?.innerText", json!(selector));
        self.until(&found).await.as_str().expect("a text").to_owned()
    }

    /// The element, once it is there.
    async fn find(&self, using: &str, value: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = self.ask("/elements", &json!({ "using": using, "value": value })).await;
            if let Some(id) = found[0][ELEMENT].as_str() {
                return format!("/element/{id}");
            }
            assert!(Instant::now() < deadline, "there is no {value}");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Clicks as a user does: what is hidden or covered cannot be clicked.
    pub async fn click(&self, selector: &str) {
        let element = self.find("css selector", selector).await;
        self.ask(&format!("{element}/click"), &json!({})).await;
    }

    /// Clicks the button or link with this text.
    pub async fn press(&self, text: &str) {
        let path =
            format!("//*[self::button or self::a or self::summary][normalize-space()='{text}']");
        let element = self.find("xpath", &path).await;
        self.ask(&format!("{element}/click"), &json!({})).await;
    }

    /// Types into a field instead of what is there.
    pub async fn fill(&self, selector: &str, text: &str) {
        let element = self.find("css selector", selector).await;
        self.ask(&format!("{element}/clear"), &json!({})).await;
        self.ask(&format!("{element}/value"), &json!({ "text": text })).await;
    }

    /// Chooses a file in a file field.
    pub async fn choose(&self, selector: &str, file: &Path) {
        let element = self.find("css selector", selector).await;
        self.ask(&format!("{element}/value"), &json!({ "text": file })).await;
    }

    /// Presses keys, wherever the focus is. Modifiers are pressed until the null key.
    pub async fn keys(&self, keys: &str) {
        let mut actions = Vec::new();
        let mut held: Vec<String> = Vec::new();
        for key in keys.chars().map(|key| key.to_string()) {
            match key.as_str() {
                "\u{e008}" => {
                    actions.push(json!({ "type": "keyDown", "value": key }));
                    held.push(key);
                }
                "\u{e000}" => {
                    let up = |key| json!({ "type": "keyUp", "value": key });
                    actions.extend(held.drain(..).map(up));
                }
                _ => {
                    actions.push(json!({ "type": "keyDown", "value": key }));
                    actions.push(json!({ "type": "keyUp", "value": key }));
                }
            }
        }
        let source = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.ask("/actions", &json!({ "actions": [source] })).await;
    }

    /// Keeps a picture of the whole page in the target folder, for people.
    pub async fn picture(&self, name: &str) {
        let height = self.run("return document.documentElement.scrollHeight").await;
        let width = self.run("return innerWidth").await;
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let wanted = json!({ "captureBeyondViewport": true, "clip": clip });
        let answer = self.chromium("Page.captureScreenshot", wanted).await;
        let data = answer["data"].as_str().expect("a picture");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        let bytes = from_base64(data);
        std::fs::write(folder.join(format!("{name}.png")), bytes).expect("it can be written");
    }

    /// Complaints of the page: errors of scripts and of the content policy. Answers with an error status are
    /// none.
    pub async fn complaints(&self) -> Vec<String> {
        let log = self.ask("/se/log", &json!({ "type": "browser" })).await;
        let entries = log.as_array().cloned().unwrap_or_default().into_iter();
        let bad = entries.filter(|entry| {
            ["SEVERE", "WARNING"].contains(&entry["level"].as_str().unwrap_or_default())
                && entry["source"] != "network"
        });
        bad.map(|entry| entry["message"].to_string()).collect()
    }

    /// Nothing of the page has complained so far.
    pub async fn assert_quiet(&self) {
        assert_eq!(self.complaints().await, Vec::<String>::new());
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The end of the session is the end of the browser; the driver alone would leave it behind.
        self.end_session();
        let pid = self.driver.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let _ = self.driver.wait();
    }
}

impl Browser {
    /// Asks without the runtime, which may be gone, and waits for the answer.
    fn end_session(&self) -> Option<()> {
        let (address, path) = self.session.strip_prefix("http://")?.split_once('/')?;
        let mut stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(GOODBYE)).ok()?;
        let request =
            format!("DELETE /{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        stream.read_to_end(&mut Vec::new()).ok()?;
        Some(())
    }
}

/// Bytes of base 64, which comes from the driver and is well-formed.
fn from_base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|&byte| byte != b'=').map(value).collect();
    let group = |digits: &[u8]| {
        let bits = digits.iter().fold(0u32, |bits, &digit| bits << 6 | u32::from(digit));
        let bits = bits << (6 * (4 - digits.len()));
        bits.to_be_bytes()[1..digits.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}
