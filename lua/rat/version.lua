--- Returns the version of the plugin, read from Cargo.toml, the only file that states it. The binary must have the same one.
local this = debug.getinfo(1, "S").source:sub(2)
local path = vim.fn.fnamemodify(this, ":p:h:h:h") .. "/Cargo.toml"

local file = io.open(path)
local text = file and file:read("*a") or ""
if file then
  file:close()
end
return text:match('\nversion = "([^"]+)"') or error(path .. " names no version", 0)
