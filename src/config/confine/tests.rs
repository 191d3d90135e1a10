//! What agents may do where they are confined, and which options are refused.

use super::*;
use crate::config::presets;
use serde_json::json;

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rat-confine-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

struct Case<'a> {
    agent: &'a str,
    env: &'a [(&'a str, &'a str)],
    roots: &'a [&'a str],
    is_here: bool,
    kernel: Kernel,
}

const CASE: Case<'_> = Case {
    agent: "claude",
    env: &[("HOME", "/home/me")],
    roots: &["/project/a", "/project/b"],
    is_here: true,
    kernel: Kernel::FilesAndPorts,
};

impl Case<'_> {
    fn resolved(&self, option: Value) -> Result<Option<Confinement>, String> {
        let variable = |name: &str| {
            let found = self.env.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let circumstances = Circumstances {
            setting: &|key| format!("agents.{}.{key}", self.agent),
            variable: &variable,
            roots: self.roots.iter().map(PathBuf::from).collect(),
            known: presets::needs(self.agent),
            is_here: self.is_here,
            kernel: &|| self.kernel,
        };
        confinement(Some(&option), &circumstances)
    }

    fn refused(&self, option: Value) -> String {
        self.resolved(option).expect_err("a problem")
    }
}

fn paths(all: &[&str]) -> Vec<PathBuf> {
    all.iter().map(PathBuf::from).collect()
}

/// Holds (Confinement): A confined agent may write to the folders of its sessions, to temporary folders and where it keeps its state.
#[test]
fn a_preset_may_write_to_its_folders_and_its_state() {
    let claude = CASE.resolved(json!("write")).unwrap().unwrap();
    assert_eq!(claude.roots, paths(&["/project/a", "/project/b"]));
    assert_eq!(claude.write, paths(&["/tmp"]));
    let state: Vec<_> = claude.state.iter().map(|it| (it.path.clone(), it.content)).collect();
    let expected =
        [("/home/me/.claude".into(), None), ("/home/me/.claude.json".into(), Some("{}"))];
    assert_eq!(state, expected);
    assert_eq!((claude.hide, claude.ports), (Vec::new(), None));
    let env = [("HOME", "/h"), ("TMPDIR", "/t"), ("XDG_DATA_HOME", "/d")];
    let opencode = Case { agent: "opencode", env: &env, ..CASE };
    let opencode = opencode.resolved(json!({})).unwrap().unwrap();
    assert_eq!(opencode.write, paths(&["/t", "/tmp"]));
    let state: Vec<_> = opencode.state.into_iter().map(|it| it.path).collect();
    let expected =
        ["/h/.cache/opencode", "/h/.config/opencode", "/d/opencode", "/h/.local/state/opencode"];
    assert_eq!(state, paths(&expected));
    let env = [("HOME", "/h"), ("CLAUDE_CONFIG_DIR", "/c")];
    let elsewhere = Case { env: &env, ..CASE }.resolved(json!([])).unwrap().unwrap();
    assert_eq!(elsewhere.state.len(), 1, "its other file is in the same folder");
    assert_eq!(CASE.resolved(json!(false)), Ok(None));
}

#[test]
fn a_table_adds_paths_hides_folders_and_limits_ports() {
    let home = Folder::new("table");
    let home_text = home.0.to_str().unwrap();
    fs::create_dir(home.0.join("notes")).unwrap();
    let env = [("HOME", home_text)];
    let table = json!({"write": ["~/notes"], "hide": ["/usr"], "net": [443, 4096]});
    let found = Case { env: &env, ..CASE }.resolved(table).unwrap().unwrap();
    assert!(found.write.contains(&home.0.join("notes")));
    assert_eq!((found.hide, found.ports), (paths(&["/usr"]), Some(vec![443, 4096])));
    let secrets = CASE.resolved(json!({"hide": true, "net": {}})).unwrap().unwrap();
    let expected = ["/home/me/.ssh", "/home/me/.aws", "/home/me/.gnupg"];
    assert_eq!((secrets.hide, secrets.ports), (paths(&expected), Some(Vec::new())));
}

/// Holds (Confinement): An option that cannot be understood or enforced is one line, and the agent is not started.
#[test]
fn what_cannot_be_understood_or_enforced_is_refused() {
    let choices = "it can be false, \"write\" or a table with write, hide and net";
    for (option, problem) in [
        (json!(true), &*format!("agents.claude.confine is true; {choices}")),
        (json!("all"), &format!("agents.claude.confine is \"all\"; {choices}")),
        (json!(["/x"]), &format!("agents.claude.confine is [\"/x\"]; {choices}")),
        (
            json!({"writ": []}),
            "agents.claude.confine.writ is not an option; there are write, hide and net",
        ),
        (
            json!({"write": "/x"}),
            "agents.claude.confine.write is \"/x\"; it can be a list of paths",
        ),
        (json!({"write": ["/no/such"]}), "agents.claude.confine.write: /no/such does not exist"),
        (json!({"write": ["x"]}), "agents.claude.confine.write: x is not an absolute path"),
        (json!({"hide": ["/no/such"]}), "agents.claude.confine.hide: /no/such does not exist"),
        (
            json!({"hide": ["/tmp"]}),
            "agents.claude.confine.hide: /tmp is in a folder that the agent may write",
        ),
        (
            json!({"hide": "~/.ssh"}),
            "agents.claude.confine.hide is \"~/.ssh\"; it can be true or a list of paths",
        ),
        (
            json!({"net": [70000]}),
            "agents.claude.confine.net is [70000]; it can be a list of TCP ports",
        ),
    ] {
        assert_eq!(CASE.refused(option), problem);
    }
    let write = || json!("write");
    let unset = "agents.claude.confine is set, but";
    assert_eq!(
        Case { is_here: false, ..CASE }.refused(write()),
        format!("{unset} it cannot hold for an agent that runs elsewhere")
    );
    assert_eq!(
        Case { env: &[], ..CASE }.refused(write()),
        "agents.claude.confine is set, but the variable HOME is not"
    );
    assert_eq!(
        Case { roots: &["/"], ..CASE }.refused(write()),
        format!("{unset} / is one of the folders that the agent could write")
    );
    for kernel in [Kernel::Without, Kernel::TooOld] {
        let why = kernel.check(false).unwrap_err();
        assert_eq!(Case { kernel, ..CASE }.refused(write()), format!("{unset} {why}"));
    }
    let files = Case { kernel: Kernel::Files, ..CASE };
    assert!(files.resolved(write()).unwrap().is_some());
    assert!(files.refused(json!({"net": [443]})).contains("cannot limit ports"));
}

/// Holds (Confinement): An agent that is no preset is confined only with a list of what it may write.
#[test]
fn an_unknown_agent_needs_a_list_of_what_it_may_write() {
    let unknown = Case { agent: "mine", ..CASE };
    let expected = "agents.mine.confine is set, but it is not known where the agent keeps its state; \
        list that in agents.mine.confine.write";
    for option in [json!("write"), json!({}), json!({"hide": true})] {
        assert_eq!(unknown.refused(option), expected);
    }
    let found = unknown.resolved(json!({"write": ["/usr"]})).unwrap().unwrap();
    assert_eq!((found.write, found.state), (paths(&["/tmp", "/usr"]), Vec::new()));
    assert!(unknown.resolved(json!({"write": []})).unwrap().is_some());
    assert!(Case { agent: "tour", ..CASE }.resolved(json!("write")).unwrap().is_some());
}

/// Holds (Confinement): Claude with its own sandbox switched on is not confined, because its commands would fail.
#[test]
fn claude_is_refused_while_its_own_sandbox_is_on() {
    let folder = Folder::new("sandbox");
    let (home, work) = (folder.0.join("home"), folder.0.join("work"));
    let user = home.join(".claude/settings.json");
    let project = work.join(".claude/settings.json");
    for file in [&user, &project] {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
    }
    let env = [("HOME", home.to_str().unwrap())];
    let roots = [work.to_str().unwrap()];
    let claude = Case { env: &env, roots: &roots, ..CASE };
    let refused = |file: &Path| {
        let file = file.display();
        format!(
            "agents.claude.confine is set, but {file} switches on the agent's own sandbox, which fails \
             inside of it; keep one of them"
        )
    };
    fs::write(&user, r#"{"sandbox": {"enabled": true}}"#).unwrap();
    assert_eq!(claude.refused(json!("write")), refused(&user));
    fs::write(&project, r#"{"sandbox": {"enabled": false}}"#).unwrap();
    assert!(claude.resolved(json!("write")).unwrap().is_some(), "the project switches it off");
    fs::write(&project, r#"{"sandbox": {"enabled": true}}"#).unwrap();
    fs::write(&user, "no JSON").unwrap();
    assert_eq!(claude.refused(json!("write")), refused(&project));
    assert!(Case { agent: "gemini", ..claude }.resolved(json!("write")).unwrap().is_some());
}
