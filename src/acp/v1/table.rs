//! Every name of version 1 of the protocol, stable and unstable, and what becomes of it here. Data only: nothing is
//! decoded or decided in this file. `tests/acp/table.rs` holds it against the protocol's schemas and against what the
//! rest of this folder does.

/// What becomes of something the protocol has a name for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It does here what the protocol says.
    Handled,
    /// A request is answered with an error, a capability is not advertised, a choice is not offered; why.
    Refused(&'static str),
    /// It is never sent, and what is received under this name changes nothing but a quiet row of the display; why.
    Ignored(&'static str),
}

/// One name of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// As it stands on the wire; the path of a capability has dots.
    pub name: &'static str,
    /// What becomes of it.
    pub fate: Fate,
    /// For what is unstable: the capability it is behind, else the feature of the schema's crate that has it.
    pub behind: Option<&'static str>,
}

impl Row {
    const fn behind(self, what: &'static str) -> Self {
        Self { behind: Some(what), ..self }
    }
}

const fn handled(name: &'static str) -> Row {
    Row { name, fate: Fate::Handled, behind: None }
}

const fn refused(name: &'static str, why: &'static str) -> Row {
    Row { name, fate: Fate::Refused(why), behind: None }
}

const fn ignored(name: &'static str, why: &'static str) -> Row {
    Row { name, fate: Fate::Ignored(why), behind: None }
}

/// Whether `rows` have `name` as handled.
pub fn handles(rows: &[Row], name: &str) -> bool {
    rows.iter().any(|row| row.name == name && row.fate == Fate::Handled)
}

const MCP: &str = "we host no MCP servers";
const PROVIDERS: &str = "an agent's models are configured with the agent";
const PLANS: &str = "unstable: the plan is one list, as the stable protocol has it";
const SUBAGENTS: &str = "unstable: the work of subagents is shown with the agent that has them";
const UNSTABLE: &str = "unstable, and nothing here needs it";

/// Requests and notifications to the agent (`agent_client_protocol_schema::v1::ClientRequest`).
pub const TO_AGENT: &[Row] = &[
    handled("initialize"),
    handled("authenticate"),
    handled("logout"),
    handled("session/new"),
    handled("session/load"),
    handled("session/list"),
    handled("session/delete"),
    handled("session/resume"),
    handled("session/close"),
    handled("session/set_mode"),
    handled("session/set_config_option"),
    handled("session/prompt"),
    handled("session/cancel"),
    handled("session/fork").behind("sessionCapabilities.fork"),
    ignored("session/archive", UNSTABLE).behind("sessionCapabilities.archive"),
    ignored("session/unarchive", UNSTABLE).behind("sessionCapabilities.archive"),
    ignored("session/status", UNSTABLE).behind("sessionCapabilities.status"),
    ignored("session/set_title", UNSTABLE).behind("sessionCapabilities.title"),
    ignored("auth/status", UNSTABLE).behind("auth.status"),
    ignored("providers/list", PROVIDERS).behind("providers"),
    ignored("providers/set", PROVIDERS).behind("providers"),
    ignored("providers/disable", PROVIDERS).behind("providers"),
    ignored("mcp/message", MCP).behind("mcpCapabilities.acp"),
];

/// Requests and notifications from the agent (`agent_client_protocol_schema::v1::AgentRequest`).
pub const TO_CLIENT: &[Row] = &[
    handled("session/update"),
    handled("session/request_permission"),
    handled("fs/read_text_file"),
    handled("fs/write_text_file"),
    handled("terminal/create"),
    handled("terminal/output"),
    handled("terminal/wait_for_exit"),
    handled("terminal/kill"),
    handled("terminal/release"),
    handled("elicitation/create"),
    handled("elicitation/complete"),
    ignored("auth/status_update", UNSTABLE).behind("auth.status"),
    refused("mcp/message", MCP).behind("mcpCapabilities.acp"),
];

/// Notifications both ways.
pub const BOTH_WAYS: &[Row] = &[handled("$/cancel_request")];

/// Requests and notifications of a program between a client and an agent.
pub const TO_PROXY: &[Row] = &[
    ignored("proxy/initialize", "an editor is no proxy").behind("unstable_proxy_chains"),
    ignored("proxy/successor", "an editor is no proxy").behind("unstable_proxy_chains"),
];

/// The variants of `session/update`.
pub const UPDATES: &[Row] = &[
    handled("user_message_chunk"),
    handled("agent_message_chunk"),
    handled("agent_thought_chunk"),
    handled("tool_call"),
    handled("tool_call_update"),
    handled("plan"),
    handled("available_commands_update"),
    handled("current_mode_update"),
    handled("config_option_update"),
    handled("session_info_update"),
    handled("usage_update"),
    handled("notice"),
    handled("compaction_update"),
    handled("compaction_summary_chunk"),
    ignored("plan_update", PLANS).behind("plan"),
    ignored("plan_removed", PLANS).behind("plan"),
    ignored("subagent_update", SUBAGENTS).behind("subagents"),
    ignored("session_message", SUBAGENTS).behind("subagents"),
    ignored("session_message_chunk", SUBAGENTS).behind("subagents"),
];

/// The kinds of content blocks.
pub const CONTENT: &[Row] = &[
    handled("text"),
    handled("image"),
    handled("audio"),
    handled("resource_link"),
    handled("resource"),
];

/// The kinds of content of a tool call.
pub const TOOL_CONTENT: &[Row] = &[handled("content"), handled("diff"), handled("terminal")];

/// The modes of an elicitation; any other is refused, too.
pub const ELICITATION_MODES: &[Row] = &[handled("form"), handled("url")];

/// The types of authentication methods; `agent` is the one without a type.
pub const AUTH_METHODS: &[Row] = &[handled("agent"), handled("terminal")];

/// The types of MCP servers; `stdio` is the one without a type.
pub const MCP_SERVERS: &[Row] = &[
    handled("stdio"),
    handled("http"),
    handled("sse"),
    ignored("acp", MCP).behind("mcpCapabilities.acp"),
];

/// Why a turn ended.
pub const STOP_REASONS: &[Row] = &[
    handled("end_turn"),
    handled("max_tokens"),
    handled("max_turn_requests"),
    handled("refusal"),
    handled("cancelled"),
];

/// What a client can say it does. Handled is advertised.
pub const CLIENT_CAPABILITIES: &[Row] = &[
    handled("fs.readTextFile"),
    handled("fs.writeTextFile"),
    handled("terminal"),
    handled("session"),
    handled("session.notices"),
    handled("session.compaction"),
    handled("session.configOptions"),
    handled("session.configOptions.boolean"),
    handled("auth.terminal"),
    handled("elicitation"),
    handled("elicitation.form"),
    handled("elicitation.url"),
    refused("plan", PLANS).behind("unstable_plan_operations"),
    refused("subagents", SUBAGENTS).behind("unstable_subagents"),
];

/// What an agent can say it does. Handled is read, for whoever calls what is behind it.
pub const AGENT_CAPABILITIES: &[Row] = &[
    handled("loadSession"),
    handled("promptCapabilities.image"),
    handled("promptCapabilities.audio"),
    handled("promptCapabilities.embeddedContext"),
    handled("mcpCapabilities.http"),
    handled("mcpCapabilities.sse"),
    ignored("mcpCapabilities.acp", MCP).behind("unstable_mcp_over_acp"),
    handled("sessionCapabilities.list"),
    handled("sessionCapabilities.delete"),
    handled("sessionCapabilities.additionalDirectories"),
    handled("sessionCapabilities.resume"),
    handled("sessionCapabilities.close"),
    handled("sessionCapabilities.fork").behind("unstable_session_fork"),
    ignored("sessionCapabilities.archive", UNSTABLE).behind("unstable_session_archive"),
    ignored("sessionCapabilities.status", UNSTABLE).behind("unstable_session_status"),
    ignored("sessionCapabilities.title", UNSTABLE).behind("unstable_session_set_title"),
    ignored("sessionCapabilities.systemPrompt", UNSTABLE).behind("unstable_session_system_prompt"),
    ignored("sessionCapabilities.systemPrompt.mode", UNSTABLE)
        .behind("unstable_session_system_prompt"),
    ignored("sessionCapabilities.systemPrompt.mode.override", UNSTABLE)
        .behind("unstable_session_system_prompt"),
    handled("auth.logout"),
    ignored("auth.status", UNSTABLE).behind("unstable_auth_status"),
    ignored("providers", PROVIDERS).behind("unstable_llm_providers"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_handled_is_handled() {
        assert!(handles(TO_CLIENT, "fs/read_text_file"));
        assert!(!handles(TO_CLIENT, "mcp/message"));
        assert!(!handles(TO_CLIENT, "fs/delete"));
    }
}
