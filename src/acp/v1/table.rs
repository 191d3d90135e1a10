//! Every name in version 1 of ACP, stable and unstable, and whether it is supported. Data only: nothing is decoded or decided
//! here. `tests/acp/table.rs` compares it with the schemas of the protocol and with the behaviour of the rest of this folder.

/// How something in the protocol is supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// It works as the protocol specifies.
    Handled,
    /// A request is answered with an error, a capability is not advertised, a choice is not offered; with the reason.
    Refused(&'static str),
    /// It is never sent, and receiving it has no effect except for an unobtrusive line in the transcript; with the reason.
    Ignored(&'static str),
}

/// One name in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// As in JSON. The path of a capability is separated by dots.
    pub name: &'static str,
    /// How it is supported.
    pub support: Support,
    /// For unstable names: the capability that enables it, or else the feature of the schema crate that contains it.
    pub gate: Option<&'static str>,
}

impl Row {
    /// Adds what enables an unstable name.
    #[must_use]
    pub const fn gated_by(self, gate: &'static str) -> Self {
        Self { gate: Some(gate), ..self }
    }
}

/// Creates the row of a name that is handled.
pub const fn handled(name: &'static str) -> Row {
    Row { name, support: Support::Handled, gate: None }
}

const fn refused(name: &'static str, why: &'static str) -> Row {
    Row { name, support: Support::Refused(why), gate: None }
}

/// Creates the row of a name that is ignored, with the reason.
pub const fn ignored(name: &'static str, why: &'static str) -> Row {
    Row { name, support: Support::Ignored(why), gate: None }
}

/// Returns whether `rows` list `name` as handled.
pub fn handles(rows: &[Row], name: &str) -> bool {
    rows.iter().any(|row| row.name == name && row.support == Support::Handled)
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
    handled("session/fork").gated_by("sessionCapabilities.fork"),
    ignored("session/archive", UNSTABLE).gated_by("sessionCapabilities.archive"),
    ignored("session/unarchive", UNSTABLE).gated_by("sessionCapabilities.archive"),
    ignored("session/status", UNSTABLE).gated_by("sessionCapabilities.status"),
    ignored("session/set_title", UNSTABLE).gated_by("sessionCapabilities.title"),
    ignored("auth/status", UNSTABLE).gated_by("auth.status"),
    ignored("providers/list", PROVIDERS).gated_by("providers"),
    ignored("providers/set", PROVIDERS).gated_by("providers"),
    ignored("providers/disable", PROVIDERS).gated_by("providers"),
    ignored("mcp/message", MCP).gated_by("mcpCapabilities.acp"),
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
    ignored("auth/status_update", UNSTABLE).gated_by("auth.status"),
    refused("mcp/message", MCP).gated_by("mcpCapabilities.acp"),
];

/// Notifications in both directions.
pub const BOTH_WAYS: &[Row] = &[handled("$/cancel_request")];

/// Requests and notifications to a proxy between a client and an agent.
pub const TO_PROXY: &[Row] = &[
    ignored("proxy/initialize", "an editor is no proxy").gated_by("unstable_proxy_chains"),
    ignored("proxy/successor", "an editor is no proxy").gated_by("unstable_proxy_chains"),
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
    ignored("plan_update", PLANS).gated_by("plan"),
    ignored("plan_removed", PLANS).gated_by("plan"),
    ignored("subagent_update", SUBAGENTS).gated_by("subagents"),
    ignored("session_message", SUBAGENTS).gated_by("subagents"),
    ignored("session_message_chunk", SUBAGENTS).gated_by("subagents"),
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

/// The modes of an elicitation. Any other is refused as well.
pub const ELICITATION_MODES: &[Row] = &[handled("form"), handled("url")];

/// The types of authentication methods. A method without a type is `agent`.
pub const AUTH_METHODS: &[Row] = &[handled("agent"), handled("terminal")];

/// The types of MCP servers. A server without a type is `stdio`.
pub const MCP_SERVERS: &[Row] = &[
    handled("stdio"),
    handled("http"),
    handled("sse"),
    ignored("acp", MCP).gated_by("mcpCapabilities.acp"),
];

/// The reasons why a turn stops.
pub const STOP_REASONS: &[Row] = &[
    handled("end_turn"),
    handled("max_tokens"),
    handled("max_turn_requests"),
    handled("refusal"),
    handled("cancelled"),
];

/// The capabilities of clients. Those that are handled are advertised.
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
    refused("plan", PLANS).gated_by("unstable_plan_operations"),
    refused("subagents", SUBAGENTS).gated_by("unstable_subagents"),
];

/// The capabilities of agents. Those that are handled are decoded and decide what we call.
pub const AGENT_CAPABILITIES: &[Row] = &[
    handled("loadSession"),
    handled("promptCapabilities.image"),
    handled("promptCapabilities.audio"),
    handled("promptCapabilities.embeddedContext"),
    handled("mcpCapabilities.http"),
    handled("mcpCapabilities.sse"),
    ignored("mcpCapabilities.acp", MCP).gated_by("unstable_mcp_over_acp"),
    handled("sessionCapabilities.list"),
    handled("sessionCapabilities.delete"),
    handled("sessionCapabilities.additionalDirectories"),
    handled("sessionCapabilities.resume"),
    handled("sessionCapabilities.close"),
    handled("sessionCapabilities.fork").gated_by("unstable_session_fork"),
    ignored("sessionCapabilities.archive", UNSTABLE).gated_by("unstable_session_archive"),
    ignored("sessionCapabilities.status", UNSTABLE).gated_by("unstable_session_status"),
    ignored("sessionCapabilities.title", UNSTABLE).gated_by("unstable_session_set_title"),
    ignored("sessionCapabilities.systemPrompt", UNSTABLE)
        .gated_by("unstable_session_system_prompt"),
    ignored("sessionCapabilities.systemPrompt.mode", UNSTABLE)
        .gated_by("unstable_session_system_prompt"),
    ignored("sessionCapabilities.systemPrompt.mode.override", UNSTABLE)
        .gated_by("unstable_session_system_prompt"),
    handled("auth.logout"),
    ignored("auth.status", UNSTABLE).gated_by("unstable_auth_status"),
    ignored("providers", PROVIDERS).gated_by("unstable_llm_providers"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect_file;

    #[test]
    fn only_rows_marked_as_handled_are_handled() {
        assert!(handles(TO_CLIENT, "fs/read_text_file"));
        assert!(!handles(TO_CLIENT, "mcp/message"));
        assert!(!handles(TO_CLIENT, "fs/delete"));
    }

    /// Holds (Traffic): The filter of the traffic's page completes the methods that are handled.
    #[test]
    fn lua_has_the_same_methods() {
        let all = [TO_AGENT, TO_CLIENT, BOTH_WAYS].concat();
        let mut names: Vec<_> =
            all.iter().filter(|row| handles(&all, row.name)).map(|row| row.name).collect();
        names.sort_unstable();
        let mut lua = "--- The methods of the protocol that are handled. Generated from src/acp/v1/table.rs by `make messages`.\n\
             ---@type string[]\nreturn {\n"
            .to_owned();
        lua.extend(names.iter().flat_map(|name| ["  \"", name, "\",\n"]));
        lua.push_str("}\n");
        expect_file!["../../../lua/rat/complete/methods.lua"].assert_eq(&lua);
    }
}
