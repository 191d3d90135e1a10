//! Runs every Lua spec of `tests/lua` in Neovim (`$NVIM_BIN`, else `nvim`) and fails when one of them does. Knows
//! nothing of what they check.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

fn specs(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(root.join("tests/lua"))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "lua"))
        .collect();
    found.sort();
    found
}

fn run(root: &Path, spec: &Path) -> Result<(), String> {
    let nvim = std::env::var("NVIM_BIN").unwrap_or_else(|_| "nvim".to_owned());
    let output = Command::new(&nvim)
        .args(["--clean", "-n", "-l"])
        .arg(spec)
        .env("RAT_NVIM", env!("CARGO_BIN_EXE_rat-nvim"))
        .current_dir(root)
        .output()
        .map_err(|error| format!("{nvim} does not start: {error}; set NVIM_BIN"))?;
    // A spec that forgets to say how it went has not passed.
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && said.ends_with(" cases, 0 failed\n") {
        return Ok(());
    }
    Err(format!(
        "{}: {}\n{}{}",
        spec.display(),
        output.status,
        said,
        String::from_utf8_lossy(&output.stderr)
    ))
}

#[test]
fn every_lua_spec_passes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let specs = specs(root);
    assert!(!specs.is_empty(), "there are no specs");
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                while let Some(spec) = specs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    failures.lock().extend(run(root, spec).err());
                }
            });
        }
    });
    let failures = failures.into_inner();
    assert!(
        failures.is_empty(),
        "{} of {} specs:\n{}",
        failures.len(),
        specs.len(),
        failures.join("\n")
    );
}
