//! The licences of everything that is linked into the binary.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Licences that ask for no more than their text. Any of those a crate offers will do.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates under a licence that asks for more, which the README says.
const KNOWN: &[(&str, &str)] = &[("nvim-rs", "LGPL-3.0")];

/// The crates of the dependency tree on this platform (only those have been fetched) whose licence is not allowed.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let rustc = output(Command::new("rustc").arg("-vV"));
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let arguments =
        ["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform", host];
    let metadata = output(Command::new(cargo).args(arguments).current_dir(root));
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(
        packages.iter().any(|package| package["name"] == "nvim-rs"),
        "this is not our dependency tree"
    );
    let field = |package: &Value, name: &str| package[name].as_str().unwrap_or_default().to_owned();
    let crates = packages.iter().map(|package| (field(package, "name"), field(package, "license")));
    let unknown = crates.filter(|(name, licence)| !allowed(name, licence));
    unknown
        .map(|(name, licence)| format!("{name}: licence {licence:?} is not in the list"))
        .collect()
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a crate may be linked under its SPDX expression: `A AND B` needs both, `A OR B` (also written `A/B`) one.
pub(crate) fn allowed(name: &str, licence: &str) -> bool {
    if KNOWN.contains(&(name, licence)) {
        return true;
    }
    let one_will_do = |part: &str| {
        part.split(" OR ").any(|choice| ALLOWED.contains(&choice.trim_matches(['(', ')', ' '])))
    };
    licence.replace('/', " OR ").split(" AND ").all(one_will_do)
}
