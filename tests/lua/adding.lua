--- Adding to the next prompt without leaving the window: by a motion, from lists and explorers, from pickers, an image.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

--- Puts what is attached where a spec reads it.
local function start()
  local nvim = check.start()
  nvim:lua([[
    Added = {}
    require("rat.chat")
    require("rat.chat.attachment_list").add = function(one) table.insert(Added, one) end
  ]])
  return nvim
end

---@return string[] label, lines and text of each
local function added(nvim, count)
  nvim:poll(("#Added >= %d"):format(count))
  local found = nvim:lua("local added = Added; Added = {}; return added")
  return vim.tbl_map(function(one)
    local lines = one.first and (":%d-%d"):format(one.first, one.last) or ""
    return ("%s%s %s"):format(vim.fs.basename(one.label), lines, one.text)
  end, found)
end

local function numbered(nvim, name, count)
  local lines = {}
  for i = 1, count do
    lines[i] = tostring(i)
  end
  vim.fn.mkdir(vim.fs.dirname(nvim.home .. "/" .. name), "p")
  vim.fn.writefile(lines, nvim.home .. "/" .. name)
end

--- Holds (Prompts and keys): An operator attaches what a motion covers, and the user stays in their window.
case("an operator with motions, counts, and a dot", function()
  local nvim = start()
  nvim:lua([[
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { "one two three", "vier fünf", "a (b c) d", "last" })
    vim.keymap.set("n", "ga", "<Plug>(rat-add-operator)")
    vim.keymap.set("n", "gaa", "<Plug>(rat-add-operator)_")
  ]])
  local function typed(keys)
    nvim:input("<Esc>" .. keys)
    return (added(nvim, 1)[1]:gsub("^[^:]*:", ""))
  end
  same(typed("gg0gaiw"), "1-1 one")
  same(typed("w."), "1-1 two")
  same(typed("gg0ga2w"), "1-1 one two ")
  same(typed("gg02gaw"), "1-1 one two ")
  same(typed("gaj"), "1-2 one two three\nvier fünf\n")
  same(typed("j."), "2-3 vier fünf\na (b c) d\n")
  same(typed("2G3gaa"), "2-4 vier fünf\na (b c) d\nlast\n")
  same(typed("3Gfbgai("), "3-3 b c")
  same(typed("gg0lga<C-v>/ie/e<CR>"), "1-2 ne\nie")
  same(typed("2Gf ga$"), "2-2  fünf")
  nvim:command("set selection=exclusive")
  same(typed("gg0gae"), "1-1 one")
  same(nvim:lua("return vim.api.nvim_get_mode().mode"), "n")
end)

--- Holds (Prompts and keys): Lines of a quickfix window stand for the lines they lead to.
case("entries of a quickfix window are attached with the lines around them", function()
  local nvim = start()
  numbered(nvim, "a.txt", 30)
  numbered(nvim, "b.txt", 3)
  nvim:command("edit a.txt")
  nvim:lua("vim.api.nvim_buf_set_lines(0, 9, 10, false, { 'unsaved' })")
  nvim:lua([[vim.fn.setqflist({
    { filename = "a.txt", lnum = 10, text = "x" },
    { filename = "b.txt", lnum = 1, text = "x" },
    { filename = "a.txt", lnum = 12, end_lnum = 13, text = "x" },
    { filename = "a.txt", lnum = 29, text = "x" },
    { text = "no place" },
  })]])
  nvim:command("set hidden | copen | %RatAdd")
  same(added(nvim, 3), {
    "a.txt:7-16 7\n8\n9\nunsaved\n11\n12\n13\n14\n15\n16\n",
    "a.txt:26-30 26\n27\n28\n29\n30\n",
    "b.txt:1-3 1\n2\n3\n",
  })
  nvim:command("2 | RatAdd")
  same(added(nvim, 1), { "b.txt:1-3 1\n2\n3\n" })
  same(nvim:lua("return vim.bo.buftype"), "quickfix")
  nvim:command("5RatAdd")
  nvim:told("Nothing in these lines can be attached")
  nvim:command("cclose | call setloclist(0, [{ 'filename': 'b.txt', 'lnum': 3 }]) | lopen | RatAdd")
  same(added(nvim, 1), { "b.txt:1-3 1\n2\n3\n" })
end)

case("entries of netrw, in a list and in a tree", function()
  local nvim = start()
  nvim:files({ "top.txt", "sub/inner.txt" })
  vim.uv.fs_symlink(nvim.home .. "/top.txt", nvim.home .. "/zlink.txt")
  nvim:command("set rtp+=$VIMRUNTIME | runtime plugin/netrwPlugin.vim | filetype plugin on")
  nvim:command("Explore .")
  nvim:poll("vim.bo.filetype == 'netrw' and vim.fn.search('top.txt', 'w') > 0")
  nvim:command("RatAdd")
  same(added(nvim, 1), { "top.txt " })
  nvim:command("call search('zlink') | RatAdd")
  same(added(nvim, 1), { "zlink.txt " })
  nvim:command("call search('sub/') | RatAdd")
  nvim:told("Could not attach sub/: it is a folder")
  nvim:command("let g:netrw_liststyle = 3 | bwipeout! | Explore .")
  nvim:poll("vim.bo.filetype == 'netrw' and vim.fn.search('sub/', 'w') > 0")
  nvim:input("<CR>")
  nvim:poll("vim.fn.search('inner.txt', 'w') > 0")
  nvim:command("RatAdd")
  same(added(nvim, 1), { "inner.txt " })
end)

--- Explorers of others, by their documented functions.
local explorers = {
  oil = [[package.loaded.oil = {
    get_entry_on_line = function(_, lnum) return lnum > 1 and { name = "file" .. lnum .. ".txt" } or nil end,
    get_current_dir = function() return HOME .. "/" end,
  }]],
  ["neo-tree"] = [[package.loaded["neo-tree.sources.manager"] = {
    get_state_for_window = function()
      return { tree = { get_node = function(_, lnum)
        return lnum > 1 and { get_id = function() return HOME .. "/file" .. lnum .. ".txt" end } or nil
      end } }
    end,
  }]],
  minifiles = [[package.loaded["mini.files"] = {
    get_fs_entry = function(_, lnum) return lnum > 1 and { path = HOME .. "/file" .. lnum .. ".txt" } or nil end,
  }]],
}

for filetype, code in pairs(explorers) do
  case("entries of " .. filetype, function()
    local nvim = start()
    nvim:files({ "file2.txt", "file3.txt" })
    nvim:lua("HOME = ...", nvim.home)
    nvim:lua(code)
    nvim:lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { '..', 'a', 'b' })")
    nvim:command("setlocal buftype=nofile | setfiletype " .. filetype)
    nvim:command("%RatAdd")
    same(added(nvim, 2), { "file2.txt ", "file3.txt " })
    nvim:command("1RatAdd")
    nvim:told("Nothing in these lines can be attached")
  end)
end

case("what pickers add: files, lines of them, places", function()
  local nvim = start()
  numbered(nvim, "a.txt", 9)
  nvim:lua([[require("rat").add("a.txt")]])
  same(added(nvim, 1), { "a.txt 1\n2\n3\n4\n5\n6\n7\n8\n9\n" })
  nvim:lua(
    [[require("rat").add({ { path = "a.txt", first = 2, last = 3 }, { path = "a.txt", lnum = 9 } })]]
  )
  same(added(nvim, 2), { "a.txt:2-3 2\n3\n", "a.txt:6-9 6\n7\n8\n9\n" })
  nvim:lua([[require("rat").add({ "gone.txt", "too.txt", { path = "a.txt", first = 99 } })]])
  same(added(nvim, 1), { "a.txt:9-9 9\n" })
  nvim:told("Could not attach gone.txt")
  nvim:told("(and 1 more)")
  local ok, problem = unpack(nvim:lua("return { pcall(require('rat').add, 3) }"))
  same(ok, false)
  check.contains(problem, "rat.add: expected a path, a table or a list of these")
end)

--- Puts a program in the way that reads the clipboard.
local function clipboard(nvim, script)
  local bin = nvim.own .. "/bin"
  vim.fn.mkdir(bin, "p")
  vim.fn.writefile(vim.list_extend({ "#!/bin/sh" }, script), bin .. "/wl-paste")
  vim.uv.fs_chmod(bin .. "/wl-paste", 493)
  nvim:lua("vim.env.PATH, vim.env.WAYLAND_DISPLAY = ... .. ':/usr/bin:/bin', 'wayland-0'", bin)
end

case("an image from the clipboard, which only the user can read", function()
  local nvim = start()
  nvim:lua("vim.keymap.set({ 'n', 'i' }, '<F2>', '<Plug>(rat-add-image)')")
  clipboard(
    nvim,
    { [[test "$*" = "--no-newline --type image/png" && printf '\211PNG\r\n\032\nrest']] }
  )
  nvim:input("<F2>")
  nvim:poll("#Added == 1")
  local image = nvim:lua("return Added[1]")
  same(image.mime, "image/png")
  same(vim.fn.getfperm(image.path), "rw-------")
  same(vim.fn.getfsize(image.path), 12)
  clipboard(nvim, { "echo 'no image/png' >&2", "exit 1" })
  nvim:input("i<F2>")
  nvim:told("There is no image in the clipboard")
  nvim:lua("vim.env.WAYLAND_DISPLAY, vim.env.DISPLAY = '', ''")
  nvim:input("<F2>")
  nvim:told("No program reads images from the clipboard. Install wl-paste, xclip or pngpaste.")
end)

check.finish()
