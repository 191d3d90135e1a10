//! Ids as types, so that no bare string crosses a function boundary as one.

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
            /// The id as it stands on the wire.
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
    /// A session, as its agent named it (ACP `sessionId`).
    SessionId
);
id!(
    /// A tool call, unique within its session (ACP `toolCallId`).
    ToolCallId
);
id!(
    /// One option of a permission request (ACP `optionId`).
    OptionId
);
id!(
    /// A message that chunks belong to (ACP `messageId`).
    MessageId
);
id!(
    /// A way to authenticate (ACP `methodId`).
    AuthMethodId
);
id!(
    /// A terminal, ours or an agent's (ACP `terminalId`).
    TerminalId
);
id!(
    /// The name an agent has in the configuration, such as `claude`.
    AgentName
);
id!(
    /// An elicitation by an address, as its agent named it (ACP `elicitationId`).
    ElicitationId
);
