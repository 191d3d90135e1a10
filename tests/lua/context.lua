--- Attachments: exactly what is selected, as the user sees it, under a URL that names the file.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

---@return string text that <Plug>(rat-add) attached
local function selected(nvim, keys)
  nvim:lua("Added = nil; require('rat.chat.attachment_list').add = function(a) Added = a end")
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

case("which part of its lines a selection is", function()
  local nvim = with_lines("één twee", "drie vîer zes", "\tab\tcd", "", "last")
  for keys, wanted in pairs({
    ["gg0vl"] = "columns 1-2",
    ["gg03lv"] = "column 4",
    ["2G04lve"] = "columns 5-9",
    ["2G05lvj0"] = "from column 6 to column 1",
    ["gg0wvj$"] = "from column 5",
    ["gg0vj0ll"] = "to column 3",
    ["gg0wv$"] = "from column 5",
    ["gg0v$h"] = "all",
    ["gg0v$"] = "all",
    ["gg0vj$"] = "all",
    ["5G0vg_"] = "all",
    ["4Gv"] = "all",
    ["2GVj"] = "all",
    ["gg0l<C-v>jl"] = "columns 2-3",
    ["gg0l<C-v>j$"] = "from column 2",
    ["gg0<C-v>j$"] = "all",
  }) do
    same(selected(nvim, keys).part or "all", wanted, keys)
  end
end)

--- Holds (Prompts and keys): An attachment that is part of a line is listed as that part.
case("a part of a line stands beside the whole line, and is listed as the part it is", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:command("wincmd p | enew | file part.txt")
  nvim:lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, ...)", { "one two", "three" })
  nvim:command("1RatAdd")
  nvim:lua("vim.keymap.set('x', 'Z', '<Plug>(rat-add)')")
  nvim:input("gg0wveZ")
  nvim:poll("#require('rat.chat.current').get().attachments == 2")
  nvim:input("gg0wvj0Z")
  nvim:poll("#require('rat.chat.current').get().attachments == 3")
  local titles = nvim:lua(
    "return vim.tbl_map(require('rat.chat.attachment_list').title, require('rat.chat.current').get().attachments)"
  )
  same(
    titles,
    { "part.txt:1", "part.txt:1 (columns 5-7)", "part.txt:1-2 (from column 5 to column 1)" }
  )
end)

case("URLs are absolute, real and percent-encoded; labels relative", function()
  local nvim = check.start()
  vim.fn.mkdir(nvim.home .. "/real dir")
  vim.uv.fs_symlink(nvim.home .. "/real dir", nvim.home .. "/link")
  vim.fn.writefile({ "x" }, nvim.home .. "/real dir/[id] 100%.lua")
  nvim:lua("vim.cmd.edit(vim.fn.fnameescape(...))", nvim.home .. "/link/[id] 100%.lua")
  nvim:command("set filetype=lua")
  nvim:command("RatAdd")
  local found = nvim:lua("return require('rat.chat.attachment_list').take_all(nil)")[1]
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
  local found = nvim:lua("return require('rat.chat.attachment_list').take_all(nil)")[1]
  check.contains(found.uri, "untitled:")
  same({ found.text, found.mime }, { "x\n", "text/plain" })
  nvim:command("set noendofline nofixendofline | RatAdd")
  same(nvim:lua("return require('rat.chat.attachment_list').take_all(nil)")[1].text, "x")
end)

case("MIME types", function()
  local mime = require("rat.context.attachment").mime
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
    local list = require("rat.chat.mention").read(text, nvim.home)
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
    return require("rat.chat.mention").read(text:gsub("HOME", nvim.home), "/")
  end
  same(paths("don't: \"HOME/it's an image.png\""), { image })
  same(paths("see HOME/it\\'s\\ an\\ image.png."), { image })
  same(paths(vim.uri_from_fname(image)), { image })
  same(paths("'HOME/sound.ogg' 'HOME/sound.ogg'"), { nvim.home .. "/sound.ogg" })
  same(paths("HOME/text.txt and HOME/gone.png and sound.ogg and file://%"), {})
end)

check.finish()
