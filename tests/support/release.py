"""Packs the binary as an archive with its checksum; `make release` calls it. The same files always give the same bytes.

    release.py BINARY TARGET FOLDER [TAG]
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "rat-nvim"
LICENCES = ("licen", "copying", "copyright", "notice", "unlicense")


def cargo(*arguments):
    """What cargo says."""
    command = [os.environ.get("CARGO", "cargo"), *arguments, "--locked"]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def linked(packages, target):
    """The packages that are linked with a binary for the target; those that only build or test it are not."""
    tree = cargo("tree", "--target", target, "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}")
    names = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    found = [it for it in packages if (it["name"], f"v{it['version']}") in names and it["name"] != PACKAGE]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def licences(packages):
    """What is linked, and the licences of all of it, each text once."""
    titles, sharing = [], {}
    for package in packages:
        name = f"{package['name']} {package['version']}"
        titles.append(f"{name}: {package['license']}, {package['repository'] or package['homepage']}")
        for path in sorted(pathlib.Path(package["manifest_path"]).parent.iterdir()):
            if path.is_file() and path.name.lower().startswith(LICENCES):
                text = "\n".join(line.rstrip() for line in path.read_text(errors="replace").splitlines())
                sharing.setdefault(text.strip("\n"), []).append(name)
    rule = "=" * 78
    parts = ["The program is linked with these packages, whose sources are at the addresses named here."]
    parts.append("\n".join(titles))
    for text, names in sharing.items():
        parts.append(f"{rule}\n" + "\n".join(textwrap.wrap(", ".join(names), 78)) + f"\n{rule}\n\n{text}")
    return "\n\n".join(parts) + "\n"


def moment():
    """When the sources were written, which is the time of all files in the archive."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    command = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def pack(folder, files, time):
    """The bytes of an archive in which these files lie in the folder."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as squeezed:
        with tarfile.open(fileobj=squeezed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, (content, mode) in sorted(files.items()):
                entry = tarfile.TarInfo(f"{folder}/{name}")
                entry.size, entry.mode, entry.mtime = len(content), mode, time
                archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def main(binary, target, out, tag=None):
    known = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", target))
    packages = known["packages"]
    version = next(package["version"] for package in packages if package["name"] == PACKAGE)
    if tag not in (None, f"v{version}"):
        sys.exit(f"the tag is {tag}, but Cargo.toml says version {version}")
    name = f"{PACKAGE}-{version}-{target}"
    files = {
        PACKAGE: (pathlib.Path(binary).read_bytes(), 0o755),
        "LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
        "LICENSES.txt": (licences(linked(packages, target)).encode(), 0o644),
    }
    content = pack(name, files, moment())
    checksum = hashlib.sha256(content).hexdigest()
    archive = pathlib.Path(out) / f"{name}.tar.gz"
    archive.parent.mkdir(parents=True, exist_ok=True)
    archive.write_bytes(content)
    archive.with_name(archive.name + ".sha256").write_text(f"{checksum}  {archive.name}\n")
    print(f"{archive}: {len(content)} bytes, sha256 {checksum}")


if __name__ == "__main__":
    main(*sys.argv[1:])
