#!/bin/sh
# Opens Neovim with the plugin alone on a copy of the sample project and starts the tour. `make demo` calls it.
#   demo.sh NVIM BINARY
set -eu
repository=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d "${TMPDIR:-/tmp}/rat-demo.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cp -R "$repository/tests/sample" "$folder/sample"
cd "$folder/sample"
export XDG_CACHE_HOME="$folder/cache" XDG_CONFIG_HOME="$folder/config" XDG_DATA_HOME="$folder/data"
export XDG_RUNTIME_DIR="$folder/run" XDG_STATE_HOME="$folder/state"
mkdir -m 700 "$XDG_RUNTIME_DIR"
RAT_DEMO_BINARY=$2 "$1" --clean -u "$repository/tests/support/demo.lua" duration.py
