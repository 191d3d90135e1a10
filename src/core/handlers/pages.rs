//! The pages of `:RatInfo` and tool call output, as text.

use crate::core::messages::file_scope::AllowedPath;
use crate::core::messages::page::PageId;
use crate::core::state::State;
use crate::session::agent::{AgentCapabilities, Capability, McpServer};
use crate::session::author::ChatId;
use crate::session::confinement::Confinement;
use crate::session::credentials;
use crate::session::ids::ToolCallId;
use crate::session::label;
use crate::session::protocol::Protocol;
use crate::session::signs::DOT;
use crate::session::terminal::MAX_OUTPUT;
use crate::session::tool_call::ToolKind;
use crate::trust::rule::Rule;
use crate::view::{scene, terminal, title, tool_card};
use std::fmt::Write;
use std::path::Path;

/// Names what an agent can do, as it says.
fn abilities(takes: AgentCapabilities) -> Vec<&'static str> {
    let flags = [
        ("images", takes.prompt.image),
        ("audio", takes.prompt.audio),
        ("embedded context", takes.prompt.embedded),
        ("load", takes.has(Capability::Load)),
        ("resume", takes.has(Capability::Resume)),
        ("list", takes.has(Capability::List)),
        ("fork", takes.has(Capability::Fork)),
        ("fork after a turn", takes.has(Capability::ForkAtTurn)),
        ("close", takes.has(Capability::Close)),
        ("delete", takes.has(Capability::Delete)),
        ("directories", takes.has(Capability::Directories)),
        ("MCP over HTTP", takes.has(Capability::McpHttp)),
        ("MCP over SSE", takes.has(Capability::McpSse)),
        ("logout", takes.has(Capability::Logout)),
        ("reading files", takes.has(Capability::ReadsFiles)),
        ("writing files", takes.has(Capability::WritesFiles)),
        ("commands", takes.has(Capability::RunsCommands)),
        ("web search", takes.has(Capability::SearchesWeb)),
        ("streaming", takes.has(Capability::Streams)),
    ];
    flags.iter().filter(|flag| flag.1).map(|flag| flag.0).collect()
}

impl State {
    pub(in crate::core) fn show_info(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get(&id) else { return };
        let mut out = String::new();
        let mut row = |what: &str, value: &str| {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{what:<14}{value}");
        };
        let info = &chat.info;
        row("rat.nvim", env!("CARGO_PKG_VERSION"));
        row("agent", &format!("{} ({})", chat.agent_title(), chat.name()));
        row("version", info.version.as_deref().unwrap_or("unknown"));
        if let Some(remote) = &chat.config.remote {
            row("url", remote.shown());
        } else {
            let words = std::iter::once(&chat.config.command).chain(&chat.config.args);
            row("command", &words.cloned().collect::<Vec<_>>().join(" "));
        }
        row("protocol", info.protocol.map_or("unknown", Protocol::title));
        let status = chat.status();
        row("state", status.state.word());
        if let Some(detail) = &status.detail {
            row("", detail);
        }
        row("session", status.session.as_deref().unwrap_or("none"));
        row("folder", &chat.cwd.display().to_string());
        if let Some(worktree) = &chat.access.policy.worktree {
            row("worktree of", &worktree.project.display().to_string());
        }
        let allowed = chat.access.allowed.iter().map(AllowedPath::path);
        for path in chat.directories.iter().map(AsRef::as_ref).chain(allowed) {
            row("extra folder", &path.display().to_string());
        }
        for line in &chat.access.policy.project_settings {
            row("project", &label::line(line));
        }
        row("confined", if chat.config.confinement.is_some() { "yes" } else { "no" });
        for (what, value) in chat.config.confinement.iter().flat_map(confinement_rows) {
            row(what, &value);
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
        let can = abilities(info.capabilities);
        row("capabilities", &if can.is_empty() { "none".to_owned() } else { can.join(", ") });
        for method in &info.auth_methods {
            row("login", &format!("{} ({})", method.name, method.id));
        }
        let is_for_agent =
            |rule: &&Rule| rule.agent.as_deref().is_none_or(|name| name == chat.name());
        for rule in chat.access.rules.iter().filter(is_for_agent) {
            row("rule", &rule.to_string());
        }
        row("editor tools", &chat.tools_in_words());
        for server in &chat.config.mcp_servers {
            let kind = match server {
                McpServer::Stdio { .. } => "stdio",
                McpServer::Http { .. } => "http",
                McpServer::Sse { .. } => "sse",
            };
            let is_taken = info.takes(server);
            let note = if is_taken { "" } else { ", skipped: not supported by the agent" };
            let name = server.name();
            row("MCP server", &format!("{name} ({kind}{note})"));
        }
        let out = credentials::hide(&out, &credentials::of_agent(&chat.config)).into_owned();
        let title = format!("{} {DOT} info", chat.agent_title());
        self.show_text((id, PageId::Info), &title, "ratinfo", out, None);
    }

    pub(in crate::core) fn show_output(&mut self, id: ChatId, tool_call: &ToolCallId) {
        if self.show_running(id, tool_call) {
            return;
        }
        let Some(chat) = self.chats.get(&id) else { return };
        let Some(entry) = chat.transcript.find_tool(tool_call) else { return };
        let call = &entry.call;
        let mut text = format!("{}{}\n", title::kind_prefix(call), scene::title(call));
        let terminals = call.terminals().filter_map(|id| chat.terminal(id));
        let terminals = terminals.map(|shown| shown.report(MAX_OUTPUT));
        let sections = [
            call.input.as_ref().map(|input| input.json.clone()),
            Some(tool_card::output_text(call)),
            call.output.clone().filter(|output| *output != tool_card::output_text(call)),
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
            let path = diff.path.display();
            let changes = similar::TextDiff::from_lines(old, &diff.new);
            // Writing to a string cannot fail.
            let _ = write!(text, "\n--- {path}\n+++ {path}\n");
            for hunk in changes.unified_diff().iter_hunks() {
                // The diff may be of a fragment, so its line numbers are not those of the file.
                let hunk = hunk.to_string();
                text.push_str("@@");
                text.push_str(&hunk[hunk.find('\n').unwrap_or(hunk.len())..]);
            }
        }
        let shown = call.terminals().find_map(|id| chat.terminal(id));
        let title = terminal::heading(Some(call), shown);
        let is_command = shown.is_some() || call.kind == ToolKind::Execute;
        self.show_text((id, PageId::Output(tool_call.clone())), &title, "ratoutput", text, None);
        if is_command {
            // Errors are at the end.
            self.show_end();
        }
    }
}

/// What a confined agent may do.
fn confinement_rows(confinement: &Confinement) -> Vec<(&'static str, String)> {
    let text = |path: &Path| path.display().to_string();
    let write = confinement.writable().map(|path| ("may write", text(path)));
    let hide = confinement.hide.iter().map(|path| ("may not read", text(path)));
    let ports = confinement.ports.iter().map(|ports| {
        let ports: Vec<_> = ports.iter().map(ToString::to_string).collect();
        ("TCP ports", if ports.is_empty() { "none".to_owned() } else { ports.join(", ") })
    });
    write.chain(hide).chain(ports).collect()
}
