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
    pub(super) command: Option<&'a str>,
    /// The folder that the command runs in; `None` for that of the session.
    pub(super) cwd: Option<&'a Path>,
}

impl<'a> Call<'a> {
    pub(super) fn of(waiting: &'a WaitingPermission) -> Self {
        let command = waiting.command.as_deref();
        let cwd = waiting.command_cwd.as_deref();
        Self { kind: waiting.tool_kind, files: &waiting.files, command, cwd }
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
        self.all
            || self.has_rule(Call { kind: ToolKind::Execute, files: &[], command: None, cwd: None })
    }

    /// Whether a tool call is allowed. One that changes files has to name them.
    pub(super) fn allows(&self, call: Call<'_>) -> bool {
        let are_inside = call.files.iter().all(|file| self.is_inside(file));
        if is_change(call.kind) {
            let is_allowed = self.writes || self.all || self.has_rule(call);
            return is_allowed && are_inside && !call.files.is_empty();
        }
        let is_reading = matches!(call.kind, ToolKind::Read | ToolKind::Search | ToolKind::Think);
        self.all || is_reading && are_inside || self.has_rule(call)
    }

    /// Whether somebody may be asked about a tool call: nothing outside of the folder is changed, whoever says so.
    pub(super) fn may_ask(&self, call: Call<'_>) -> bool {
        let are_inside = || call.files.iter().all(|file| self.is_inside(file));
        !is_change(call.kind) || !call.files.is_empty() && are_inside()
    }

    fn has_rule(&self, call: Call<'_>) -> bool {
        let real_path = |file: &Path| paths::real_path(&self.root.join(file)).ok();
        let files: Option<Vec<PathBuf>> = call.files.iter().map(|file| real_path(file)).collect();
        let cwd = real_path(call.cwd.unwrap_or(&self.root));
        let (Some(files), Some(cwd)) = (files, cwd) else { return false };
        let call = rules::Call {
            agent: "",
            kind: call.kind,
            tool: None,
            files: &files,
            command: call.command,
            root: &self.root,
            cwd: &cwd,
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

    fn is_inside(&self, file: &Path) -> bool {
        let file = self.root.join(file);
        paths::real_path(&file).is_ok_and(|real| real.starts_with(&self.root))
    }

    /// Returns the option that answers a request as decided: once, since nobody is there who could take an "always" back.
    /// `None` if there is none.
    pub(super) fn option(options: &[PermissionOption], allows: bool) -> Option<&PermissionOption> {
        let kind = if allows { OptionKind::AllowOnce } else { OptionKind::RejectOnce };
        options.iter().find(|option| option.kind == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(kind: ToolKind, files: &[PathBuf]) -> Call<'_> {
        Call { kind, files, command: None, cwd: None }
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
        let allowed = Policy { rules: vec!["allow execute".parse().unwrap()], ..none.clone() };
        assert!(
            allowed.allows(call(ToolKind::Execute, &[]))
                && !allowed.allows(call(ToolKind::Fetch, &[]))
        );
        assert_eq!(none.hint(call(ToolKind::Execute, &[])), " (--allow execute allows it)");
        std::fs::remove_dir_all(base).unwrap();
    }
}
