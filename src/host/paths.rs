//! Decides which paths an agent may access: resolves symbolic links and checks the real path against the roots of the
//! session. Opens no file and does not ask the user.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

use crate::core::messages::file_scope::FileScope;
use crate::session::paths::other_reading;

/// Why an agent may not access a path.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum PathError {
    /// It is not absolute.
    #[error("{} is a relative path: give an absolute one", .0.display())]
    Relative(PathBuf),
    /// It is outside all roots, possibly by way of a symbolic link or `..`.
    #[error("{} is outside the folders of this session ({})", .path.display(), .real.display())]
    Outside {
        /// The path as the agent sent it.
        path: PathBuf,
        /// The real path it resolves to.
        real: PathBuf,
    },
    /// The operating system could not resolve it.
    #[error("{} cannot be resolved: {reason}", .path.display())]
    Unreachable {
        /// The path as the agent sent it.
        path: PathBuf,
        /// The operating system's error.
        reason: String,
    },
}

/// Resolves `path`, which need not exist yet, and returns its real path if `scope` allows it. A root that cannot be
/// resolved contains nothing.
pub fn check(scope: &FileScope, path: &Path) -> Result<PathBuf, PathError> {
    let real = real_path(path)?;
    if scope.allows(&real) {
        return Ok(real);
    }
    if scope.roots.iter().any(|root| holds(root, &scope.real_roots, &real)) {
        return Ok(real);
    }
    Err(PathError::Outside { path: path.to_owned(), real })
}

/// Returns whether a real path is `root` or below it. `root` may contain symbolic links, but has to lead to one of
/// `real_roots`, unless there are none.
pub fn holds(root: &Path, real_roots: &[PathBuf], real: &Path) -> bool {
    real_path(root).is_ok_and(|root| {
        real.starts_with(&root) && (real_roots.is_empty() || real_roots.contains(&root))
    })
}

/// Returns the folder of a file outside the roots that the user may be offered to allow along with the file, whose real
/// path is `file`. `None` if the folder covers more than anyone would mean to allow for one file: a home folder, a
/// folder above one, the top of a file system, or a folder that contains a root.
pub fn offered_folder(file: &Path, roots: &[PathBuf], home: Option<&Path>) -> Option<PathBuf> {
    let folder = file.parent()?;
    let above = folder.parent()?;
    let is_above = |other: &Path| real_path(other).is_ok_and(|other| other.starts_with(folder));
    let is_home = HOMES.iter().any(|homes| above == Path::new(homes) || folder == Path::new(homes));
    // `None` for a folder that does not exist yet: it will be created on the file system above it.
    let device = |path: &Path| path.metadata().ok().map(|metadata| metadata.dev());
    let is_mount = device(folder).is_some_and(|here| device(above) != Some(here));
    let is_wide = is_home || is_mount || home.is_some_and(is_above);
    let holds_root = roots.iter().any(|root| is_above(root));
    (!is_wide && !holds_root).then(|| folder.to_owned())
}

/// Folders that contain the home folders of users.
const HOMES: [&str; 4] = ["/home", "/Users", "/var/home", "/export/home"];

/// More symbolic links than this in one path count as a loop, as on Linux.
const MAX_LINKS: usize = 40;

/// Resolves every symbolic link in an absolute path, including dangling ones, and `..` relative to what they resolve
/// to, as the operating system does. Components that do not exist yet are kept as written.
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
            resolve_missing(path).map_err(|error| unreachable(&error))
        }
        Err(error) => Err(unreachable(&error)),
    }
}

/// Returns the absolute paths that an agent may mean by a path: `~/x` is a file in a folder named `~`, and one in the home
/// folder. Of what else begins like a variable or an address nothing is known but that it may be anywhere: `/` stands for that.
pub fn meanings(path: &Path, cwd: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let here = cwd.join(path);
    let Some(other) = other_reading(&here, cwd) else { return vec![here] };
    let in_home = home.zip(other.strip_prefix("~").ok()).map(|(home, rest)| home.join(rest));
    vec![here.clone(), in_home.unwrap_or_else(|| PathBuf::from("/"))]
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

/// Resolves a path that [`Path::canonicalize`] reports as missing, component by component.
fn resolve_missing(path: &Path) -> io::Result<PathBuf> {
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
                if links > MAX_LINKS {
                    return Err(io::Error::other("too many symbolic links"));
                }
                for step in steps(&target).rev() {
                    rest.push_front(step);
                }
            }
            // Not a symbolic link, or does not exist yet.
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
    use crate::core::messages::file_scope::AllowedPath;

    /// A temporary folder, removed on drop.
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

        fn scope(&self) -> FileScope {
            FileScope { roots: vec![self.0.join("project")], ..FileScope::default() }
        }

        fn check(&self, path: &str) -> Result<PathBuf, PathError> {
            check(&self.scope(), &self.0.join(path))
        }

        fn assert_outside(&self, path: &str, real: &str) {
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
    fn a_path_inside_a_root_resolves_to_its_real_path() {
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
        assert_eq!(check(&scratch.scope(), &relative), Err(PathError::Relative(relative)));
        scratch.assert_outside("elsewhere/secret", "elsewhere/secret");
        scratch.assert_outside("project/../elsewhere/secret", "elsewhere/secret");
        scratch.assert_outside("project/new/../../elsewhere/new", "elsewhere/new");
        scratch.assert_outside("project-2/a.rs", "project-2/a.rs");
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
        scratch.assert_outside("project/out/secret", "elsewhere/secret");
        scratch.assert_outside("project/out/new", "elsewhere/new");
        scratch.assert_outside("project/dangling", "elsewhere/not-yet");
        scratch.assert_outside("project/src/relative", "elsewhere/later");
        scratch.assert_outside("project/in/../../elsewhere/secret", "elsewhere/secret");
        assert_eq!(scratch.check("project/in/a.rs"), Ok(scratch.0.join("project/src/a.rs")));
        assert_eq!(scratch.check("project/in/new"), Ok(scratch.0.join("project/src/new")));
        // A root that is a symbolic link stands for the folder it points to.
        let scope = FileScope { roots: vec![scratch.0.join("project/in")], ..FileScope::default() };
        assert!(check(&scope, &scratch.0.join("project/src/a.rs")).is_ok());
    }

    #[test]
    fn a_loop_of_links_is_an_error() {
        let scratch = Scratch::new("loop");
        symlink(scratch.0.join("project/b"), scratch.0.join("project/a")).unwrap();
        symlink(scratch.0.join("project/a"), scratch.0.join("project/b")).unwrap();
        let refused = scratch.check("project/a/x");
        assert!(matches!(refused, Err(PathError::Unreachable { .. })), "{refused:?}");
    }

    #[test]
    fn case_matters_where_the_file_system_is_case_sensitive() {
        let scratch = Scratch::new("case");
        let same = scratch.0.join("PROJECT").exists();
        assert_eq!(scratch.check("PROJECT/src/a.rs").is_ok(), same);
    }

    /// Holds (Reading files): Consent is for a real path: a link that later takes its place is not covered.
    #[test]
    fn an_allowed_path_stands_for_a_real_path() {
        let scratch = Scratch::new("allow");
        let at = |name: &str| scratch.0.join(name);
        fs::write(at("elsewhere/other"), "").unwrap();
        let mut scope = scratch.scope();
        scope.allowed.push(AllowedPath::File(at("elsewhere/secret")));
        assert!(check(&scope, &at("elsewhere/secret")).is_ok());
        assert!(check(&scope, &at("elsewhere/other")).is_err());
        assert!(check(&scope, &at("elsewhere/secret/below")).is_err());
        scope.allowed.push(AllowedPath::Folder(at("elsewhere")));
        assert!(check(&scope, &at("elsewhere/other")).is_ok());
        // A symbolic link that replaces an allowed folder leads to files that were not allowed.
        fs::create_dir(at("private")).unwrap();
        fs::write(at("private/secret"), "").unwrap();
        fs::remove_dir_all(at("elsewhere")).unwrap();
        symlink(at("private"), at("elsewhere")).unwrap();
        assert!(check(&scope, &at("elsewhere/secret")).is_err());
        let nothing = FileScope::default();
        let outside = PathError::Outside { path: scratch.0.clone(), real: scratch.0.clone() };
        assert_eq!(check(&nothing, &scratch.0), Err(outside));
    }

    /// Holds (Hostile agents): A folder of a session that is a loop of links refuses only what is below itself.
    #[test]
    fn a_root_that_cannot_be_resolved_contains_nothing() {
        let scratch = Scratch::new("broken");
        let (at, own) = (|name: &str| scratch.0.join(name), scratch.0.join("loop"));
        symlink(&own, &own).unwrap();
        let mut scope = scratch.scope();
        scope.roots.insert(0, own);
        assert!(check(&scope, &at("project/src/a.rs")).is_ok());
        let (path, real) = (at("elsewhere/secret"), at("elsewhere/secret"));
        assert_eq!(check(&scope, &path), Err(PathError::Outside { path: path.clone(), real }));
        let below = check(&scope, &at("loop/a"));
        assert!(matches!(below, Err(PathError::Unreachable { .. })), "{below:?}");
    }

    /// Holds (Hostile agents): A folder of a session that is exchanged for a link gives no access to where the link leads.
    #[test]
    fn a_root_that_leads_elsewhere_than_at_the_start_contains_nothing() {
        let scratch = Scratch::new("exchanged");
        let (project, elsewhere) = (scratch.0.join("project"), scratch.0.join("elsewhere"));
        let mut scope = scratch.scope();
        scope.real_roots = scope.roots.clone();
        assert!(check(&scope, &project.join("src/a.rs")).is_ok());
        fs::rename(&project, scratch.0.join("moved")).unwrap();
        symlink(&elsewhere, &project).unwrap();
        let (path, real) = (project.join("secret"), elsewhere.join("secret"));
        assert_eq!(check(&scope, &path), Err(PathError::Outside { path: path.clone(), real }));
        // One that was a link from the start stands for the folder it has led to.
        scope.real_roots = vec![elsewhere];
        assert!(check(&scope, &path).is_ok());
    }

    /// Holds (Reading files): Folders that hold more than the user means are never offered: a home, the root of a disk, a parent of the project.
    #[test]
    fn a_folder_that_covers_more_than_is_meant_is_not_offered() {
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
