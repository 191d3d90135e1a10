//! Lets agents call the editor's own tools: each session gets an MCP server with a token of its own, which is void once the
//! session is closed.

use crate::core::chat::{Chat, Phase, StartupStep};
use crate::core::messages::effect::Effect;
use crate::core::messages::ids::AgentId;
use crate::core::messages::tools::{GrantId, ToolsCommand, ToolsEvent};
use crate::core::state::State;
use crate::core::tools::{Grant, ToolAccess};
use crate::session::agent::{Capability, McpServer, McpServersFor};
use crate::session::author::ChatId;
use crate::session::editor_tool::SERVER_NAME;
use crate::session::protocol::Protocol;
use crate::session::update::Severity;

impl Chat {
    /// Whether its agent is to be offered the tools, and can call them.
    fn takes_tools(&self) -> bool {
        let is_taken = |server: &McpServer| server.name() == SERVER_NAME;
        self.config.editor_tools
            && self.info.protocol.is_some_and(Protocol::has_mcp)
            && self.info.capabilities.has(Capability::McpStdio)
            && !self.config.mcp_servers.iter().any(is_taken)
    }

    /// Says whether the agent has the tools, and how often it has called which.
    pub(super) fn tools_in_words(&self) -> String {
        let Some(McpServer::Stdio { name, .. }) = &self.tools.server else {
            let why = if self.config.editor_tools { "not offered to this agent" } else { "off" };
            return why.to_owned();
        };
        let calls = self.tools.calls.iter().map(|(tool, count)| format!("{tool} {count}"));
        let calls: Vec<_> = calls.collect();
        let called = if calls.is_empty() { "none called".to_owned() } else { calls.join(", ") };
        format!("by the MCP server {name}; {called}")
    }
}

impl State {
    pub(in crate::core) fn tools_event(&mut self, event: ToolsEvent) {
        match event {
            ToolsEvent::Granted(grant, granted) => self.tools_granted(grant, granted),
            ToolsEvent::Called(called) => self.tool_called(*called),
            ToolsEvent::Withdrawn(token) => self.tool_withdrawn(token),
            ToolsEvent::Offered(names) => self.tools.offered = names,
        }
    }

    /// Asks for what lets the agent of a chat call the tools, unless the chat has it. Returns whether that is waited for.
    pub(super) fn awaits_tools(&mut self, id: ChatId) -> bool {
        let grant = GrantId(self.next_id());
        let Some(chat) = self.chats.get_mut(&id) else { return false };
        let Some(agent) = chat.agent.filter(|_| chat.tools.grant.is_none() && chat.takes_tools())
        else {
            return false;
        };
        chat.tools.grant = Some(grant);
        self.tools.grants.insert(grant, Grant { agent, chat: Some(id) });
        self.effects.push(Effect::Tools(ToolsCommand::Grant(grant)));
        self.enter_phase(id, Phase::Starting(StartupStep::GrantingTools));
        true
    }

    fn tools_granted(&mut self, grant: GrantId, granted: Result<McpServer, String>) {
        let id = self.tools.grants.get(&grant).and_then(|grant| grant.chat);
        let chat = id.and_then(|id| self.chats.get_mut(&id));
        let Some(chat) = chat.filter(|chat| chat.tools.grant == Some(grant)) else { return };
        match granted {
            Ok(server) => chat.tools.server = Some(server),
            Err(why) => {
                let title = format!("The editor's tools cannot be offered: {why}");
                chat.transcript.note(Severity::Warning, title, Vec::new());
            }
        }
        if chat.phase == Phase::Starting(StartupStep::GrantingTools) {
            let id = chat.id;
            self.open_session(id);
        }
    }

    /// The session of a chat that used this agent is over.
    pub(super) fn leave_tools(&mut self, id: ChatId, agent: AgentId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let shares = chat.info.quirks.mcp_servers == McpServersFor::Folder;
        let calls = std::mem::take(&mut chat.tools.calls);
        let access =
            std::mem::replace(&mut chat.tools, ToolAccess { calls, ..ToolAccess::default() });
        let is_last = self.chats_on(agent).is_empty();
        if let Some(grant) = access.grant {
            if shares && !is_last {
                // The calls of the other sessions may come through this one's server.
                self.tools.grants.insert(grant, Grant { agent, chat: None });
            } else {
                self.revoke(grant);
            }
        }
        if is_last {
            let of_agent = self.tools.grants.iter().filter(|(_, grant)| grant.agent == agent);
            for grant in of_agent.map(|(grant, _)| *grant).collect::<Vec<_>>() {
                self.revoke(grant);
            }
        }
    }

    fn revoke(&mut self, grant: GrantId) {
        self.tools.grants.remove(&grant);
        self.effects.push(Effect::Tools(ToolsCommand::Revoke(grant)));
    }
}
