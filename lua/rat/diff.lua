--- The changes an agent asks permission for, in native diff mode on a tab page of their own. Changes no file.
local permission = require("rat.permission")
local rpc = require("rat.rpc")
local scratch = require("rat.scratch")
local status = require("rat.status")

local M = {}

---@class rat.Diff
---@field chat integer the binary's number of the chat
---@field id? integer the request; nil where nothing is asked
---@field title string
---@field files {path: string, old: string, new: string}[]

---@class rat.DiffTab
---@field diff rat.Diff
---@field tab integer
---@field back integer the window the user came from
---@field left integer window of the old text
---@field right integer window of the new text
---@field at integer index of the file shown

---@type rat.DiffTab[]
local open = {}

--- Requests whose diff the user asked for: it opens at once.
---@type table<string, boolean>
local wanted = {}

---@param chat integer
---@param id integer?
---@return string
local function key(chat, id)
  return ("%d:%s"):format(chat, id or "")
end

--- Diffs that open once the user types nothing, by request.
---@type table<string, rat.Wait>
local offered = {}

--- Shows the diff of a request once the user types nothing.
---@param of rat.Chat
---@param id integer
function M.offer(of, id)
  rpc.notify("diff", { chat = of.id, id = id })
end

--- Asks for the diff of a request.
---@param of rat.Chat
---@param id integer
function M.request(of, id)
  wanted[key(of.id, id)] = true
  rpc.notify("diff", { chat = of.id, id = id })
end

---@param path string
---@param side string
---@param text string
---@return integer buf
local function side_buffer(path, side, text)
  local lines = vim.split(text, "\n", { plain = true })
  if lines[#lines] == "" and #lines > 1 then
    lines[#lines] = nil
  end
  return scratch.side(path, side, lines)
end

---@param one rat.DiffTab
---@return string
local function answer_hint(one)
  return one.diff.id and " %#RatKey#ga%* allow  %#RatKey#gr%* reject " or ""
end

---@param one rat.DiffTab
---@param by_itself? boolean it opens by itself: no key is meant for it yet
local function show_file(one, by_itself)
  local file = one.diff.files[one.at]
  local name = status.escape(vim.fn.fnamemodify((file.path:gsub("%c", " ")), ":."))
  local count = #one.diff.files > 1 and (" %d of %d"):format(one.at, #one.diff.files) or ""
  local next_file = #one.diff.files > 1 and "  %#RatKey#]f%* next" or ""
  local bufs = {}
  for i, side in ipairs({ "left", "right" }) do
    local win = one[side]
    bufs[i] = side_buffer(file.path, side, side == "left" and file.old or file.new)
    vim.api.nvim_win_set_buf(win, bufs[i])
    vim.api.nvim_win_call(win, vim.cmd.diffthis)
  end
  local function map_keys()
    for _, buf in ipairs(bufs) do
      M.map(buf, one)
    end
  end
  if by_itself then
    require("rat.attention").hold_keys(bufs, map_keys)
  else
    map_keys()
  end
  local set = require("rat.dress").set
  set(one.left, { winbar = (" %%#RatBar#%%<%s%%*%s%s"):format(name, count, next_file) })
  set(one.right, { winbar = answer_hint(one) .. " %#RatKey#q%* close  %#RatKey#g?%* keys%<" })
  vim.api.nvim_win_call(one.right, function()
    vim.cmd("silent! normal! gg]c")
  end)
end

--- Closes the tab page and goes back to where the user came from.
---@param one rat.DiffTab
local function close(one)
  open = vim.tbl_filter(function(other)
    return other ~= one
  end, open)
  if not vim.api.nvim_tabpage_is_valid(one.tab) then
    return
  end
  local here = vim.api.nvim_get_current_tabpage() == one.tab
  for _, win in ipairs({ one.left, one.right }) do
    if vim.api.nvim_win_is_valid(win) then
      vim.api.nvim_win_close(win, true)
    end
  end
  if here and vim.api.nvim_win_is_valid(one.back) then
    vim.api.nvim_set_current_win(one.back)
  end
end

---@param one rat.DiffTab
---@param step integer
local function step_file(one, step)
  local count = #one.diff.files
  one.at = (one.at - 1 + step * vim.v.count1) % count + 1
  show_file(one)
end

---@param one rat.DiffTab
---@param allow boolean
local function answer(one, allow)
  local of = require("rat.chat").get(one.diff.chat)
  local request = of and one.diff.id and permission.request(of, one.diff.id)
  if not request or permission.decide(request, allow) then
    close(one)
  end
end

---@class rat.DiffKey
---@field lhs string
---@field doc string
---@field run fun(one: rat.DiffTab)

---@type rat.DiffKey[]
local keys = {
  {
    lhs = "]f",
    doc = "next file",
    run = function(one)
      step_file(one, 1)
    end,
  },
  {
    lhs = "[f",
    doc = "previous file",
    run = function(one)
      step_file(one, -1)
    end,
  },
  {
    lhs = "ga",
    doc = "allow once",
    run = function(one)
      answer(one, true)
    end,
  },
  {
    lhs = "gr",
    doc = "reject",
    run = function(one)
      answer(one, false)
    end,
  },
  { lhs = "q", doc = "close, the request keeps waiting", run = close },
}

local function help()
  local lines = {
    " ]c [c   next, previous change ",
    " g1 .. g9  answer with that option of the request ",
    " g?      list these keys ",
  }
  for i, entry in ipairs(keys) do
    table.insert(lines, i, (" %-7s %s "):format(entry.lhs, entry.doc))
  end
  scratch.float(lines, "Keys")
end

---@param one rat.DiffTab
---@param digit integer
local function pick(one, digit)
  local of = require("rat.chat").get(one.diff.chat)
  local id = one.diff.id
  if of and id and permission.pick(of, id, digit) then
    close(one)
  end
end

--- Maps the keys in one side of a diff.
---@param buf integer
---@param one rat.DiffTab
function M.map(buf, one)
  for _, entry in ipairs(keys) do
    vim.keymap.set("n", entry.lhs, function()
      require("rat.say").guard(entry.lhs, entry.run)(one)
    end, { buffer = buf, nowait = true, desc = "rat: " .. entry.doc })
  end
  vim.keymap.set("n", "g?", help, { buffer = buf, nowait = true, desc = "rat: list the keys" })
  for digit = 1, 9 do
    vim.keymap.set("n", "g" .. digit, function()
      pick(one, digit)
    end, { buffer = buf, nowait = true, desc = "rat: answer" })
  end
end

---@param diff rat.Diff
---@param by_itself boolean
local function show(diff, by_itself)
  for _, one in ipairs(open) do
    if key(one.diff.chat, one.diff.id) == key(diff.chat, diff.id) then
      return vim.api.nvim_set_current_win(one.right)
    end
  end
  local back = vim.api.nvim_get_current_win()
  vim.cmd.tabnew()
  local blank = vim.api.nvim_get_current_buf()
  vim.bo[blank].bufhidden = "wipe"
  local right = vim.api.nvim_get_current_win()
  local left = vim.api.nvim_open_win(blank, false, { split = "left", win = right })
  local tab = vim.api.nvim_get_current_tabpage()
  local one = { diff = diff, tab = tab, back = back, left = left, right = right, at = 1 }
  open[#open + 1] = one
  show_file(one, by_itself)
end

--- The binary sends a diff: at once where the user asked for it, else when they type nothing.
---@param diff rat.Diff
function M.arrived(diff)
  local name = key(diff.chat, diff.id)
  if wanted[name] or not diff.id then
    wanted[name] = nil
    return show(diff, false)
  end
  local function waits()
    local of = require("rat.chat").get(diff.chat)
    return of ~= nil
      and permission.request(of, diff.id) ~= nil
      and require("rat.attention").is_free(of)
  end
  offered[name] = require("rat.idle").when(waits, function()
    offered[name] = nil
    show(diff, true)
  end)
end

--- A request was decided: its diff closes.
---@param name string chat and id
function M.decided(name)
  wanted[name] = nil
  require("rat.idle").forget(offered[name])
  offered[name] = nil
  for _, one in ipairs(vim.list_slice(open)) do
    if key(one.diff.chat, one.diff.id) == name then
      close(one)
    end
  end
end

return M
