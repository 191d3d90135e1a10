//! `build.lua`, the plugin managers' build step: what it takes, what it refuses, and what it says.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use support::{TempFolder, repository};

/// Of the binary in [`release`].
const SHA256: &str = "a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf";

#[test]
fn without_cargo_it_says_what_to_install() {
    let folder = TempFolder::new();
    let output = build(&folder);
    assert!(!output.status.success());
    assert!(
        stderr(&output).contains("cargo is not on PATH: install Rust 1.88"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_old_compiler_is_named() {
    let folder = TempFolder::new();
    script(&folder, "cargo", "exit 1");
    script(&folder, "rustc", "echo 'rustc 1.70.0 (abc)'");
    let output = build(&folder);
    assert!(!output.status.success());
    assert!(
        stderr(&output).contains("Rust 1.70.0 is too old: install Rust 1.88"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn cargo_builds_where_there_is_no_release() {
    let folder = TempFolder::new();
    script(&folder, "rustc", "echo 'rustc 1.88.0 (abc)'");
    script(&folder, "cargo", r#"echo "in $PWD: $*" >&2"#);
    let output = build(&folder);
    assert!(output.status.success(), "{}", stderr(&output));

    script(&folder, "cargo", "echo 'error: no space left' >&2; exit 101");
    let output = build(&folder);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("error: no space left"), "{}", stderr(&output));
}

#[test]
fn a_released_binary_is_taken_with_its_checksum_only() {
    let folder = TempFolder::new();
    release(&folder, SHA256);
    let output = build(&folder);
    let binary = folder.path().join("target/release/rat-nvim");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(binary.metadata().unwrap().permissions().mode() & 0o777, 0o755);

    let folder = TempFolder::new();
    release(&folder, &SHA256.replace('a', "b"));
    let output = build(&folder);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("wrong checksum"), "{}", stderr(&output));
    assert!(!folder.path().join("target/release/rat-nvim").exists());
}

/// Runs a copy of the build step in `folder` with nothing on PATH but the programs in its `bin`.
fn build(folder: &TempFolder) -> Output {
    folder.file("build.lua", std::fs::read(repository().join("build.lua")).unwrap());
    let nvim = std::env::var("NVIM_BIN").unwrap_or_else(|_| "nvim".to_owned());
    let mut command = Command::new(nvim);
    command.args(["--clean", "-l"]).arg(folder.path().join("build.lua"));
    command.env("PATH", folder.folder("bin")).env("HOME", folder.folder("home")).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A program on the PATH of [`build`].
fn script(folder: &TempFolder, name: &str, line: &str) {
    let path = folder.file(&format!("bin/{name}"), format!("#!/bin/sh\n{line}\n"));
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// A release that has the same small script for every machine, a `curl` that gets it, and a program for checksums.
fn release(folder: &TempFolder, sha256: &str) {
    script(folder, "curl", r#"exec /bin/cp "${4#file://}" "$3""#);
    let path = std::env::var("PATH").unwrap();
    script(folder, "sha256sum", &format!(r#"PATH="{path}"; sha256sum "$1" || shasum -a 256 "$1""#));
    let binary = folder.file("binary", "#!/bin/sh\n");
    let asset = format!(r#"{{"url": "file://{}", "sha256": "{sha256}"}}"#, binary.display());
    let machines = ["linux-x86_64", "linux-aarch64", "darwin-x86_64", "darwin-arm64"];
    let assets = machines.map(|machine| format!(r#""{machine}": {asset}"#)).join(",");
    folder.file(".release.json", format!(r#"{{"assets": {{{assets}}}}}"#));
}
