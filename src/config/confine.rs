//! Resolves the option `confine` of an agent: what it may do where it is confined. What cannot be understood or enforced is a
//! problem, so that the agent is not started.

use super::presets::{Confined, HomePath, OwnSandbox};
use crate::process::confine::Kernel;
use crate::session::confinement::{Confinement, StatePath};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders that `hide = true` hides.
const SECRETS: [&str; 3] = [".ssh", ".aws", ".gnupg"];

/// What the user asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Asked {
    /// `None` if nothing is listed.
    write: Option<Vec<String>>,
    hide: Hide,
    ports: Option<Vec<u16>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Hide {
    #[default]
    Nothing,
    Secrets,
    Listed(Vec<String>),
}

/// What a confinement depends on besides the option.
pub(super) struct Circumstances<'a> {
    /// Names an option of the agent.
    pub(super) setting: &'a dyn Fn(&str) -> String,
    /// Looks up the agent's environment.
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
    /// The folders of its sessions; the first is the working folder.
    pub(super) roots: Vec<PathBuf>,
    /// What is known about the agent.
    pub(super) known: Option<&'a Confined>,
    /// Whether it is a program that uses our files.
    pub(super) is_here: bool,
    /// What can be enforced.
    pub(super) kernel: &'a dyn Fn() -> Kernel,
}

/// Returns what the agent may do; `None` if it is not confined. It reads disks. The error is one line for the user.
pub(super) fn confinement(
    option: Option<&Value>,
    circumstances: &Circumstances<'_>,
) -> Result<Option<Confinement>, String> {
    let Some(option) = option else { return Ok(None) };
    let Circumstances { setting, roots, known, .. } = circumstances;
    let asked = asked(option).map_err(|wrong| {
        let dot = if wrong.key.is_empty() { "" } else { "." };
        format!("{} is {}", setting(&format!("confine{dot}{}", wrong.key)), wrong.what)
    })?;
    let Some(asked) = asked else { return Ok(None) };
    let refused = |why: &str| Err(format!("{} is set, but {why}", setting("confine")));
    if !circumstances.is_here {
        return refused("it cannot hold for an agent that runs elsewhere");
    }
    if let Err(why) = (circumstances.kernel)().check(asked.ports.is_some()) {
        return refused(why);
    }
    if known.is_none() && asked.write.is_none() {
        let write = setting("confine.write");
        return refused(&format!(
            "it is not known where the agent keeps its state; list that in {write}"
        ));
    }
    let sandbox = known.and_then(|known| known.own_sandbox.as_ref());
    if let Some(file) = sandbox.and_then(|sandbox| circumstances.file_that_switches_on(sandbox)) {
        let file = file.display();
        return refused(&format!(
            "{file} switches on the agent's own sandbox, which fails inside of it; keep one of them"
        ));
    }
    let temporary = (circumstances.variable)("TMPDIR").filter(|path| path.starts_with('/'));
    let temporary = temporary.into_iter().chain(["/tmp".to_owned()]).map(PathBuf::from);
    let mut confinement = Confinement {
        roots: roots.clone(),
        state: circumstances.state()?,
        write: temporary.collect(),
        hide: Vec::new(),
        ports: asked.ports,
    };
    for path in asked.write.unwrap_or_default() {
        confinement.write.push(circumstances.existing("confine.write", &path)?);
    }
    if confinement.writable().any(|path| path.parent().is_none()) {
        return refused("/ is one of the folders that the agent could write");
    }
    match asked.hide {
        Hide::Nothing => {}
        Hide::Secrets => {
            let all = SECRETS.map(|name| circumstances.at_home(name));
            confinement.hide = all.into_iter().collect::<Result<_, _>>()?;
        }
        Hide::Listed(paths) => {
            for path in paths {
                confinement.hide.push(circumstances.existing("confine.hide", &path)?);
            }
        }
    }
    if let Some(path) = confinement.hide.iter().find(|path| confinement.covers(path)) {
        let path = path.display();
        return Err(format!(
            "{}: {path} is in a folder that the agent may write",
            setting("confine.hide")
        ));
    }
    Ok(Some(confinement))
}

impl Circumstances<'_> {
    fn state(&self) -> Result<Vec<StatePath>, String> {
        let Some(known) = self.known else { return Ok(Vec::new()) };
        let mut all: Vec<StatePath> = Vec::new();
        for folder in known.folders {
            all.push(StatePath { path: self.home_path(folder)?, content: None });
        }
        for (file, content) in known.files {
            let path = self.home_path(file)?;
            if !all.iter().any(|folder| path.starts_with(&folder.path)) {
                all.push(StatePath { path, content: Some(content) });
            }
        }
        Ok(all)
    }

    fn home_path(&self, path: &HomePath) -> Result<PathBuf, String> {
        let other = path.variable.and_then(|(name, below)| {
            let folder = (self.variable)(name).filter(|folder| folder.starts_with('/'))?;
            Some(Path::new(&folder).join(below))
        });
        other.map_or_else(|| self.at_home(path.path), Ok)
    }

    fn at_home(&self, path: &str) -> Result<PathBuf, String> {
        let home = (self.variable)("HOME").filter(|home| home.starts_with('/'));
        let home = home.ok_or_else(|| {
            format!("{} is set, but the variable HOME is not", (self.setting)("confine"))
        })?;
        Ok(Path::new(&home).join(path))
    }

    /// Returns a path that the user has listed.
    fn existing(&self, key: &str, given: &str) -> Result<PathBuf, String> {
        let path = match given.strip_prefix("~/") {
            Some(below) => self.at_home(below)?,
            None => PathBuf::from(given),
        };
        let problem = |what: &str| Err(format!("{}: {given} {what}", (self.setting)(key)));
        if !path.is_absolute() {
            return problem("is not an absolute path");
        }
        if !path.exists() {
            return problem("does not exist");
        }
        Ok(path)
    }

    /// Returns the settings file that switches on the agent's own sandbox.
    fn file_that_switches_on(&self, sandbox: &OwnSandbox) -> Option<PathBuf> {
        let folder = self.roots.first().cloned().unwrap_or_default();
        let project = sandbox.project.iter().map(|path| folder.join(path));
        let user = self.home_path(&sandbox.user).ok();
        let mut files = [PathBuf::from(sandbox.system)].into_iter().chain(project).chain(user);
        let switch = |path: &PathBuf| {
            let settings: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
            settings.pointer(sandbox.switch)?.as_bool()
        };
        let found = files.find_map(|path| switch(&path).map(|is_on| (path, is_on)));
        found.filter(|(_, is_on)| *is_on).map(|(path, _)| path)
    }
}

/// What is wrong with the option.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// The key in its table; empty for the option as a whole.
    pub(super) key: String,
    /// What it is and what it can be.
    pub(super) what: String,
}

/// Returns what is wrong with the form of the option, whatever can be enforced.
pub(super) fn wrong_form(option: &Value) -> Option<Wrong> {
    asked(option).err()
}

/// Parses the option. `None` means `false`.
fn asked(option: &Value) -> Result<Option<Asked>, Wrong> {
    let table = match option {
        Value::Bool(false) => return Ok(None),
        Value::String(word) if word == "write" => return Ok(Some(Asked::default())),
        Value::Object(table) => table,
        // An empty Lua table may arrive as a list.
        Value::Array(items) if items.is_empty() => return Ok(Some(Asked::default())),
        other => {
            let what =
                format!("{other}; it can be false, \"write\" or a table with write, hide and net");
            return Err(Wrong { key: String::new(), what });
        }
    };
    let mut asked = Asked::default();
    for (key, value) in table {
        let wrong = |what: String| Wrong { key: key.clone(), what };
        let expected = |what: &str| wrong(format!("{value}; it can be {what}"));
        match key.as_str() {
            "write" => {
                let paths =
                    list(value, Value::as_str).ok_or_else(|| expected("a list of paths"))?;
                asked.write = Some(paths.into_iter().map(str::to_owned).collect());
            }
            "hide" if value.is_boolean() => {
                asked.hide =
                    if *value == Value::Bool(true) { Hide::Secrets } else { Hide::Nothing };
            }
            "hide" => {
                let paths = list(value, Value::as_str);
                let paths = paths.ok_or_else(|| expected("true or a list of paths"))?;
                asked.hide = Hide::Listed(paths.into_iter().map(str::to_owned).collect());
            }
            "net" => {
                let port = |value: &Value| u16::try_from(value.as_u64()?).ok();
                asked.ports =
                    Some(list(value, port).ok_or_else(|| expected("a list of TCP ports"))?);
            }
            _ => return Err(wrong("not an option; there are write, hide and net".to_owned())),
        }
    }
    Ok(Some(asked))
}

/// Returns the items of a list. An empty Lua table may arrive as an object, too.
fn list<'a, T>(value: &'a Value, item: impl Fn(&'a Value) -> Option<T>) -> Option<Vec<T>> {
    match value {
        Value::Array(items) => items.iter().map(item).collect(),
        Value::Object(fields) if fields.is_empty() => Some(Vec::new()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
