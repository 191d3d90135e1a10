//! The agents that are known by name. Data only.
//!
//! `lua/rat/config/presets.lua` is generated from this file, because Neovim completes names and shows titles before the
//! binary runs.

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
}

/// Returns the preset with this name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// All presets, sorted by name.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "auggie",
        title: "Auggie",
        command: "auggie",
        args: &["--acp"],
        install_hint: "npm install -g @augmentcode/auggie",
    },
    Preset {
        name: "claude",
        title: "Claude",
        command: "claude-agent-acp",
        args: &[],
        install_hint: "npm install -g @agentclientprotocol/claude-agent-acp",
    },
    Preset {
        name: "cline",
        title: "Cline",
        command: "cline",
        args: &["--acp"],
        install_hint: "npm install -g cline",
    },
    Preset {
        name: "codex",
        title: "Codex",
        command: "codex-acp",
        args: &[],
        install_hint: "npm install -g @agentclientprotocol/codex-acp",
    },
    Preset {
        name: "copilot",
        title: "Copilot",
        command: "copilot",
        args: &["--acp", "--stdio"],
        install_hint: "npm install -g @github/copilot",
    },
    Preset {
        name: "cursor",
        title: "Cursor",
        command: "cursor-agent",
        args: &["acp"],
        install_hint: "see https://cursor.com/cli",
    },
    Preset {
        name: "gemini",
        title: "Gemini",
        command: "gemini",
        args: &["--acp"],
        install_hint: "npm install -g @google/gemini-cli",
    },
    Preset {
        name: "goose",
        title: "Goose",
        command: "goose",
        args: &["acp"],
        install_hint: "see https://block.github.io/goose",
    },
    Preset {
        name: "kilo",
        title: "Kilo Code",
        command: "kilo",
        args: &["acp"],
        install_hint: "npm install -g @kilocode/cli",
    },
    Preset {
        name: "kimi",
        title: "Kimi",
        command: "kimi",
        args: &["acp"],
        install_hint: "uv tool install kimi-cli",
    },
    Preset {
        name: "kiro",
        title: "Kiro",
        command: "kiro-cli",
        args: &["acp"],
        install_hint: "see https://kiro.dev/cli",
    },
    Preset {
        name: "opencode",
        title: "OpenCode",
        command: "opencode",
        args: &["acp"],
        install_hint: "npm install -g opencode-ai",
    },
    Preset {
        name: "qwen",
        title: "Qwen Code",
        command: "qwen",
        args: &["--acp"],
        install_hint: "npm install -g @qwen-code/qwen-code",
    },
    Preset {
        name: "vibe",
        title: "Mistral Vibe",
        command: "vibe-acp",
        args: &[],
        install_hint: "uv tool install mistral-vibe",
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
        for Preset { name, title, command, args, install_hint } in PRESETS {
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
