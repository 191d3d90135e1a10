//! The scripted model that the real agents ask.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value as Json;

use crate::agents::{Kind, PATIENCE, agents_folder};
use crate::support::poll_for;

/// The scripted model on a port of its own; ends when dropped. Agents without one note what they would ask of it.
pub(crate) struct Model {
    server: Option<(Child, u16)>,
    log: PathBuf,
}

impl Model {
    pub(crate) fn of(kind: Kind, folder: &Path) -> Self {
        let log = folder.join("requests.jsonl");
        let server = (!kind.is_on_sdk()).then(|| Self::start(folder, &log));
        Self { server, log }
    }

    fn start(folder: &Path, log: &Path) -> (Child, u16) {
        let port_file = folder.join("port");
        let child = Command::new("python3")
            .arg(agents_folder().join("mock_llm.py"))
            .args(["--port", "0", "--verbose"])
            .arg("--log")
            .arg(log)
            .arg("--port-file")
            .arg(&port_file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("start the model: python3 is needed");
        let port = || std::fs::read_to_string(&port_file).ok()?.parse().ok();
        (child, poll_for(PATIENCE, port).expect("the model's port"))
    }

    /// The variables by which agents find it.
    pub(crate) fn variables(&self) -> [(&str, String); 2] {
        let port = self.server.as_ref().map_or(0, |(_, port)| *port);
        let log = self.log.to_str().expect("UTF-8").to_owned();
        [("MOCK_URL", format!("http://127.0.0.1:{port}")), ("AGENT_LOG", log)]
    }

    /// All that agents have asked of it.
    pub(crate) fn requests(&self) -> Vec<Json> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.server {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
