#!/bin/sh
# Checks the types of the Lua code by emmylua_check and the annotations of Neovim 0.11, which differ from those of other
# versions; says where it is left out.
set -eu
cd "$(dirname "$0")/../.."
PATH="$PWD/target/tools/bin:$PATH"

if ! command -v emmylua_check >/dev/null; then
  echo "left out: the types of the Lua code, emmylua_check is missing: cargo install emmylua_check --version 0.25.1 --locked"
  exit 0
fi
nvim=$(tests/support/nvim.sh)
if ! "$nvim" --version | grep -q '^NVIM v0\.11\.'; then
  echo "left out: the types of the Lua code, $nvim is not Neovim 0.11, whose annotations they are checked with (set NVIM_BIN)"
  exit 0
fi
VIMRUNTIME=$(env -u VIMRUNTIME "$nvim" --clean --headless --cmd 'lua io.stdout:write(vim.env.VIMRUNTIME)' --cmd 'quit')
export VIMRUNTIME
emmylua_check . --warnings-as-errors
