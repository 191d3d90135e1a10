//! The rules that the user has made, in one file. One that cannot be read is never replaced: it may deny something.

use super::locked::{self, Damaged};
use crate::trust::kept::{KeptRules, RulesChange, RulesFailure};
use std::io;
use std::path::{Path, PathBuf};

/// Reads the rules in the folder of the store.
pub(super) fn read(folder: &Path) -> Result<KeptRules, RulesFailure> {
    let file = file_of(folder);
    locked::read(&file).map_err(|error| RulesFailure::Unreadable(problem(&file, &error)))
}

/// Makes a change, and returns all rules that there are then.
pub(super) fn change(folder: &Path, change: RulesChange) -> Result<KeptRules, RulesFailure> {
    // First, so that a file that cannot be read is told from a disk that cannot be written.
    let rules = read(folder)?;
    if change == RulesChange::Nothing {
        return Ok(rules);
    }
    let file = file_of(folder);
    let changed = locked::update(&file, Damaged::Stays, |rules: &mut KeptRules| {
        rules.change(change);
        rules.clone()
    });
    changed.map_err(|error| RulesFailure::Unsaved(problem(&file, &error)))
}

fn problem(file: &Path, error: &io::Error) -> String {
    format!("{}: {error}", file.display())
}

fn file_of(folder: &Path) -> PathBuf {
    folder.join("rules.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::kept::KeptRule;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn rule(line: &str) -> KeptRule {
        let rule = line.parse().unwrap_or_else(|why| panic!("{line}: {why}"));
        KeptRule { rule, since: 1, from: None, decided: 0 }
    }

    fn lines(rules: &KeptRules, project: Option<&str>) -> Vec<(String, u64)> {
        let rules = rules.of(project.map(Path::new)).iter();
        rules.map(|kept| (kept.rule.to_string(), kept.decided)).collect()
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("rat-rules-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    /// Holds (Permission requests): Saved rules of two programs do not overwrite each other, and only their owner can read them.
    #[test]
    fn rules_are_added_counted_and_replaced() {
        let folder = folder("changes");
        let project = || Some(PathBuf::from("/p"));
        change(&folder, RulesChange::Add(None, vec![rule("allow read")])).unwrap();
        change(&folder, RulesChange::Add(project(), vec![rule("allow edit"), rule("deny fetch")]))
            .unwrap();
        change(&folder, RulesChange::Add(project(), vec![rule("allow edit")])).unwrap();
        let decided = ["allow read".to_owned(), "allow edit".to_owned()].to_vec();
        change(&folder, RulesChange::Decided("/p".into(), decided)).unwrap();
        let lists = vec![(project(), vec![rule("ask edit"), rule("allow edit")])];
        let rules = change(&folder, RulesChange::Set(lists)).unwrap();
        assert_eq!(rules, read(&folder).unwrap());
        assert_eq!(lines(&rules, None), [("allow read".to_owned(), 1)]);
        assert_eq!(
            lines(&rules, Some("/p")),
            [("ask edit".to_owned(), 0), ("allow edit".to_owned(), 1)]
        );
        let mode = fs::metadata(file_of(&folder)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::remove_dir_all(&folder).unwrap();
    }

    /// Holds (Permission requests): Saved rules that cannot be read stay as they are, and a change that cannot be saved says why.
    #[test]
    fn what_cannot_be_read_is_not_replaced() {
        let folder = folder("damaged");
        fs::create_dir_all(&folder).unwrap();
        for text in [
            "{\"version\": 1, \"everywhere\": [{\"rule\": \"alow read\", \"since\": 1}]}",
            "{",
            "{\"version\": 2}",
        ] {
            fs::write(file_of(&folder), text).unwrap();
            let added = change(&folder, RulesChange::Add(None, vec![rule("allow read")]));
            assert!(matches!(added, Err(RulesFailure::Unreadable(_))), "{text}: {added:?}");
            assert_eq!(fs::read_to_string(file_of(&folder)).unwrap(), text);
        }
        fs::remove_file(file_of(&folder)).unwrap();
        // A folder where the lock should be.
        fs::create_dir(file_of(&folder).with_extension("lock")).unwrap();
        let added = change(&folder, RulesChange::Add(None, vec![rule("allow read")]));
        assert!(matches!(added, Err(RulesFailure::Unsaved(_))), "{added:?}");
        fs::remove_dir_all(&folder).unwrap();
    }

    /// Holds (Permission requests): The title of a request that is kept with a rule has no secret.
    #[test]
    fn the_title_of_a_request_is_saved_without_secrets() {
        let from = Some("Run curl -u hunter2".to_owned());
        let made = KeptRule { from, since: 0, ..rule("allow fetch") };
        let change = RulesChange::Add(None, vec![made]);
        let change = change.made_at(7, |title| title.replace("hunter2", "[redacted]"));
        let RulesChange::Add(_, rules) = change else { panic!("{change:?}") };
        assert_eq!((rules[0].from.as_deref(), rules[0].since), (Some("Run curl -u [redacted]"), 7));
    }
}
