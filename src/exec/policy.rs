//! What an agent may do without a user who could be asked.

use crate::host::paths;
use crate::session::permission::{OptionKind, PermissionOption};
use crate::session::tool_call::ToolKind;
use std::path::{Path, PathBuf};

/// What the command line allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Policy {
    /// The folder the agent works in, as a real path.
    pub(super) root: PathBuf,
    /// Whether files in it may be changed.
    pub(super) writes: bool,
    /// Whether everything is allowed but changes outside of it.
    pub(super) all: bool,
    /// What else is allowed.
    pub(super) kinds: Vec<ToolKind>,
}

impl Policy {
    /// Whether the agent may run commands.
    pub(super) fn executes(&self) -> bool {
        self.all || self.kinds.contains(&ToolKind::Execute)
    }

    /// Whether a tool call of this kind that names these files is allowed. One that changes files has to name them.
    pub(super) fn allows(&self, kind: ToolKind, files: &[PathBuf]) -> bool {
        let are_inside = files.iter().all(|file| self.is_inside(file));
        match kind {
            ToolKind::Read | ToolKind::Search | ToolKind::Think => self.all || are_inside,
            ToolKind::Edit | ToolKind::Delete | ToolKind::Move => {
                (self.writes || self.all) && are_inside && !files.is_empty()
            }
            ToolKind::Execute | ToolKind::Fetch | ToolKind::SwitchMode | ToolKind::Other => {
                self.all || self.kinds.contains(&kind)
            }
        }
    }

    /// Returns which flag would allow that, as the end of a sentence; empty if none would.
    pub(super) fn hint(&self, kind: ToolKind, files: &[PathBuf]) -> &'static str {
        let with = |policy: Self| policy.allows(kind, files);
        if with(Self { writes: true, ..self.clone() }) {
            " (--write allows it)"
        } else if with(Self { all: true, ..self.clone() }) {
            match kind {
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

    /// Holds (Scripts): Without flags an agent may read in its folder, `--write` adds changes there, `--yolo` everything else, and nothing allows changes outside, whatever leads there.
    #[test]
    fn what_is_allowed_depends_on_the_flags_and_on_where_a_path_leads() {
        let base = std::env::temp_dir().canonicalize().unwrap();
        let base = base.join(format!("rat-policy-{}", std::process::id()));
        let root = base.join("project");
        std::fs::create_dir_all(&root).unwrap();
        std::os::unix::fs::symlink(&base, root.join("out")).unwrap();
        let policy = |writes, all| Policy { root: root.clone(), writes, all, kinds: Vec::new() };
        let (none, write, yolo) = (policy(false, false), policy(true, false), policy(true, true));
        let inside = [root.join("a")];
        let relative = [PathBuf::from("b/c")];
        for outside in [root.join("../x"), root.join("out/x"), "/etc/hosts".into(), "../x".into()] {
            let files = [inside[0].clone(), outside];
            assert!(!none.allows(ToolKind::Read, &files) && yolo.allows(ToolKind::Read, &files));
            for kind in [ToolKind::Edit, ToolKind::Delete, ToolKind::Move] {
                assert!(!yolo.allows(kind, &files), "{files:?}");
            }
            assert_eq!(none.hint(ToolKind::Edit, &files), "");
        }
        for files in [&inside, &relative] {
            assert!(none.allows(ToolKind::Read, files) && none.allows(ToolKind::Search, files));
            assert!(!none.allows(ToolKind::Edit, files) && write.allows(ToolKind::Edit, files));
            assert_eq!(none.hint(ToolKind::Move, files), " (--write allows it)");
        }
        assert!(!yolo.allows(ToolKind::Edit, &[]), "it has to say what it changes");
        assert!(none.allows(ToolKind::Think, &[]) && !write.allows(ToolKind::Execute, &[]));
        assert!(yolo.allows(ToolKind::Execute, &[]) && yolo.allows(ToolKind::Other, &[]));
        let allowed = Policy { kinds: vec![ToolKind::Execute], ..none.clone() };
        assert!(allowed.allows(ToolKind::Execute, &[]) && !allowed.allows(ToolKind::Fetch, &[]));
        assert_eq!(none.hint(ToolKind::Execute, &[]), " (--allow execute allows it)");
        std::fs::remove_dir_all(base).unwrap();
    }
}
