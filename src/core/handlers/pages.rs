//! What `:RatInfo` and its like show: facts about an agent as text.

use super::effect::{Effect, Page};
use super::event::ChatId;
use super::reach::Allowed;
use super::state::State;
use crate::session::agent::McpServer;
use crate::session::ids::ToolCallId;
use crate::session::terminal::MOST;
use crate::view::{card, scene};
use std::fmt::Write;

impl State {
    pub(super) fn show_info(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get(&id) else { return };
        let mut out = String::new();
        let mut row = |what: &str, value: &str| {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{what:<14}{value}");
        };
        let info = &chat.info;
        row("agent", &format!("{} ({})", chat.agent_title(), chat.name()));
        row("version", info.version.as_deref().unwrap_or("unknown"));
        row(
            "command",
            &std::iter::once(&chat.config.command)
                .chain(&chat.config.args)
                .cloned()
                .collect::<Vec<_>>()
                .join(" "),
        );
        row("protocol", &info.protocol_version.to_string());
        let status = chat.status();
        row("state", status.state.word());
        if let Some(detail) = &status.detail {
            row("", detail);
        }
        row("session", status.session.as_deref().unwrap_or("none"));
        row("folder", &chat.cwd.display().to_string());
        let allowed = chat.allowed.iter().map(Allowed::path);
        for path in chat.directories.iter().map(AsRef::as_ref).chain(allowed) {
            row("also", &path.display().to_string());
        }
        if let Some(mode) = &status.mode {
            row("mode", mode);
        }
        if let Some(usage) = &status.usage {
            let cost = usage
                .cost
                .as_ref()
                .map_or_else(String::new, |(amount, unit)| format!(", {amount:.4} {unit}"));
            row("context", &format!("{} of {} tokens{cost}", usage.used, usage.size));
        }
        let takes = info.capabilities;
        let flags = [
            ("images", takes.prompt.image),
            ("audio", takes.prompt.audio),
            ("embedded context", takes.prompt.embedded),
            ("load", takes.load),
            ("resume", takes.resume),
            ("list", takes.list),
            ("fork", takes.fork),
            ("close", takes.close),
            ("delete", takes.delete),
            ("directories", takes.directories),
            ("MCP over HTTP", takes.mcp_http),
            ("MCP over SSE", takes.mcp_sse),
            ("logout", takes.logout),
        ];
        let can: Vec<_> = flags.iter().filter(|flag| flag.1).map(|flag| flag.0).collect();
        row("can do", &if can.is_empty() { "nothing optional".to_owned() } else { can.join(", ") });
        for method in &info.auth_methods {
            row("login", &format!("{} ({})", method.name, method.id));
        }
        for server in &chat.config.mcp_servers {
            let (name, kind, left_out) = match server {
                McpServer::Stdio { name, .. } => (name, "stdio", false),
                McpServer::Http { name, .. } => (name, "http", !takes.mcp_http),
                McpServer::Sse { name, .. } => (name, "sse", !takes.mcp_sse),
            };
            let note = if left_out { ", left out: the agent cannot use it" } else { "" };
            row("MCP server", &format!("{name} ({kind}{note})"));
        }
        let title = format!("{} · info", chat.agent_title());
        self.show_text((id, Page::Info), &title, "ratinfo", out, None);
    }

    pub(super) fn show_trace(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get(&id) else { return };
        if let Some(agent) = chat.last_agent {
            self.effects.push(Effect::Trace { agent, chat: id });
        }
    }

    pub(super) fn show_traffic(&mut self, id: ChatId, text: String) {
        let Some(chat) = self.chats.get(&id) else { return };
        let title = format!("{} · trace", chat.agent_title());
        self.show_text((id, Page::Trace), &title, "json", text, None);
    }

    pub(super) fn show_output(&mut self, id: ChatId, tool_call: &ToolCallId) {
        let Some(chat) = self.chats.get(&id) else { return };
        let Some(entry) = chat.transcript.find_tool(tool_call) else { return };
        let call = &entry.call;
        let mut text = format!("{} {}\n", card::kind(call.kind), scene::title(call));
        let terminals = call.terminals().filter_map(|id| chat.terminal(id));
        let terminals = terminals.map(|shown| shown.account(MOST));
        let sections = [
            call.input.as_ref().map(|input| input.json.clone()),
            Some(card::output_text(call)),
            call.output.clone().filter(|output| *output != card::output_text(call)),
            call.meta.as_ref().map(|meta| format!("_meta {meta}")),
        ];
        for section in
            sections.into_iter().flatten().chain(terminals).filter(|section| !section.is_empty())
        {
            text.push('\n');
            text.push_str(section.trim_end_matches('\n'));
            text.push('\n');
        }
        for diff in call.diffs() {
            let old = diff.old.as_deref().unwrap_or_default();
            let path = diff.path.display().to_string();
            let changes = similar::TextDiff::from_lines(old, &diff.new);
            text.push('\n');
            text.push_str(&changes.unified_diff().header(&path, &path).to_string());
        }
        let title = scene::title(call).to_owned();
        self.show_text((id, Page::Output(tool_call.clone())), &title, "ratoutput", text, None);
    }
}
