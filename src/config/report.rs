//! The part of `:checkhealth rat` about the configured agents.

use super::options::{AgentOptions, map_or_empty_list};
use super::resolve::{AgentSelection, resolve};
use super::settings;
use crate::process::confine::{self, Kernel};
use crate::process::program;
use crate::session::agent::AgentConfig;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The configuration to check, as Lua sends it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Configured {
    /// The options from `setup()`, by the name of the agent.
    #[serde(deserialize_with = "map_or_empty_list")]
    pub agents: BTreeMap<String, AgentOptions>,
    /// The path of the user's settings file, if there is one.
    pub settings_file: Option<PathBuf>,
}

/// One line of the report.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// What kind of finding it is.
    pub kind: Kind,
    /// The finding.
    pub text: String,
    /// How to solve the problem, if that is known.
    pub hint: Option<String>,
}

/// The kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An agent that can be started.
    Ok,
    /// A fact.
    Info,
    /// A problem.
    Error,
}

/// Reports the problems in the settings file, and for each configured agent whether it can be started in `environment`
/// and `cwd`. It blocks.
pub fn report(
    configured: &Configured,
    environment: &BTreeMap<String, String>,
    cwd: &Path,
    this_program: &Path,
) -> Vec<Line> {
    let file = configured.settings_file.as_deref();
    let (settings, problems) = file.map(settings::load).unwrap_or_default();
    let file = file.unwrap_or(Path::new("")).display();
    let problem =
        |problem| Line { kind: Kind::Error, text: format!("{file}: {problem}"), hint: None };
    let problems = problems.into_iter().map(problem);
    let names: BTreeSet<&String> = configured.agents.keys().chain(settings.agents.keys()).collect();
    let agents = names.into_iter().map(|name| {
        let agent = AgentSelection {
            name: name.clone(),
            options: configured.agents.get(name).cloned().unwrap_or_default(),
            environment: environment.clone(),
            ..AgentSelection::default()
        };
        line(resolve(agent, settings.clone(), cwd, this_program), cwd)
    });
    problems.chain(agents).chain([about_confining(confine::kernel())]).collect()
}

// `:checkhealth` makes a link of `:help` with all that follows up to a space, so it ends the text.
fn about_confining(kernel: Kernel) -> Line {
    let text = match kernel.check(false).and_then(|()| kernel.check(true)) {
        Ok(()) if kernel == Kernel::Untried => {
            "agents can be confined, but that has not been tried on this system, :help rat-confine"
                .to_owned()
        }
        Ok(()) => "agents can be confined, :help rat-confine".to_owned(),
        Err(why) if kernel.check(false).is_ok() => {
            format!("agents can be confined, except for their ports: {why}, :help rat-confine")
        }
        Err(why) => format!("agents cannot be confined: {why}"),
    };
    Line { kind: Kind::Info, text, hint: None }
}

fn line(agent: AgentConfig, cwd: &Path) -> Line {
    let name = &agent.name;
    let (ok, text) = if let Some(problem) = &agent.problem {
        (false, format!("{name}: {problem}"))
    } else if let Some(remote) = &agent.remote {
        (true, format!("{name}: {}", remote.shown()))
    } else {
        let path = agent.variable("PATH").unwrap_or_default();
        let confined = if agent.confinement.is_some() { ", confined" } else { "" };
        match program::find(&agent.command, path, cwd) {
            Ok(program) => (true, format!("{name}: {}{confined}", program.display())),
            Err(problem) => (false, format!("{name}: {problem}")),
        }
    };
    let kind = if ok { Kind::Ok } else { Kind::Error };
    Line { kind, text, hint: agent.install_hint.filter(|_| !ok) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_configured_agent_gets_a_line() {
        let file = std::env::temp_dir().join(format!("rat-report-{}.json", std::process::id()));
        std::fs::write(
            &file,
            r#"{"agent_servers": {"mine": {"command": "sh"}, "bad": {"args": 1}}}"#,
        )
        .unwrap();
        let json = serde_json::json!({
            "agents": {"claude": {"command": "no-such", "env": []}, "empty": [], "tour": {"env": {"A": "b"}}},
            "settings_file": file,
        });
        let environment = [("PATH".to_owned(), "/bin".to_owned())].into();
        let lines = report(
            &serde_json::from_value(json).unwrap(),
            &environment,
            Path::new("/"),
            Path::new("/bin/true"),
        );
        std::fs::remove_file(&file).unwrap();
        let line = |kind, text: &str, hint: Option<&str>| Line {
            kind,
            text: text.to_owned(),
            hint: hint.map(str::to_owned),
        };
        let bad = format!(
            "{}: line 1, column 63: agent_servers.bad.args: expected a list, got an integer",
            file.display()
        );
        let expected = [
            line(Kind::Error, &bad, None),
            line(
                Kind::Error,
                "claude: no-such is not on PATH",
                Some("npm install -g @agentclientprotocol/claude-agent-acp"),
            ),
            line(Kind::Error, "empty: agents.empty has neither command nor url", None),
            line(Kind::Ok, "mine: /bin/sh", None),
            line(Kind::Ok, "tour: /bin/true", None),
            about_confining(confine::kernel()),
        ];
        assert_eq!(lines, expected);
    }
    /// Holds (Confinement): `:checkhealth rat` says whether the kernel can confine agents.
    #[test]
    fn it_says_whether_the_kernel_can_confine_agents() {
        let text = |kernel| about_confining(kernel).text;
        let help = ", :help rat-confine";
        assert_eq!(text(Kernel::FilesAndPorts), format!("agents can be confined{help}"));
        assert!(text(Kernel::Untried).ends_with(&format!("tried on this system{help}")));
        let ports = "this Linux cannot limit ports: Linux 6.7 or newer is needed";
        let can = format!("agents can be confined, except for their ports: {ports}{help}");
        assert_eq!(text(Kernel::Files), can);
        for kernel in [Kernel::Without, Kernel::TooOld] {
            assert!(text(kernel).starts_with("agents cannot be confined: "), "{kernel:?}");
        }
    }
}
