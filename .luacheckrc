-- What luacheck has to know of Neovim's Lua.
std = "luajit"
read_globals = { "vim" }
globals = { "vim.bo", "vim.wo", "vim.g", "vim.o" }
max_line_length = 100
max_code_line_length = 100
max_comment_line_length = 120
