//! Secrets of a configuration, which an agent gets and repeats everywhere: in no page, log or file of ours.

use crate::support::{Chat, Options, files_below};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// Secrets, each with a name of its own.
const SECRETS: [&str; 7] = [
    "secret-inherited",
    "secret-password",
    "secret-argument",
    "secret-setting",
    "secret-of-server",
    "secret-option",
    "secret-in-query",
];

/// Holds (Hostile agents): A secret of the configuration that an agent repeats is in no page, log or file, whatever it is called.
#[test]
fn secrets_of_any_name_are_neither_shown_nor_written_down() {
    let variables =
        [("OPENAI_KEY", SECRETS[0]), ("DATABASE_URL", "postgres://me:secret-password@db.test/x")];
    let env = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let local = json!({
        "command": "server",
        "args": ["--api-key", SECRETS[5], "--folder", "/srv/project"],
        "env": {"ANY": SECRETS[4]},
    });
    let web = json!({"url": format!("https://mcp.test/?code={}", SECRETS[6])});
    let settings = json!({"log_level": "debug", "mcp_servers": {"local": local, "web": web}});
    let mut chat = Chat::builder()
        .options(Options { env, ..Options::wide() })
        .setup(settings)
        .arguments(&["--token", SECRETS[2]])
        .agent(json!({"env": {"PLAIN": SECRETS[3]}}))
        .start();
    chat.prompt("go");
    let all = SECRETS.join(", ");
    chat.say(&format!("I have {all}, /srv/project."));
    chat.agent.stderr(&format!("stderr {all}"));
    chat.agent.notify("session/update", json!({"sessionId": "s1", "update": all}));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    let mut shown = String::new();
    for (page, part) in [("RatInfo", "--token"), ("RatTrace", "I have")] {
        chat.nvim.command(page);
        let text = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n')";
        chat.nvim.poll(page, |nvim| nvim.lua(text, json!([])).to_string().contains(part));
        shown += &chat.nvim.lua(text, json!([])).to_string();
        chat.nvim.command("close");
    }
    chat.nvim.poll("stderr in the log", |nvim| nvim.log().contains("stderr [redacted]"));
    let log = chat.nvim.lua("return require('rat.rpc').log_file()", json!([]));
    let mode = fs::metadata(log.as_str().unwrap()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "others can read the log");
    chat.nvim.poll("the saved session", |nvim| {
        let files = files_below(&nvim.folder().path().join("state"));
        let files = files.iter().map(|file| fs::read(file).unwrap_or_default());
        files
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .any(|text| text.contains("I have [redacted]"))
    });
    shown += &chat.nvim.log();
    for file in files_below(&chat.nvim.folder().path().join("state")) {
        shown += &String::from_utf8_lossy(&fs::read(&file).unwrap_or_default());
    }
    for secret in SECRETS {
        assert!(!shown.contains(secret), "{secret} is shown: {shown}");
    }
    assert!(shown.contains("/srv/project"), "what is no secret is hidden: {shown}");
}
