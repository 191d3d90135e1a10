//! Every name in the draft of version 2 of ACP, and whether it is supported. Data only, as in `v1::table`; `tests/acp/table.rs`
//! compares it with the schema and with the behaviour of the rest of this folder.

use crate::acp::v1::table::{Row, handled, ignored};

const WHOLE_TURN: &str = "a turn is cancelled as a whole";
const BETWEEN: &str = "what an agent and its subagents say to each other is not shown";

/// Requests and notifications to the agent (`agent_client_protocol_schema::v2::ClientRequest`).
pub const TO_AGENT: &[Row] = &[
    handled("initialize"),
    handled("auth/login"),
    handled("auth/logout"),
    handled("session/new"),
    handled("session/list"),
    handled("session/delete"),
    handled("session/resume"),
    handled("session/close"),
    handled("session/set_config_option"),
    handled("session/prompt"),
    handled("session/cancel"),
    ignored("tool_call/cancel", WHOLE_TURN),
    ignored("terminal/cancel", WHOLE_TURN),
    handled("session/fork").gated_by("session.fork"),
];

/// Requests and notifications from the agent (`agent_client_protocol_schema::v2::AgentRequest`).
pub const TO_CLIENT: &[Row] = &[
    handled("session/update"),
    handled("session/request_permission"),
    handled("elicitation/create"),
    handled("elicitation/complete"),
];

/// Notifications in both directions.
pub const BOTH_WAYS: &[Row] = &[handled("$/cancel_request")];

/// The variants of `session/update`.
pub const UPDATES: &[Row] = &[
    handled("user_message_chunk"),
    handled("user_message"),
    handled("agent_message_chunk"),
    handled("agent_message"),
    handled("agent_thought_chunk"),
    handled("agent_thought"),
    handled("state_update"),
    handled("tool_call_content_chunk"),
    handled("tool_call_update"),
    handled("terminal_update"),
    handled("terminal_output_chunk"),
    handled("plan_update"),
    handled("available_commands_update"),
    handled("config_option_update"),
    handled("session_info_update"),
    handled("usage_update"),
    handled("notice"),
    handled("compaction_update"),
    handled("compaction_summary_chunk"),
    handled("plan_removed").gated_by("unstable_plan_operations"),
    handled("subagent_update").gated_by("unstable_subagents"),
    ignored("session_message", BETWEEN).gated_by("unstable_subagents"),
    ignored("session_message_chunk", BETWEEN).gated_by("unstable_subagents"),
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

/// What a diff says was done to a file.
pub const DIFF_OPERATIONS: &[Row] =
    &[handled("add"), handled("delete"), handled("modify"), handled("move"), handled("copy")];

/// What a permission request is about. Of any other subject its title is shown.
pub const PERMISSION_SUBJECTS: &[Row] = &[handled("tool_call"), handled("command")];

/// The types of plans.
pub const PLANS: &[Row] = &[
    handled("items"),
    handled("markdown").gated_by("unstable_plan_operations"),
    handled("file").gated_by("unstable_plan_operations"),
];

/// The states of an agent. Any other counts as busy.
pub const STATES: &[Row] = &[handled("running"), handled("idle"), handled("requires_action")];

/// The reasons why an agent is idle.
pub const STOP_REASONS: &[Row] = &[
    handled("end_turn"),
    handled("max_tokens"),
    handled("max_turn_requests"),
    handled("refusal"),
    handled("cancelled"),
    handled("error"),
];

/// What an agent may do beside its turns.
pub const BACKGROUND: &[Row] = &[
    ignored("terminal", "its card says that it is running"),
    ignored("tool_call", "its card says that it is running"),
];

/// The modes of an elicitation. Any other is refused as well.
pub const ELICITATION_MODES: &[Row] = &[handled("form"), handled("url")];

/// The types of authentication methods.
pub const AUTH_METHODS: &[Row] = &[handled("agent"), handled("terminal")];

/// The types of MCP servers.
pub const MCP_SERVERS: &[Row] = &[handled("stdio"), handled("http")];

/// The capabilities of clients. Those that are handled are advertised.
pub const CLIENT_CAPABILITIES: &[Row] = &[
    handled("auth"),
    handled("auth.terminal"),
    handled("elicitation"),
    handled("elicitation.form"),
    handled("elicitation.url"),
];

/// The capabilities of agents. Those that are handled are decoded and decide what we call.
pub const AGENT_CAPABILITIES: &[Row] = &[
    handled("session"),
    handled("session.prompt"),
    handled("session.prompt.image"),
    handled("session.prompt.audio"),
    handled("session.prompt.embeddedContext"),
    handled("session.mcp"),
    handled("session.mcp.stdio"),
    handled("session.mcp.http"),
    handled("session.delete"),
    handled("session.additionalDirectories"),
    handled("session.fork").gated_by("unstable_session_fork"),
    ignored("auth", "it holds only what is unstable"),
];
