//! Lists of real folders, and what of them matches what is typed.

use super::fuzzy::Pattern;
use super::list::List;
use super::{Found, ProjectFiles};
use crate::host::ignored::RuleFiles;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn with(files: &[&str]) -> Self {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let name = format!("rat-project-files-{}-{number}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(&folder.0).unwrap();
        for file in files {
            folder.write(file, "");
        }
        folder
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn list(&self) -> List {
        List::of(&self.0, &RuleFiles::default(), &List::default())
    }

    fn all(&self) -> Vec<String> {
        self.list().best(&Pattern::new(""), usize::MAX)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Those of the paths that match, the best first.
fn matching(typed: &str, paths: &[&str]) -> Vec<String> {
    let pattern = Pattern::new(typed);
    let mut found: Vec<_> =
        paths.iter().filter_map(|path| Some((-pattern.score(path)?, *path))).collect();
    found.sort_by_key(|(score, _)| *score);
    found.into_iter().map(|(_, path)| path.to_owned()).collect()
}

#[test]
fn what_git_ignores_is_left_out_without_a_repository_too() {
    let folder = Folder::with(&["b.txt", "sub/c.txt", "sub/out/d.o", "log/e", ".hidden/f"]);
    folder.write(".gitignore", "log/\n*.o\n");
    folder.write("node_modules/g", "");
    let wanted = [".gitignore", "b.txt", "sub/", "sub/c.txt", "sub/out/"];
    assert_eq!(folder.all(), wanted);
    folder.write("sub/.gitignore", "c.txt\n!*.o\n");
    assert!(folder.all().contains(&"sub/out/d.o".to_owned()));
    assert!(!folder.all().contains(&"sub/c.txt".to_owned()));
}

#[test]
fn hidden_folders_of_a_repository_are_listed_but_not_its_own() {
    let folder = Folder::with(&[".git/config", ".github/ci.yml", "node_modules/a.js"]);
    let wanted = [".github/", "node_modules/", ".github/ci.yml", "node_modules/a.js"];
    assert_eq!(folder.all(), wanted);
}

#[test]
fn links_are_listed_and_not_followed_and_a_missing_folder_has_no_files() {
    let folder = Folder::with(&["a/b"]);
    std::os::unix::fs::symlink(&folder.0, folder.0.join("a/loop")).unwrap();
    assert_eq!(folder.all(), ["a/", "a/b", "a/loop"]);
    assert_eq!(
        List::of(Path::new("/nowhere"), &RuleFiles::default(), &List::default())
            .best(&Pattern::new(""), 9),
        [""; 0]
    );
}

#[test]
fn names_come_before_folders_and_words_before_letters() {
    let paths = ["src/main/other.rs", "src/remain.rs", "src/main.rs", "domain/main.rs.orig"];
    assert_eq!(matching("main.rs", &paths)[0], "src/main.rs");
    assert_eq!(matching("main", &paths).last().unwrap(), "src/main/other.rs");
    assert_eq!(matching("srmain", &paths).len(), 3);
    assert_eq!(matching("pf", &["xpfx", "project_files.rs"])[0], "project_files.rs");
    assert_eq!(matching("sub/", &["sub/a.txt", "sub/"])[0], "sub/");
    let parts = ["module_56/sub_0/file.rs", "module_50/sub_1/file.rs"];
    assert_eq!(matching("module_50/file", &parts)[0], parts[1]);
    assert_eq!(matching("RM", &["README.md", "remain.rs"]), ["README.md"]);
    assert_eq!(matching("rm", &["README.md", "remain.rs"]).len(), 2);
    assert_eq!(matching("ß", &["sub/straße.txt", "sub/strasse.txt"]), ["sub/straße.txt"]);
    assert_eq!(matching("zz", &paths), [""; 0]);
}

#[test]
fn a_file_that_no_old_list_has_is_found_and_of_others_it_is_said_that_they_are_old() {
    let folder = Folder::with(&["one.txt"]);
    let files = ProjectFiles::default();
    let found = |typed: &str| files.find(&folder.0, typed, 9);
    let one = Found { paths: vec!["one.txt".to_owned()], is_old: false };
    assert_eq!(found("one"), one);
    folder.write("two.txt", "");
    assert_eq!(found("two").paths, [""; 0]);
    files.0.lock().kept.get_mut(&folder.0).unwrap().at -= super::FRESH;
    assert_eq!(found("one"), Found { is_old: true, ..one });
    assert_eq!(found("two").paths, ["two.txt"]);
}

#[test]
fn a_folder_that_is_being_listed_is_not_listed_again() {
    let folder = Folder::with(&["one.txt"]);
    let files = ProjectFiles::default();
    files.0.lock().listing.insert(folder.0.clone());
    assert_eq!(files.find(&folder.0, "one", 9).paths, [""; 0]);
    files.0.lock().listing.clear();
    assert_eq!(files.find(&folder.0, "one", 9).paths, ["one.txt"]);
    assert_eq!(files.0.lock().listing.len(), 0);
}

#[test]
fn lists_of_few_folders_are_kept() {
    let files = ProjectFiles::default();
    let folders: Vec<Folder> = (0..6).map(|_| Folder::with(&["a"])).collect();
    for folder in &folders {
        files.find(&folder.0, "a", 1);
    }
    assert_eq!(files.0.lock().kept.len(), super::MAX_FOLDERS);
    assert!(files.0.lock().kept.contains_key(&folders[5].0));
}

proptest! {
    #[test]
    fn a_path_matches_if_it_has_the_letters_in_their_order(
        typed in "[a-c/ß]{1,4}", path in "[a-cA-C/.ß]{0,8}",
    ) {
        let mut rest = typed.bytes().peekable();
        for byte in path.bytes() {
            rest.next_if(|wanted| *wanted == byte.to_ascii_lowercase());
        }
        prop_assert_eq!(Pattern::new(&typed).score(&path).is_some(), rest.peek().is_none());
    }

    #[test]
    fn the_best_are_the_first_of_all_that_match(count in 0usize..8, typed in "[a-c]{0,3}") {
        let folder = Folder::with(&["abc", "b/a", "c/b/a", "ca", "cab", "B"]);
        let list = folder.list();
        let all = list.best(&Pattern::new(&typed), usize::MAX);
        let some = list.best(&Pattern::new(&typed), count);
        prop_assert_eq!(&some[..], &all[..count.min(all.len())]);
    }
}
