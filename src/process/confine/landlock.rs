//! Restricts this process with Landlock. It asks the kernel for everything or fails.

use super::hidden;
use super::kernel::Kernel;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The version from which on files outside can be neither emptied nor moved.
const FILES: ABI = ABI::V3;

/// The version from which on TCP ports can be limited.
const PORTS: ABI = ABI::V4;

/// The version from which on signals and abstract sockets can be kept inside (Linux 6.12). Without it they are not.
const SCOPES: ABI = ABI::V6;

/// Asks the kernel what it can enforce.
pub(super) fn kernel() -> Kernel {
    let can = |abi: ABI| {
        let rules = strict().handle_access(AccessFs::from_all(abi));
        let rules = match AccessNet::from_all(abi) {
            ports if ports.is_empty() => rules,
            ports => rules.and_then(|rules| rules.handle_access(ports)),
        };
        rules.and_then(Ruleset::create).is_ok()
    };
    let known = [(PORTS, Kernel::FilesAndPorts), (FILES, Kernel::Files), (ABI::V1, Kernel::TooOld)];
    known.into_iter().find(|(abi, _)| can(*abi)).map_or(Kernel::Without, |(_, kernel)| kernel)
}

/// Restricts this process and everything it starts to these paths and ports; `None` allows all ports. Returns the program
/// to become. This process must have no other threads. The error is one line for the user.
pub(super) fn restrict(
    write: &[PathBuf],
    hide: &[PathBuf],
    ports: Option<&[u16]>,
    command: Vec<OsString>,
) -> Result<Vec<OsString>, String> {
    let read = hidden::readable(hide, write)?;
    let status = enforce(write, read.as_deref(), ports);
    match status.map_err(|error| format!("Landlock: {error}"))? {
        RestrictionStatus { ruleset: RulesetStatus::FullyEnforced, no_new_privs: true, .. } => {
            Ok(command)
        }
        other => Err(format!("Landlock is only partly enforced ({:?})", other.ruleset)),
    }
}

fn enforce(
    write: &[PathBuf],
    read: Option<&[PathBuf]>,
    ports: Option<&[u16]>,
) -> Result<RestrictionStatus, RulesetError> {
    let writing = AccessFs::from_write(FILES);
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let mut ruleset = strict().handle_access(writing)?;
    if read.is_some() {
        ruleset = ruleset.handle_access(reading)?;
    }
    if ports.is_some() {
        ruleset = ruleset.handle_access(AccessNet::from_all(PORTS))?;
    }
    if has_scopes() {
        ruleset = ruleset.scope(Scope::from_all(SCOPES))?;
    }
    let mut created = ruleset.create()?;
    for path in write {
        created = allow(created, path, writing)?;
    }
    if let Some(read) = read {
        // Names can be read everywhere: a hidden folder and its parents have no rule but this one.
        created = allow(created, Path::new("/"), AccessFs::ReadDir.into())?;
        for path in read {
            created = allow(created, path, reading)?;
        }
    }
    for port in ports.into_iter().flatten() {
        created = created.add_rule(NetPort::new(*port, AccessNet::from_all(PORTS)))?;
    }
    created.restrict_self()
}

/// Whether the kernel can keep signals and abstract sockets inside.
fn has_scopes() -> bool {
    strict().scope(Scope::from_all(SCOPES)).and_then(Ruleset::create).is_ok()
}

fn strict() -> Ruleset {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement)
}

/// Adds a rule for a path and everything below it. One that cannot be opened gets none, so it stays forbidden.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(file) = PathFd::new(path) else { return Ok(ruleset) };
    let of_files = AccessFs::from_file(FILES);
    let access = if path.is_dir() { access } else { access & of_files };
    ruleset.add_rule(PathBeneath::new(file, access))
}
