//! What an agent may do without a user who could be asked.

use crate::core::messages::status::WaitingPermission;
use crate::host::paths;
use crate::session::permission::{OptionKind, PermissionOption};
use crate::session::tool_call::ToolKind;
use crate::trust::rule::{Decision, Rule};
use crate::trust::rules::{self, Verdict};
use std::path::{Path, PathBuf};

/// What is known of a tool call before it is decided on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) kind: ToolKind,
    pub(super) files: &'a [PathBuf],
    /// The commands that it may run.
    pub(super) commands: &'a [String],
    /// The folders that they may run in; none for that of the session.
    pub(super) cwds: &'a [PathBuf],
}

impl<'a> Call<'a> {
    pub(super) fn of(waiting: &'a WaitingPermission) -> Self {
        let (commands, cwds) = (&waiting.commands, &waiting.command_cwds);
        Self { kind: waiting.tool_kind, files: &waiting.files, commands, cwds }
    }

    /// One that has a command runs it, whatever it calls itself.
    fn is_command(&self) -> bool {
        self.kind == ToolKind::Execute || !self.commands.is_empty()
    }
}

fn is_change(kind: ToolKind) -> bool {
    matches!(kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move)
}

/// What the command line allows.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    /// The folder the agent works in, as a real path.
    pub(super) root: PathBuf,
    /// Whether files in it may be changed.
    pub(super) writes: bool,
    /// Whether everything is allowed but changes outside of it.
    pub(super) all: bool,
    /// What else is allowed.
    pub(super) rules: Vec<Rule>,
}

impl Policy {
    /// Whether the agent may run any command.
    pub(super) fn executes(&self) -> bool {
        let any = Call { kind: ToolKind::Execute, files: &[], commands: &[], cwds: &[] };
        self.all || self.has_rule(any)
    }

    /// Whether a tool call is allowed. One that changes files has to name them.
    pub(super) fn allows(&self, call: Call<'_>) -> bool {
        let are_inside = call.files.iter().all(|file| self.is_inside(file));
        if is_change(call.kind) {
            let is_allowed = self.all || self.has_rule(call) || self.writes && !call.is_command();
            return is_allowed && are_inside && !call.files.is_empty();
        }
        let is_reading = matches!(call.kind, ToolKind::Read | ToolKind::Search | ToolKind::Think)
            && !call.is_command();
        self.all || is_reading && are_inside || self.has_rule(call)
    }

    /// Whether somebody may be asked about a tool call: nothing outside of the folder is changed, whoever says so.
    pub(super) fn may_ask(&self, call: Call<'_>) -> bool {
        let are_inside = || call.files.iter().all(|file| self.is_inside(file));
        !is_change(call.kind) || !call.files.is_empty() && are_inside()
    }

    fn has_rule(&self, call: Call<'_>) -> bool {
        let real_path = |file: &Path| paths::real_path(&self.root.join(file)).ok();
        let real = |paths: &[PathBuf]| -> Option<Vec<PathBuf>> {
            paths.iter().flat_map(|path| self.meanings(path)).map(|path| real_path(&path)).collect()
        };
        let (Some(files), Some(cwds)) = (real(call.files), real(call.cwds)) else { return false };
        let call = rules::Call {
            agent: "",
            kind: call.kind,
            tool: None,
            files: &files,
            commands: call.commands,
            root: &self.root,
            cwds: &cwds,
            real_path: &real_path,
        };
        matches!(rules::decide(&self.rules, call), Verdict::Decided(Decision::Allow, _))
    }

    /// Returns which flag would allow that, as the end of a sentence; empty if none would.
    pub(super) fn hint(&self, call: Call<'_>) -> &'static str {
        let with = |policy: Self| policy.allows(call);
        if with(Self { writes: true, ..self.clone() }) {
            " (--write allows it)"
        } else if with(Self { all: true, ..self.clone() }) {
            match call.kind {
                ToolKind::Execute => " (--allow execute allows it)",
                ToolKind::Fetch => " (--allow fetch allows it)",
                _ => " (--yolo allows it)",
            }
        } else {
            ""
        }
    }

    fn meanings(&self, path: &Path) -> Vec<PathBuf> {
        paths::meanings(path, &self.root, std::env::home_dir().as_deref())
    }

    fn is_inside(&self, file: &Path) -> bool {
        let mut meant = self.meanings(file).into_iter();
        meant.all(|file| paths::real_path(&file).is_ok_and(|real| real.starts_with(&self.root)))
    }

    /// Returns the option that answers a request as decided: once, since nobody is there who could take an "always" back. A
    /// person who was asked can be taken at their word where nothing else is offered. `None` if there is none.
    pub(super) fn option(
        options: &[PermissionOption],
        allows: bool,
        by: By,
    ) -> Option<&PermissionOption> {
        let kinds: &[OptionKind] = match (allows, by) {
            (true, By::Person) => &[OptionKind::AllowOnce, OptionKind::AllowAlways],
            (true, By::Flags) => &[OptionKind::AllowOnce],
            (false, _) => &[OptionKind::RejectOnce],
        };
        kinds.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind))
    }
}

/// Who decides on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// What the command line allows.
    Flags,
    /// The person at the terminal.
    Person,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(kind: ToolKind, files: &[PathBuf]) -> Call<'_> {
        Call { kind, files, commands: &[], cwds: &[] }
    }

    /// Holds (Scripts): Without flags an agent may read in its folder, `--write` adds changes there, `--yolo` everything else, and nothing allows changes outside, whatever leads there.
    #[test]
    fn what_is_allowed_depends_on_the_flags_and_on_where_a_path_leads() {
        let base = std::env::temp_dir().canonicalize().unwrap();
        let base = base.join(format!("rat-policy-{}", std::process::id()));
        let root = base.join("project");
        std::fs::create_dir_all(&root).unwrap();
        std::os::unix::fs::symlink(&base, root.join("out")).unwrap();
        let policy = |writes, all| Policy { root: root.clone(), writes, all, rules: Vec::new() };
        let (none, write, yolo) = (policy(false, false), policy(true, false), policy(true, true));
        let inside = [root.join("a")];
        let relative = [PathBuf::from("b/c")];
        for outside in [root.join("../x"), root.join("out/x"), "/etc/hosts".into(), "../x".into()] {
            let files = [inside[0].clone(), outside];
            assert!(
                !none.allows(call(ToolKind::Read, &files))
                    && yolo.allows(call(ToolKind::Read, &files))
            );
            for kind in [ToolKind::Edit, ToolKind::Delete, ToolKind::Move] {
                assert!(!yolo.allows(call(kind, &files)), "{files:?}");
            }
            assert_eq!(none.hint(call(ToolKind::Edit, &files)), "");
        }
        for files in [&inside, &relative] {
            assert!(
                none.allows(call(ToolKind::Read, files))
                    && none.allows(call(ToolKind::Search, files))
            );
            assert!(
                !none.allows(call(ToolKind::Edit, files))
                    && write.allows(call(ToolKind::Edit, files))
            );
            assert_eq!(none.hint(call(ToolKind::Move, files)), " (--write allows it)");
        }
        assert!(!yolo.allows(call(ToolKind::Edit, &[])), "it has to say what it changes");
        assert!(
            none.allows(call(ToolKind::Think, &[])) && !write.allows(call(ToolKind::Execute, &[]))
        );
        assert!(
            yolo.allows(call(ToolKind::Execute, &[])) && yolo.allows(call(ToolKind::Other, &[]))
        );
        let evil = ["find . -name a.txt -exec ./evil x {} +".to_owned()];
        for kind in [ToolKind::Search, ToolKind::Read, ToolKind::Think, ToolKind::Edit] {
            let call = Call { commands: &evil, ..call(kind, &inside) };
            assert!(!none.allows(call) && !write.allows(call), "{kind:?}");
        }
        for file in ["~/x", "~", "~root/x", "$HOME/x", "file:///etc/passwd"] {
            let files = [PathBuf::from(file)];
            assert!(!none.allows(call(ToolKind::Read, &files)), "{file}");
            assert!(!write.allows(call(ToolKind::Edit, &files)), "{file}");
        }
        let allowed = Policy { rules: vec!["allow execute".parse().unwrap()], ..none.clone() };
        assert!(
            allowed.allows(call(ToolKind::Execute, &[]))
                && !allowed.allows(call(ToolKind::Fetch, &[]))
        );
        assert_eq!(none.hint(call(ToolKind::Execute, &[])), " (--allow execute allows it)");
        std::fs::remove_dir_all(base).unwrap();
    }
}
