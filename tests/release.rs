//! A release: what `make release` packs, and how `build.lua` takes it, from a folder and from a URL.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::{Place, files};
use crate::support::repository;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What stands in for the binary: it runs, and says the version.
fn program() -> String {
    format!("#!/bin/sh\necho 'rat-nvim {VERSION} (release)'\n")
}

/// The machine this runs on, as releases call it.
fn target() -> String {
    let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-gnu" };
    format!("{}-{system}", std::env::consts::ARCH)
}

fn name() -> String {
    format!("rat-nvim-{VERSION}-{}", target())
}

/// A place with the programs that a release needs, and without cargo.
fn place() -> Place {
    let mut place = Place::new();
    for program in ["tar", "git"] {
        place.real(program);
    }
    let path = std::env::var("PATH").unwrap();
    place.script("sha256sum", &format!("PATH='{path}'; sha256sum \"$1\" || shasum -a 256 \"$1\""));
    place.set("RAT_RELEASE", released(&place));
    place
}

/// The folder of the releases.
fn released(place: &Place) -> PathBuf {
    place.folder().folder("released here")
}

fn archive(place: &Place) -> PathBuf {
    released(place).join(format!("{}.tar.gz", name()))
}

/// Packs what lies in the folder `packed` of the place.
fn tar(place: &Place, members: &[&str]) {
    let mut command = Command::new("tar");
    command.arg("-czPf").arg(archive(place)).arg("-C").arg(place.folder().folder("packed"));
    assert!(command.args(members).status().unwrap().success());
    seal(place);
}

/// Writes the checksum of the archive as it is.
fn seal(place: &Place) {
    let path = archive(place);
    let mut command = Command::new("python3");
    let code =
        "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())";
    let output = command.args(["-c", code]).arg(&path).output().unwrap();
    let sum = String::from_utf8(output.stdout).unwrap();
    let text = format!("{}  {}.tar.gz\n", sum.trim(), name());
    std::fs::write(path.with_extension("gz.sha256"), text).unwrap();
}

/// A program in the folder that is packed.
fn packed(place: &Place, name: &str, text: &str) {
    let path = place.folder().file(&format!("packed/{name}"), text);
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

/// A release as it should be.
fn release(place: &Place) {
    packed(place, &format!("{}/rat-nvim", name()), &program());
    tar(place, &[&name()]);
}

/// A `curl` that gets what lies in the folder of releases from below `https://example.org/new`, and notes what it was
/// asked for.
fn curl(place: &mut Place) {
    let log = place.folder().path().join("asked of curl");
    place.script(
        "curl",
        &format!(
            "while [ $# -gt 1 ]; do [ \"$1\" = --output ] && out=$2; shift; done\n\
             echo \"$1\" >>'{}'\n\
             /bin/cp '{}'/\"${{1##*/}}\" \"$out\" 2>/dev/null && exit\n\
             echo 'curl: (22) The requested URL returned error: 404' >&2; exit 22",
            log.display(),
            released(place).display()
        ),
    );
    place.set("RAT_RELEASE", "https://example.org/new");
}

fn asked_of_curl(place: &Place) -> Vec<String> {
    let log = std::fs::read_to_string(place.folder().path().join("asked of curl"));
    log.unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Holds (Installation): A release is installed from a folder or a URL, while a plugin manager goes on.
#[test]
fn a_release_in_a_folder_is_installed() {
    let place = place();
    release(&place);
    place.installed();
    assert_eq!(std::fs::read_to_string(place.binary()).unwrap(), program());
    let says = Command::new(place.binary()).output().unwrap();
    assert!(String::from_utf8_lossy(&says.stdout).ends_with("(release)\n"));
}

/// Holds (Installation): A release is installed from a folder or a URL, while a plugin manager goes on.
#[test]
fn a_release_at_an_address_is_installed() {
    let mut place = place();
    release(&place);
    curl(&mut place);
    place.installed();
    assert_eq!(std::fs::read_to_string(place.binary()).unwrap(), program());
    let address = format!("https://example.org/new/{}.tar.gz", name());
    assert_eq!(asked_of_curl(&place), [format!("{address}.sha256"), address]);
}

/// Holds (Installation): A release is installed from a folder or a URL, while a plugin manager goes on.
#[test]
fn a_plugin_manager_goes_on_meanwhile() {
    let mut place = place();
    release(&place);
    curl(&mut place);
    place.by_manager();
    let said = place.installed();
    let name = name();
    for step in ["downloading", "checking", "unpacking", "trying"] {
        assert!(said.contains(&format!("{step} {name}")), "{said}");
    }
    std::fs::write(archive(&place), "another archive").unwrap();
    place.refused("has a wrong checksum");
}

/// Holds (Installation): Packing the same files gives the same archive, and that is what is installed.
#[test]
fn what_make_release_packs_is_what_is_installed() {
    let place = place();
    packed(&place, "rat-nvim", &program());
    let binary = place.folder().path().join("packed/rat-nvim");
    let pack = |folder: &Path, tag: &str| {
        let mut command = Command::new("python3");
        command.arg(repository().join("tests/support/release.py"));
        command.arg(&binary).arg(target()).arg(folder).arg(tag);
        command.env("SOURCE_DATE_EPOCH", "1000000000").output().unwrap()
    };
    let tag = format!("v{VERSION}");
    let first = pack(&released(&place), &tag);
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    place.installed();
    assert_eq!(std::fs::read_to_string(place.binary()).unwrap(), program());

    let again = place.folder().folder("again");
    assert!(pack(&again, &tag).status.success());
    for path in files(&released(&place)) {
        let name = path.file_name().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(again.join(name)).unwrap());
    }
    let listed = Command::new("tar").arg("-tzf").arg(archive(&place)).output().unwrap();
    let names = ["LICENSE", "LICENSES.txt", "rat-nvim"].map(|file| format!("{}/{file}\n", name()));
    assert_eq!(String::from_utf8_lossy(&listed.stdout), names.concat());
    let licences = format!("{}/LICENSES.txt", name());
    let text =
        Command::new("tar").arg("-xzOf").arg(archive(&place)).arg(licences).output().unwrap();
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("nvim-rs ") && text.contains("GNU LESSER GENERAL PUBLIC LICENSE"));
    assert!(!text.contains("proptest"), "what only tests use is listed");

    let other = pack(&again, "v999.0.0");
    assert!(!other.status.success());
    assert!(String::from_utf8_lossy(&other.stderr).contains("the tag is v999.0.0"));
}

/// Holds (Installation): A wrong checksum, a truncated archive or a link in place of the binary is refused, and the old binary stays.
#[test]
fn a_wrong_checksum_is_refused() {
    let place = place();
    place.with_cargo();
    release(&place);
    let sum = archive(&place).with_extension("gz.sha256");
    let right = std::fs::read_to_string(&sum).unwrap();
    for wrong in
        [right.replace(|it: char| it.is_ascii_digit(), "a"), String::new(), "  \n".to_owned()]
    {
        std::fs::write(&sum, wrong).unwrap();
        place.refused(&format!("{}.tar.gz has a wrong checksum: nothing was unpacked", name()));
    }
    std::fs::write(&sum, right.to_uppercase()).unwrap();
    place.installed();
}

/// Holds (Installation): A wrong checksum, a truncated archive or a link in place of the binary is refused, and the old binary stays.
#[test]
fn a_truncated_archive_is_refused_and_what_was_there_stays() {
    let place = place();
    release(&place);
    place.installed();
    let whole = std::fs::read(archive(&place)).unwrap();
    std::fs::write(archive(&place), &whole[..whole.len() / 2]).unwrap();
    place.refused("has a wrong checksum");
    seal(&place);
    place.refused("cannot be unpacked");
}

/// Holds (Installation): Nothing but the binary is unpacked.
#[test]
fn nothing_but_the_binary_is_unpacked() {
    let place = place();
    packed(&place, &format!("{}/rat-nvim", name()), &program());
    packed(&place, "evil", "#!/bin/sh\n");
    let absolute = place.folder().file("evil", "#!/bin/sh\n");
    tar(&place, &[&name(), "../packed/evil", absolute.to_str().unwrap()]);
    std::fs::remove_file(place.folder().path().join("packed/evil")).unwrap();
    std::fs::remove_file(absolute).unwrap();
    place.installed();
    let left = files(place.folder().path());
    assert!(!left.iter().any(|path| path.ends_with("evil")), "{left:#?}");
}

/// Holds (Installation): A wrong checksum, a truncated archive or a link in place of the binary is refused, and the old binary stays.
#[test]
fn a_binary_that_is_a_link_or_elsewhere_is_refused() {
    let place = place();
    let folder = place.folder().folder(&format!("packed/{}", name()));
    std::os::unix::fs::symlink("/bin/sh", folder.join("rat-nvim")).unwrap();
    tar(&place, &[&name()]);
    place.refused("cannot be unpacked");

    packed(&place, "other/rat-nvim", &program());
    tar(&place, &["other", &format!("../packed/{}/../other/rat-nvim", name())]);
    place.refused("cannot be unpacked");
}

/// Holds (Installation): Without a usable release cargo builds; without cargo both reasons are reported.
#[test]
fn where_a_release_is_missing_cargo_builds() {
    let mut place = place();
    place.with_cargo();
    assert!(place.built().contains(&format!("{}.tar.gz.sha256 is missing", name())));

    release(&place);
    std::fs::remove_file(archive(&place)).unwrap();
    assert!(place.built().contains(&format!("{}.tar.gz is missing", name())));

    curl(&mut place);
    assert!(place.built().contains("no release is used: curl: (22) The requested URL"));
    place.script("curl", "echo 'curl: (6) Could not resolve host: example.org' >&2; exit 6");
    assert!(place.built().contains("no release is used: curl: (6) Could not resolve host"));
    place.set("RAT_RELEASE", "http://example.org/new");
    assert!(place.built().contains("http://example.org/new is neither a folder nor an https URL"));
    place.set("RAT_RELEASE", "");
    assert!(place.built().contains("no release is used: RAT_RELEASE is empty"));
}

/// Holds (Installation): Without a usable release cargo builds; without cargo both reasons are reported.
#[test]
fn without_cargo_both_reasons_are_told() {
    let place = place();
    let missing = format!("{}.tar.gz.sha256 is missing), and cargo is not on PATH", name());
    place.refused(&missing);
}

/// Holds (Installation): Without a usable release cargo builds; without cargo both reasons are reported.
#[test]
fn a_binary_that_does_not_run_here_is_not_taken() {
    let place = place();
    place.with_cargo();
    for text in [
        "#!/bin/sh\necho 'GLIBC_2.39 not found' >&2\nexit 1\n".to_owned(),
        program().replace(VERSION, "0.0.9"),
        "no program at all".to_owned(),
    ] {
        packed(&place, &format!("{}/rat-nvim", name()), &text);
        tar(&place, &[&name()]);
        assert!(place.built().contains("does not run here"), "{text}");
        assert!(!place.binary().exists(), "{text}");
    }
}

/// Holds (Installation): The project's own release is used for exactly its sources only.
#[test]
fn the_projects_own_release_is_for_its_own_sources_only() {
    let mut place = place();
    place.with_cargo();
    release(&place);
    curl(&mut place);
    place.unset("RAT_RELEASE");
    assert!(place.built().contains("this is no clone of a release"));

    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"];
        let mut command = Command::new("git");
        command.args(who).args(arguments).current_dir(place.plugin());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let tag = format!("v{VERSION}");
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "--message", "before"]);
    assert!(place.built().contains(&format!("these sources are not those of {tag}")));
    git(&["tag", "--annotate", "--message", "a release", &tag]);
    place.forget_cargo();
    place.installed();
    let base = format!("{}/releases/download/{tag}", env!("CARGO_PKG_REPOSITORY"));
    assert_eq!(asked_of_curl(&place).last().unwrap(), &format!("{base}/{}.tar.gz", name()));

    git(&["commit", "--quiet", "--allow-empty", "--message", "after"]);
    place.built();
}
