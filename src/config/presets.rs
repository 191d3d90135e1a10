//! The agents that are known by name. Data only.
//!
//! `lua/rat/config/presets.lua` is generated from this file, because Neovim completes names and shows titles before the
//! binary runs.

/// The name of the built-in agent, and the subcommand that runs it.
pub const TOUR: &str = "tour";

/// A well-known agent: how to install and start it.
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct Preset {
    /// The argument of `:RatStart`.
    pub name: &'static str,
    /// The name to display.
    pub title: &'static str,
    /// The program, looked up on PATH.
    pub command: &'static str,
    /// Its arguments.
    pub args: &'static [&'static str],
    /// A command that installs it, or a reference to instructions.
    pub install_hint: &'static str,
    /// What it needs where it is confined; `None` if that is not known.
    pub confined: Option<Confined>,
}

/// What an agent needs so that it works where it is confined.
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct Confined {
    /// The folders of its state.
    pub folders: &'static [HomePath],
    /// Files of its state outside of those folders, and what a missing one is created with.
    pub files: &'static [(HomePath, &'static str)],
    /// Variables to set in its environment.
    pub env: &'static [(&'static str, &'static str)],
    /// Its own sandbox, if it has one that does not work inside of ours.
    pub own_sandbox: Option<OwnSandbox>,
}

/// A path below the home folder, or below a folder that a variable names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct HomePath {
    /// The path below the home folder.
    pub path: &'static str,
    /// A variable that names another folder, and the path below that.
    pub variable: Option<(&'static str, &'static str)>,
}

/// The switch of a sandbox, in JSON files.
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct OwnSandbox {
    /// The switch, as a JSON pointer.
    pub switch: &'static str,
    /// The file of the system, whose word is final.
    pub system: &'static str,
    /// Files below the working folder, the more important first.
    pub project: &'static [&'static str],
    /// The file of the user.
    pub user: HomePath,
}

const fn at_home(path: &'static str) -> HomePath {
    HomePath { path, variable: None }
}

const fn at_home_or(path: &'static str, variable: &'static str, below: &'static str) -> HomePath {
    HomePath { path, variable: Some((variable, below)) }
}

/// What an agent needs that keeps its state in these folders.
const fn in_folders(folders: &'static [HomePath]) -> Confined {
    Confined { folders, files: &[], env: &[], own_sandbox: None }
}

/// Returns the preset with this name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// Returns what the agent of this name needs where it is confined. The tour needs nothing.
pub fn needs(name: &str) -> Option<&'static Confined> {
    const NOTHING: Confined = in_folders(&[]);
    if name == TOUR { Some(&NOTHING) } else { find(name)?.confined.as_ref() }
}

/// All presets, sorted by name.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "auggie",
        title: "Auggie",
        command: "auggie",
        args: &["--acp"],
        install_hint: "npm install -g @augmentcode/auggie",
        confined: None,
    },
    Preset {
        name: "claude",
        title: "Claude",
        command: "claude-agent-acp",
        args: &[],
        install_hint: "npm install -g @agentclientprotocol/claude-agent-acp",
        confined: Some(Confined {
            folders: &[at_home_or(".claude", "CLAUDE_CONFIG_DIR", "")],
            files: &[(at_home_or(".claude.json", "CLAUDE_CONFIG_DIR", ".claude.json"), "{}")],
            env: &[],
            own_sandbox: Some(OwnSandbox {
                switch: "/sandbox/enabled",
                system: "/etc/claude-code/managed-settings.json",
                project: &[".claude/settings.local.json", ".claude/settings.json"],
                user: at_home_or(".claude/settings.json", "CLAUDE_CONFIG_DIR", "settings.json"),
            }),
        }),
    },
    Preset {
        name: "cline",
        title: "Cline",
        command: "cline",
        args: &["--acp"],
        install_hint: "npm install -g cline",
        confined: Some(Confined {
            // Its tools would run in a daemon that may have been started unconfined.
            env: &[("CLINE_SESSION_BACKEND_MODE", "local")],
            ..in_folders(&[at_home(".cline")])
        }),
    },
    Preset {
        name: "codex",
        title: "Codex",
        command: "codex-acp",
        args: &[],
        install_hint: "npm install -g @agentclientprotocol/codex-acp",
        confined: Some(Confined {
            // Its own sandbox does not work inside of ours, and what it cannot sandbox it does not run.
            env: &[("INITIAL_AGENT_MODE", "agent-full-access")],
            ..in_folders(&[at_home_or(".codex", "CODEX_HOME", "")])
        }),
    },
    Preset {
        name: "copilot",
        title: "Copilot",
        command: "copilot",
        args: &["--acp", "--stdio"],
        install_hint: "npm install -g @github/copilot",
        confined: None,
    },
    Preset {
        name: "cursor",
        title: "Cursor",
        command: "cursor-agent",
        args: &["acp"],
        install_hint: "see https://cursor.com/cli",
        confined: None,
    },
    Preset {
        name: "gemini",
        title: "Gemini",
        command: "gemini",
        args: &["--acp"],
        install_hint: "npm install -g @google/gemini-cli",
        confined: Some(in_folders(&[at_home_or(".gemini", "GEMINI_CLI_HOME", ".gemini")])),
    },
    Preset {
        name: "goose",
        title: "Goose",
        command: "goose",
        args: &["acp"],
        install_hint: "see https://block.github.io/goose",
        confined: None,
    },
    Preset {
        name: "kilo",
        title: "Kilo Code",
        command: "kilo",
        args: &["acp"],
        install_hint: "npm install -g @kilocode/cli",
        confined: None,
    },
    Preset {
        name: "kimi",
        title: "Kimi",
        command: "kimi",
        args: &["acp"],
        install_hint: "uv tool install kimi-cli",
        confined: None,
    },
    Preset {
        name: "kiro",
        title: "Kiro",
        command: "kiro-cli",
        args: &["acp"],
        install_hint: "see https://kiro.dev/cli",
        confined: None,
    },
    Preset {
        name: "opencode",
        title: "OpenCode",
        command: "opencode",
        args: &["acp"],
        install_hint: "npm install -g opencode-ai",
        confined: Some(in_folders(&[
            at_home_or(".cache/opencode", "XDG_CACHE_HOME", "opencode"),
            at_home_or(".config/opencode", "XDG_CONFIG_HOME", "opencode"),
            at_home_or(".local/share/opencode", "XDG_DATA_HOME", "opencode"),
            at_home_or(".local/state/opencode", "XDG_STATE_HOME", "opencode"),
        ])),
    },
    Preset {
        name: "qwen",
        title: "Qwen Code",
        command: "qwen",
        args: &["--acp"],
        install_hint: "npm install -g @qwen-code/qwen-code",
        confined: Some(in_folders(&[at_home(".qwen")])),
    },
    Preset {
        name: "vibe",
        title: "Mistral Vibe",
        command: "vibe-acp",
        args: &[],
        install_hint: "uv tool install mistral-vibe",
        confined: Some(in_folders(&[at_home_or(".vibe", "VIBE_HOME", "")])),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect_file;
    use std::fmt::Write as _;

    #[test]
    fn presets_are_sorted_and_found_by_name() {
        assert!(PRESETS.is_sorted_by(|a, b| a.name < b.name));
        assert_eq!(find("gemini").map(|preset| preset.args), Some(&["--acp"][..]));
        assert_eq!(find("nobody"), None);
    }

    #[test]
    fn lua_has_the_same_presets() {
        let mut lua = "--- The agents known by name: how an installed one is started and how to install it. Generated from\n\
                       --- src/config/presets.rs by `make messages`.\n\n\
                       ---@class rat.Preset\n\
                       ---@field title string name for people\n\
                       ---@field command string program on PATH\n\
                       ---@field args string[]\n\
                       ---@field install_hint string\n\n\
                       ---@type table<string, rat.Preset>\n\
                       return {\n"
            .to_owned();
        for Preset { name, title, command, args, install_hint, .. } in PRESETS {
            let args: Vec<String> = args.iter().map(|arg| format!("{arg:?}")).collect();
            let args =
                if args.is_empty() { "{}".into() } else { format!("{{ {} }}", args.join(", ")) };
            write!(
                lua,
                "  {name} = {{\n    title = {title:?},\n    command = {command:?},\n    args = {args},\n    \
                 install_hint = {install_hint:?},\n  }},\n",
            )
            .unwrap();
        }
        lua.push_str("}\n");
        expect_file!["../../lua/rat/config/presets.lua"].assert_eq(&lua);
    }
}
