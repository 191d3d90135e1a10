//! How fast the files of a project of a hundred thousand are found, beside looking for what is typed in all paths, and listed,
//! beside reading the folders.

use super::{compare, time};
use rat_nvim::host::project_files::ProjectFiles;
use std::fs;
use std::path::{Path, PathBuf};

const FOLDERS: usize = 400;
const FILES_IN_EACH: usize = 250;

/// All paths below a folder.
fn walk(folder: &Path, paths: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            walk(&path, paths);
        }
        paths.push(path.into_os_string().into_string().unwrap());
    }
}

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn of_a_hundred_thousand() {
    let name = format!("rat-bench-files-{}", std::process::id());
    let root = Folder(std::env::temp_dir().join(name));
    for folder in 0..FOLDERS {
        let folder = root.0.join(format!("src/module_{folder}/part_{}", folder % 7));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..FILES_IN_EACH {
            fs::write(folder.join(format!("file_with_a_name_{file}.lua")), "").unwrap();
        }
    }
    let mut paths = Vec::new();
    walk(&root.0, &mut paths);
    let files = ProjectFiles::default();
    let list = || files.renew(&root.0);
    let read = || walk(&root.0, &mut Vec::new());
    compare("listing 100,000 files", "reading the folders", list, read);
    for typed in ["", "s", "src/mod", "src/mod77file99", "nowhere"] {
        // A list that is older than a few seconds would be made again.
        time(list);
        let find = || files.find(&root.0, typed, 200);
        let look = || paths.iter().filter(|path| path.contains(typed)).count();
        compare(&format!("finding {typed:?} in 100,000"), "looking for it", find, look);
    }
}
