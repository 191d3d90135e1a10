//! Newtypes for ids, so that one kind cannot be passed for another. Clones share the string.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Returns the id as a string.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// The id that an agent gave a session (ACP `sessionId`).
    SessionId
);
id!(
    /// The id of a tool call, unique within its session (ACP `toolCallId`).
    ToolCallId
);
id!(
    /// The id of an option of a permission request (ACP `optionId`).
    OptionId
);
id!(
    /// The id of a message (ACP `messageId`).
    MessageId
);
id!(
    /// The id of an authentication method (ACP `methodId`).
    AuthMethodId
);
id!(
    /// The id of a terminal, ours or one of the agent's own (ACP `terminalId`).
    TerminalId
);
id!(
    /// The name of an agent in the configuration, such as `claude`.
    AgentName
);
id!(
    /// The id that an agent gave a URL elicitation (ACP `elicitationId`).
    ElicitationId
);
