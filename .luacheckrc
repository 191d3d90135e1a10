-- Lua as Neovim runs it: LuaJIT, and one global.
std = "luajit"
read_globals = { "vim" }
-- These tables of Neovim are there to be written to.
globals = { "vim.bo", "vim.wo", "vim.b", "vim.w", "vim.g", "vim.o", "vim.opt", "vim.opt_local", "vim.env", "vim.v", "vim.ui" }
max_line_length = 100
-- Sentences in comments are easier to read a little wider.
max_comment_line_length = 120
codes = true
-- A callback names the arguments it is given, also those it does not use.
unused_args = false
exclude_files = { "target" }
