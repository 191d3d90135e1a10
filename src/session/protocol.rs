//! The protocols that agents speak: the versions of ACP, and those of other systems for the same purpose.

use std::time::Duration;

/// A protocol between an editor and an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Version 1 of ACP.
    #[default]
    V1,
    /// The draft of version 2 of ACP.
    V2,
    /// ACP as it was in release 0.1.1 of its libraries.
    V0,
    /// The protocol of the Go package `go-acp`.
    Go,
    /// The protocol of OpenOxide.
    OpenOxide,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::V1, Self::V2, Self::V0, Self::Go, Self::OpenOxide];

    /// Returns the name in the configuration (`agents.NAME.dialect`).
    pub fn name(self) -> &'static str {
        match self {
            Self::V1 => "1",
            Self::V2 => "2",
            Self::V0 => "0.1.1",
            Self::Go => "go",
            Self::OpenOxide => "openoxide",
        }
    }

    /// Returns the protocol with this name in the configuration.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name)
    }

    /// Returns the name for the user.
    pub fn title(self) -> &'static str {
        match self {
            Self::V1 => "ACP 1",
            Self::V2 => "ACP 2 (draft)",
            Self::V0 => "ACP 0.1.1",
            Self::Go => "go-acp",
            Self::OpenOxide => "OpenOxide",
        }
    }

    /// How long an agent has to obey a cancellation before it is started again, for protocols in which it may not read one
    /// while a turn is running.
    pub fn cancel_limit(self) -> Option<Duration> {
        match self {
            Self::V1 | Self::V2 | Self::V0 => None,
            Self::Go => Some(Duration::from_secs(5)),
            Self::OpenOxide => Some(Duration::from_secs(10)),
        }
    }

    /// Whether sessions can be given MCP servers.
    pub fn has_mcp(self) -> bool {
        matches!(self, Self::V1 | Self::V2 | Self::V0)
    }

    /// Whether agents can read and write files through us.
    pub fn has_files(self) -> bool {
        matches!(self, Self::V1 | Self::V0)
    }

    /// Whether a process of an agent may have only one session.
    pub fn has_one_session(self) -> bool {
        self == Self::Go
    }
}

/// The protocols that an agent is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Offered {
    /// All of them, since nothing is known of the agent.
    #[default]
    All,
    /// The versions of ACP, which the agent is known to speak.
    Acp,
    /// The configured one.
    Only(Protocol),
}
