-- What luacheck has to know of Neovim's Lua; the width of lines is stylua's.
std = "luajit"
globals = { "vim" }
max_line_length = false
