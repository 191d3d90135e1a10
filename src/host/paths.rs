//! Which paths an agent may touch: real paths, below the roots of its session. Asks nobody and
//! opens no file.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

use crate::core::reach::Reach;

/// Why a path may not be used.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum PathError {
    /// It does not start at the root folder.
    #[error("{} is a relative path: give an absolute one", .0.display())]
    Relative(PathBuf),
    /// It lies outside all roots, perhaps behind a symbolic link or `..`.
    #[error("{} is outside the folders of this session ({})", .path.display(), .real.display())]
    Outside {
        /// As the agent gave it.
        path: PathBuf,
        /// Where it really leads.
        real: PathBuf,
    },
    /// The machine refused to say where it leads.
    #[error("{} cannot be followed: {reason}", .path.display())]
    Unreachable {
        /// As the agent gave it.
        path: PathBuf,
        /// The machine's words.
        reason: String,
    },
}

/// The real path behind `path`, which need not exist yet, if it lies within reach. A root that cannot be followed only
/// matters where no other holds the path.
pub fn check(reach: &Reach, path: &Path) -> Result<PathBuf, PathError> {
    let real = real_path(path)?;
    if reach.allows(&real) {
        return Ok(real);
    }
    let mut problem = None;
    for root in &reach.roots {
        match holds(root, &real) {
            Ok(true) => return Ok(real),
            Ok(false) => {}
            Err(error) => problem = Some(error),
        }
    }
    Err(problem.unwrap_or(PathError::Outside { path: path.to_owned(), real }))
}

/// Whether a real path lies in or below a root.
pub fn holds(root: &Path, real: &Path) -> Result<bool, PathError> {
    Ok(real.starts_with(real_path(root)?))
}

/// The folder of a file outside the roots, by its real path, that the user may be offered to allow with it. None that
/// holds more than anybody means with one file: a home or a folder above one, the top of a file system, the roots.
pub fn offered_folder(file: &Path, roots: &[PathBuf], home: Option<&Path>) -> Option<PathBuf> {
    let folder = file.parent()?;
    let above = folder.parent()?;
    let is_above = |other: &Path| real_path(other).is_ok_and(|other| other.starts_with(folder));
    let is_home = HOMES.iter().any(|homes| above == Path::new(homes) || folder == Path::new(homes));
    // What is not there yet will be made on the file system above it.
    let device = |path: &Path| path.metadata().ok().map(|it| it.dev());
    let is_mount = device(folder).is_some_and(|here| device(above) != Some(here));
    let is_wide = is_home || is_mount || home.is_some_and(is_above);
    let holds_root = roots.iter().any(|root| is_above(root));
    (!is_wide && !holds_root).then(|| folder.to_owned())
}

/// Where the homes of users are.
const HOMES: [&str; 4] = ["/home", "/Users", "/var/home", "/export/home"];

/// More symbolic links than this on one path are taken for a loop, as Linux does.
const MOST_LINKS: usize = 40;

/// Where an absolute path leads with every symbolic link followed, dangling ones included, and `..`
/// taken after that as the system takes it. What does not exist yet is kept as it is written.
pub fn real_path(path: &Path) -> Result<PathBuf, PathError> {
    if !path.is_absolute() {
        return Err(PathError::Relative(path.to_owned()));
    }
    let unreachable = |error: &io::Error| PathError::Unreachable {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    match path.canonicalize() {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            follow(path).map_err(|error| unreachable(&error))
        }
        Err(error) => Err(unreachable(&error)),
    }
}

enum Step {
    Root(PathBuf),
    Up,
    Down(OsString),
}

fn steps(path: &Path) -> impl DoubleEndedIterator<Item = Step> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
        Component::ParentDir => Some(Step::Up),
        Component::CurDir => None,
        root => Some(Step::Root(PathBuf::from(root.as_os_str()))),
    })
}

fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut real = PathBuf::new();
    let mut rest: VecDeque<Step> = steps(path).collect();
    let mut links = 0;
    while let Some(step) = rest.pop_front() {
        let name = match step {
            Step::Root(root) => {
                real.push(root);
                continue;
            }
            Step::Up => {
                real.pop();
                continue;
            }
            Step::Down(name) => name,
        };
        match real.join(&name).read_link() {
            Ok(target) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(io::Error::other("too many symbolic links"));
                }
                for step in steps(&target).rev() {
                    rest.push_front(step);
                }
            }
            // Not a link, or nothing there yet.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::NotFound
                ) =>
            {
                real.push(name);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::core::reach::Allowed;

    /// A folder of its own, gone at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let folder = format!("rat-paths-{name}-{}", std::process::id());
            let path = std::env::temp_dir().canonicalize().unwrap().join(folder);
            fs::create_dir_all(path.join("project/src")).unwrap();
            fs::create_dir_all(path.join("elsewhere")).unwrap();
            fs::write(path.join("project/src/a.rs"), "").unwrap();
            fs::write(path.join("elsewhere/secret"), "").unwrap();
            Self(path)
        }

        fn reach(&self) -> Reach {
            Reach { roots: vec![self.0.join("project")], allowed: Vec::new() }
        }

        fn check(&self, path: &str) -> Result<PathBuf, PathError> {
            check(&self.reach(), &self.0.join(path))
        }

        fn is_outside(&self, path: &str, real: &str) {
            let error = PathError::Outside { path: self.0.join(path), real: self.0.join(real) };
            assert_eq!(self.check(path), Err(error));
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_path_inside_is_made_real() {
        let scratch = Scratch::new("inside");
        let real = |path: &str| Ok(scratch.0.join(path));
        assert_eq!(scratch.check("project/src/a.rs"), real("project/src/a.rs"));
        assert_eq!(scratch.check("project/src/../src/./a.rs"), real("project/src/a.rs"));
        assert_eq!(scratch.check("project/new/deep/b.rs"), real("project/new/deep/b.rs"));
        assert_eq!(scratch.check("project"), real("project"));
    }

    /// ACP 93, 97.
    #[test]
    fn relative_paths_and_ways_out_are_refused() {
        let scratch = Scratch::new("outside");
        let relative = PathBuf::from("src/a.rs");
        assert_eq!(check(&scratch.reach(), &relative), Err(PathError::Relative(relative)));
        scratch.is_outside("elsewhere/secret", "elsewhere/secret");
        scratch.is_outside("project/../elsewhere/secret", "elsewhere/secret");
        scratch.is_outside("project/new/../../elsewhere/new", "elsewhere/new");
        scratch.is_outside("project-2/a.rs", "project-2/a.rs");
    }

    /// ACP 97.
    #[test]
    fn links_are_followed_first() {
        let scratch = Scratch::new("links");
        let link = |target: &str, name: &str| {
            symlink(scratch.0.join(target), scratch.0.join("project").join(name)).unwrap();
        };
        link("elsewhere", "out");
        link("project/src", "in");
        link("elsewhere/not-yet", "dangling");
        symlink("../../elsewhere/later", scratch.0.join("project/src/relative")).unwrap();
        scratch.is_outside("project/out/secret", "elsewhere/secret");
        scratch.is_outside("project/out/new", "elsewhere/new");
        scratch.is_outside("project/dangling", "elsewhere/not-yet");
        scratch.is_outside("project/src/relative", "elsewhere/later");
        scratch.is_outside("project/in/../../elsewhere/secret", "elsewhere/secret");
        assert_eq!(scratch.check("project/in/a.rs"), Ok(scratch.0.join("project/src/a.rs")));
        assert_eq!(scratch.check("project/in/new"), Ok(scratch.0.join("project/src/new")));
        // A root that is a link stands for the folder behind it.
        let reach = Reach { roots: vec![scratch.0.join("project/in")], allowed: Vec::new() };
        assert!(check(&reach, &scratch.0.join("project/src/a.rs")).is_ok());
    }

    #[test]
    fn a_loop_of_links_ends() {
        let scratch = Scratch::new("loop");
        symlink(scratch.0.join("project/b"), scratch.0.join("project/a")).unwrap();
        symlink(scratch.0.join("project/a"), scratch.0.join("project/b")).unwrap();
        let refused = scratch.check("project/a/x");
        assert!(matches!(refused, Err(PathError::Unreachable { .. })), "{refused:?}");
    }

    #[test]
    fn case_counts_where_the_disk_says_so() {
        let scratch = Scratch::new("case");
        let same = scratch.0.join("PROJECT").exists();
        assert_eq!(scratch.check("PROJECT/src/a.rs").is_ok(), same);
    }

    #[test]
    fn what_was_allowed_is_meant_by_its_real_path() {
        let scratch = Scratch::new("allow");
        let at = |name: &str| scratch.0.join(name);
        fs::write(at("elsewhere/other"), "").unwrap();
        let mut reach = scratch.reach();
        reach.allowed.push(Allowed::File(at("elsewhere/secret")));
        assert!(check(&reach, &at("elsewhere/secret")).is_ok());
        assert!(check(&reach, &at("elsewhere/other")).is_err());
        assert!(check(&reach, &at("elsewhere/secret/below")).is_err());
        reach.allowed.push(Allowed::Folder(at("elsewhere")));
        assert!(check(&reach, &at("elsewhere/other")).is_ok());
        // A link in its place leads to what was not meant.
        fs::create_dir(at("private")).unwrap();
        fs::write(at("private/secret"), "").unwrap();
        fs::remove_dir_all(at("elsewhere")).unwrap();
        symlink(at("private"), at("elsewhere")).unwrap();
        assert!(check(&reach, &at("elsewhere/secret")).is_err());
        let nothing = Reach::default();
        let outside = PathError::Outside { path: scratch.0.clone(), real: scratch.0.clone() };
        assert_eq!(check(&nothing, &scratch.0), Err(outside));
    }

    #[test]
    fn a_root_that_cannot_be_followed_only_matters_where_no_other_holds() {
        let scratch = Scratch::new("broken");
        symlink(scratch.0.join("loop"), scratch.0.join("loop")).unwrap();
        let mut reach = scratch.reach();
        reach.roots.insert(0, scratch.0.join("loop"));
        assert!(check(&reach, &scratch.0.join("project/src/a.rs")).is_ok());
        let outside = check(&reach, &scratch.0.join("elsewhere/secret"));
        assert!(matches!(outside, Err(PathError::Unreachable { .. })), "{outside:?}");
    }

    #[test]
    fn a_folder_that_holds_more_than_is_meant_is_not_offered() {
        let scratch = Scratch::new("offered");
        let at = |name: &str| scratch.0.join(name);
        let roots = [at("project")];
        let home = at("homes/me");
        fs::create_dir_all(&home).unwrap();
        let offered = |file: &Path| offered_folder(file, &roots, Some(&home));
        assert_eq!(offered(&at("elsewhere/secret")), Some(at("elsewhere")));
        assert_eq!(offered(&at("elsewhere/new/file")), Some(at("elsewhere/new")));
        assert_eq!(offered(&at("homes/me/.config/file")), Some(at("homes/me/.config")));
        for wide in ["homes/me/.netrc", "homes/file", "file", "../file"] {
            let file = real_path(&at(wide)).unwrap();
            assert_eq!(offered(&file), None, "{wide}");
        }
        for wide in ["/file", "/home/somebody/file", "/Users/file", "/proc/file", "/dev/file"] {
            assert_eq!(offered(Path::new(wide)), None, "{wide}");
        }
    }
}
