--- Attachments: exactly what is selected, as the user sees it, under an address that names the file.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

---@return string text that <Plug>(rat-add) attached
local function selected(nvim, keys)
  nvim:lua("Added = nil; require('rat.attached').add = function(a) Added = a end")
  nvim:lua("vim.keymap.set('x', 'Z', '<Plug>(rat-add)')")
  nvim:input("<Esc>" .. keys .. "Z")
  nvim:poll("Added ~= nil")
  same(nvim:lua("return vim.api.nvim_get_mode().mode"), "n")
  return nvim:lua("return Added")
end

local function with_lines(...)
  local nvim = check.start()
  nvim:lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, ...)", { ... })
  return nvim
end

--- Keys that select, each compared with what a yank of the same selection takes.
local selections = {
  "gg0vl",
  "gg0vjj",
  "gg0wvjb",
  "2G$vgg0$",
  "2G0wvl$",
  "gg$v0",
  "2G0wvj$j$",
  "5G0lvl$",
  "3G0v",
  "gg0vGo",
  "2GVj",
  "GVgg",
  "gg0l<C-v>jjl",
  "gg0l<C-v>jj$",
  "gg03l<C-v>4j$",
  "2G$<C-v>khho",
  "3G0l<C-v>2j$o",
  "gg0<C-v>4j$",
  "gg0ve",
  "gg0vw",
}

case("a selection is exactly what a yank takes", function()
  for _, setting in ipairs({ "selection=inclusive", "selection=exclusive", "virtualedit=block" }) do
    local nvim = with_lines("één twee", "drie vîer zes", "\tab\tcd", "", "日本語 text")
    nvim:command("set " .. setting)
    for _, keys in ipairs(selections) do
      nvim:lua("vim.fn.setreg('\"', 'nothing yet')")
      nvim:input("<Esc>" .. keys .. "y")
      nvim:poll("vim.fn.getreg('\"') ~= 'nothing yet'")
      local yanked = nvim:lua("return vim.fn.getreg('\"')")
      local found = selected(nvim, keys).text
      if keys:find("<C-v>", 1, true) then
        -- A yank pads lines that end before the block with spaces that nobody selected.
        found, yanked = found:gsub(" +%f[\n%z]", ""), yanked:gsub(" +%f[\n%z]", "")
      end
      same(found, yanked, setting .. " " .. keys)
    end
  end
end)

case("the lines of a selection, backwards too", function()
  local nvim = with_lines("a", "b", "c")
  local found = selected(nvim, "3Gvk")
  same({ found.first, found.last }, { 2, 3 })
  found = selected(nvim, "2GVj")
  same({ found.text, found.first, found.last }, { "b\nc\n", 2, 3 })
end)

case("addresses are absolute, real and percent-encoded; labels relative", function()
  local nvim = check.start()
  vim.fn.mkdir(nvim.home .. "/real dir")
  vim.uv.fs_symlink(nvim.home .. "/real dir", nvim.home .. "/link")
  vim.fn.writefile({ "x" }, nvim.home .. "/real dir/[id] 100%.lua")
  nvim:lua("vim.cmd.edit(vim.fn.fnameescape(...))", nvim.home .. "/link/[id] 100%.lua")
  nvim:command("set filetype=lua")
  nvim:command("RatAdd")
  local found = nvim:lua("return require('rat.attached').take(nil)")[1]
  local real = vim.uv.fs_realpath(nvim.home .. "/real dir/[id] 100%.lua")
  same(vim.uri_to_fname(found.uri), real)
  check.contains(found.uri:lower(), "%5bid%5d%20100%25.lua")
  same(
    { found.label, found.mime, found.text, found.first },
    { "real dir/[id] 100%.lua", "text/x-lua", "x\n", nil }
  )
end)

case("a buffer without a name, a file without a final newline", function()
  local nvim = with_lines("x")
  nvim:command("1RatAdd")
  local found = nvim:lua("return require('rat.attached').take(nil)")[1]
  check.contains(found.uri, "untitled:")
  same({ found.text, found.mime }, { "x\n", "text/plain" })
  nvim:command("set noendofline nofixendofline | RatAdd")
  same(nvim:lua("return require('rat.attached').take(nil)")[1].text, "x")
end)

case("MIME types", function()
  local mime = require("rat.context").mime
  same(mime("rust"), "text/x-rust")
  same(mime("typescriptreact"), "text/typescript")
  same(mime(""), "text/plain")
  same(mime("a b"), "text/plain")
end)

case("files named in a prompt", function()
  local nvim = check.start()
  vim.fn.writefile({ "one" }, nvim.home .. "/a.txt")
  vim.fn.writefile({ "two" }, nvim.home .. "/b.")
  local function mentions(text)
    local list = require("rat.mention").paths(text, nvim.home)
    return vim.tbl_map(vim.fs.basename, list)
  end
  same(mentions("look at @a.txt, and (@b.) or @a.txt"), { "a.txt", "b." })
  same(mentions("@a.txt."), { "a.txt" })
  same(mentions("me@a.txt @gone.txt @"), {})
end)

case("paths of images as terminals paste them", function()
  local nvim = check.start()
  local image = nvim.home .. "/it's an image.png"
  vim.fn.writefile({ "" }, image)
  vim.fn.writefile({ "" }, nvim.home .. "/sound.ogg")
  vim.fn.writefile({ "" }, nvim.home .. "/text.txt")
  local function paths(text)
    return require("rat.mention").paths(text:gsub("HOME", nvim.home), "/")
  end
  same(paths("don't: \"HOME/it's an image.png\""), { image })
  same(paths("see HOME/it\\'s\\ an\\ image.png."), { image })
  same(paths(vim.uri_from_fname(image)), { image })
  same(paths("'HOME/sound.ogg' 'HOME/sound.ogg'"), { nvim.home .. "/sound.ogg" })
  same(paths("HOME/text.txt and HOME/gone.png and sound.ogg and file://%"), {})
end)

check.finish()
