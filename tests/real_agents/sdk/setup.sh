#!/usr/bin/env bash
# setup.sh DIR: installs below DIR/sdk what the agents on SDKs need: the crate's own is built, the packages of Python and
# JavaScript come from their registries. A second call finds what the first has made. What cannot be installed is named.
set -u
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?usage: setup.sh DIR}/sdk"
into=$(cd "$1/sdk" && pwd)

# The folder's own copy of these files says what has been installed there.
is_installed() { [ -e "$into/$1/ready" ] && cmp -s "$here/$1/$2" "$into/$1/$2"; }

crate_0_1_1() {
  CARGO_TARGET_DIR=$into/crate_0_1_1 cargo build --quiet --locked --manifest-path "$here/crate_0_1_1/Cargo.toml"
}

python() {
  is_installed python requirements.txt && return
  python3 -m venv "$into/python/venv" &&
    "$into/python/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$here/python/requirements.txt" &&
    "$into/python/venv/bin/python" -c 'import acp' && cp "$here/python/requirements.txt" "$into/python"
}

typescript() {
  is_installed typescript package-lock.json && return
  cp "$here/typescript/package.json" "$here/typescript/package-lock.json" "$into/typescript" &&
    npm ci --silent --no-fund --no-audit --ignore-scripts --prefix "$into/typescript" &&
    NODE_PATH=$into/typescript/node_modules node -e 'require("@agentclientprotocol/sdk")'
}

for sdk in crate_0_1_1 python typescript; do
  mkdir -p "$into/$sdk"
  if "$sdk" >"$into/$sdk/setup.log" 2>&1; then
    touch "$into/$sdk/ready"
  else
    rm -f "$into/$sdk/ready"
    printf 'left out: the tests with an agent on the SDK %s, which could not be installed: %s\n' "$sdk" \
      "$(tail -n 1 "$into/$sdk/setup.log")"
  fi
done
