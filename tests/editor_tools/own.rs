//! Tools that the user adds.

use serde_json::{Value as Json, json};

use super::{answer_card, chat_with_tools};
use crate::support::Mcp;

fn tool_names(mcp: &mut Mcp) -> Vec<String> {
    let listed = mcp.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
}

/// Holds (Editor tools): A tool that the user adds is offered to running agents, asked about unless it only reads, and run.
#[test]
fn a_tool_of_the_user_is_called() {
    let (mut chat, mut mcp) = chat_with_tools(&[]);
    chat.nvim.lua(
        r#"
        local rat = require("rat")
        rat.tool({
          name = "weather", description = "Tells the weather.", read_only = true,
          input_schema = { type = "object", properties = { place = { type = "string" } } },
          run = function(input) return "sunny in " .. input.place end,
        })
        rat.tool({
          name = "deploy", description = "Deploys it.",
          run = function(_, answer) vim.schedule(function() answer("deployed") end) end,
        })
        rat.tool({ name = "broken", description = "Breaks.", read_only = true, run = function() error("no") end })
        "#,
        json!([]),
    );
    mcp.expect(|message| message["method"] == "notifications/tools/list_changed");
    let mut names = Vec::new();
    chat.nvim.poll("the tools", |_| {
        names = tool_names(&mut mcp);
        names.len() == 13
    });
    assert_eq!(names[10..], ["broken", "deploy", "weather"]);
    let told = mcp.call("weather", json!({"place": "Rome"}));
    assert_eq!((told.text.as_str(), told.is_error), ("sunny in Rome\n", false));
    // Claude asks about all tools of MCP servers. What we answer is not told as a decision.
    chat.tool_call(json!({"toolCallId": "t1", "title": "mcp__rat__deploy", "kind": "other"}));
    let options = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]);
    let params = json!({"toolCall": {"toolCallId": "t1"}, "options": options});
    let asked = chat.request("session/request_permission", params);
    assert_eq!(asked.unwrap()["outcome"]["optionId"], json!("yes"));
    chat.say("said after that");
    chat.nvim.poll_screen("said after that");
    assert!(!chat.transcript().iter().any(|line| line.contains("Yes")), "{:?}", chat.transcript());
    let call = mcp.begin_call("deploy", json!({}));
    chat.nvim.poll_screen("Run your tool deploy");
    answer_card(&mut chat, "RatAllow");
    assert_eq!(mcp.expect_told(call).text, "deployed\n");
    let told = mcp.call("broken", json!({}));
    assert!(told.is_error && told.text.contains("the tool failed"), "{told:?}");
}

/// Holds (Editor tools): A tool of the user's cannot take the name of one of the editor's own.
#[test]
fn names_of_the_editors_tools_are_taken() {
    let (mut chat, mut mcp) = chat_with_tools(&[]);
    let names = tool_names(&mut mcp);
    assert_eq!(names.len(), 10);
    let added = chat.nvim.lua(
        r#"
        vim.notify = function() end
        return vim.tbl_filter(function(name)
          return require("rat").tool({ name = name, description = "x", run = tostring })
        end, ...)
        "#,
        json!([names]),
    );
    assert_eq!(added, Json::Array(Vec::new()));
}
