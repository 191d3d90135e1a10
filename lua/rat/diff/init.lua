--- Shows the changes of a tool call in native diff mode on a tab page of their own, with keys that answer its permission
--- request. It changes no file.
local auto_open = require("rat.ask.auto_open")
local config_keys = require("rat.config.keys")
local editable = require("rat.diff.editable")
local idle = require("rat.util.idle")
local key_list = require("rat.view.key_list")
local location = require("rat.view.location")
local notify = require("rat.util.notify")
local permission = require("rat.ask.permission")
local present_text = require("rat.diff.present_text")
local registry = require("rat.chat.registry")
local request_diff = require("rat.diff.request")
local request_list = require("rat.ask.request_list")
local rpc = require("rat.rpc")
local scratch = require("rat.view.scratch")
local tab_page = require("rat.diff.tab_page")
local text_of = require("rat.util.text")

local M = {}

---@alias rat.Diff rat.msg.Diff

---@alias rat.DiffFile rat.msg.File

---@class rat.OpenDiff
---@field diff rat.Diff
---@field page rat.DiffTabPage the old text on the left, the new one on the right
---@field at integer index of the file that is shown
---@field right? integer its new text, in which the user may change it
---@field texts? {old: string[], new: string[]} both texts as they were shown
---@field edits table<integer, rat.EditedFile> by the index of the file

---@class rat.EditedFile
---@field path string
---@field old string[]
---@field new string[]
---@field edited string[]

---@type rat.OpenDiff[]
local open_diffs = {}

--- Diffs that will open once the user is idle, by the key of the request.
---@type table<string, rat.Wait>
local waiting_diffs = {}

--- Replaces a part of a text; nil unless the text has it exactly once.
---@param text string
---@param part string
---@param other string
---@return string?
local function replaced_once(text, part, other)
  local first, last = text:find(part, 1, true)
  if part == "" or not first or text:find(part, first + 1, true) then
    return nil
  end
  return text:sub(1, first - 1) .. other .. text:sub(last + 1)
end

--- Returns both sides of a change. An agent may send only a fragment: if the file contains its old or its new text exactly
--- once, the sides are the whole file.
---@param file rat.DiffFile
---@param cwd string
---@return string old
---@return string new
local function sides(file, cwd)
  local name = location.resolve(file.path, cwd)
  local text = name and present_text.get(name)
  local new = text and replaced_once(text, file.old, file.new)
  if text and new then
    return text, new
  end
  local old = text and replaced_once(text, file.new, file.old)
  if text and old then
    return old, text
  end
  return file.old, file.new
end

---@param open_diff rat.OpenDiff
---@return string
local function answer_hint(open_diff)
  return open_diff.diff.id
      and " " .. config_keys.bar({ { "ga", "allow" }, { "gr", "reject" } }) .. " "
    or ""
end

--- Remembers what the user has changed in the file that is shown.
---@param open_diff rat.OpenDiff
local function remember_edits(open_diff)
  local buf, texts = open_diff.right, open_diff.texts
  if not (open_diff.diff.editable and buf and texts and vim.api.nvim_buf_is_valid(buf)) then
    return
  end
  local now = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local path = open_diff.diff.files[open_diff.at].path
  open_diff.edits[open_diff.at] = not vim.deep_equal(now, texts.new)
      and { path = path, old = texts.old, new = texts.new, edited = now }
    or nil
end

---@type fun(buf: integer, open_diff: rat.OpenDiff)
local map_keys

---@type fun(open_diff: rat.OpenDiff, allow: boolean)
local answer

--- Shows both sides of the current file, at its first change.
---@param open_diff rat.OpenDiff
---@param by_itself? boolean it was not opened by the user, so keys are held back until they pause
local function show_file(open_diff, by_itself)
  local diff, at = open_diff.diff, open_diff.at
  local file = diff.files[at]
  local name = text_of.statusline_escape(vim.fn.fnamemodify((file.path:gsub("%c", " ")), ":."))
  local count = #diff.files > 1 and (" %d of %d"):format(at, #diff.files) or ""
  local next_file = #diff.files > 1 and "  " .. config_keys.bar({ { "]f", "next" } }) or ""
  local chat = registry.get(diff.chat)
  local old, new = sides(file, chat and chat.cwd or vim.fn.getcwd())
  local texts = { old = present_text.lines(old), new = present_text.lines(new) }
  local edits = open_diff.edits[at]
  local bufs = {
    scratch.side(file.path, "left", texts.old),
    scratch.side(file.path, "right", edits and edits.edited or texts.new, diff.editable),
  }
  open_diff.right, open_diff.texts = bufs[2], texts
  tab_page.compare(open_diff.page, bufs[1], bufs[2])
  if diff.editable then
    editable.attach(bufs[2], function()
      answer(open_diff, true)
    end)
  end
  local function map_both()
    for _, buf in ipairs(bufs) do
      map_keys(buf, open_diff)
    end
  end
  if by_itself then
    auto_open.hold_keys(bufs, map_both)
  else
    map_both()
  end
  local hints = diff.editable and {} or { { "q", "close" } }
  hints[#hints + 1] = { "g?", "keys" }
  tab_page.set_winbars(
    open_diff.page,
    (" %%#RatBar#%%<%s%%*%s%s"):format(name, count, next_file),
    answer_hint(open_diff) .. " " .. config_keys.bar(hints) .. "%<"
  )
  vim.api.nvim_win_call(open_diff.page.right, tab_page.go_to_first_change)
end

---@param open_diff rat.OpenDiff
local function close(open_diff)
  tab_page.close(open_diff.page)
end

---@param open_diff rat.OpenDiff
local function quit(open_diff)
  if
    not (open_diff.diff.editable and open_diff.right)
    or editable.may_close(open_diff.right, "allows")
  then
    close(open_diff)
  end
end

---@param open_diff rat.OpenDiff
---@param step integer
local function step_file(open_diff, step)
  local count = #open_diff.diff.files
  remember_edits(open_diff)
  open_diff.at = (open_diff.at - 1 + step * vim.v.count1) % count + 1
  show_file(open_diff)
end

--- Tells the binary what the user has changed, before the request is allowed.
---@param open_diff rat.OpenDiff
local function send_edits(open_diff)
  remember_edits(open_diff)
  for _, edit in pairs(open_diff.edits) do
    rpc.notify("diff_edited", {
      chat = open_diff.diff.chat,
      path = edit.path,
      old = edit.old,
      new = edit.new,
      edited = edit.edited,
    })
  end
end

---@param open_diff rat.OpenDiff
---@return rat.Request?
local function waiting_request(open_diff)
  local chat, id = registry.get(open_diff.diff.chat), open_diff.diff.id
  return chat and id and request_list.get(chat, id) or nil
end

function answer(open_diff, allow)
  local request = waiting_request(open_diff)
  if request and allow then
    send_edits(open_diff)
  end
  if not request or permission.decide(request, allow) then
    -- |:wq| closes the window itself.
    vim.schedule(function()
      close(open_diff)
    end)
  end
end

---@class rat.DiffKey
---@field lhs string
---@field doc string
---@field run fun(open_diff: rat.OpenDiff)

---@type rat.DiffKey[]
local keys = {
  {
    lhs = "]f",
    doc = "next file",
    run = function(open_diff)
      step_file(open_diff, 1)
    end,
  },
  {
    lhs = "[f",
    doc = "previous file",
    run = function(open_diff)
      step_file(open_diff, -1)
    end,
  },
  {
    lhs = "ga",
    doc = "allow once",
    run = function(open_diff)
      answer(open_diff, true)
    end,
  },
  {
    lhs = "gr",
    doc = "reject",
    run = function(open_diff)
      answer(open_diff, false)
    end,
  },
  { lhs = "q", doc = "close; the request keeps waiting", run = quit },
}

local OTHERS = {
  { "]c [c", "next, previous change" },
  { "g1 .. g9", "answer with that option of the request" },
}

---@param open_diff rat.OpenDiff
---@param digit integer
local function answer_number(open_diff, digit)
  local request = waiting_request(open_diff)
  local option = request and request.permission.options[digit]
  if request and option and permission.is_first_digit(request, digit) then
    notify.info(("Several options begin with %d. :RatPermission shows them."):format(digit))
  elseif request and option then
    if option.kind == "allow_once" or option.kind == "allow_always" then
      send_edits(open_diff)
    end
    permission.choose(request, option.id)
    close(open_diff)
  end
end

--- Maps the keys in the buffer of one side.
---@param buf integer
---@param open_diff rat.OpenDiff
function map_keys(buf, open_diff)
  local mapped = vim.tbl_map(function(entry)
    local function run()
      entry.run(open_diff)
    end
    return { { "n" }, entry.lhs, run, entry.doc }
  end, keys)
  key_list.map(buf, mapped, OTHERS)
  for digit = 1, 9 do
    config_keys.map("n", "g" .. digit, function()
      answer_number(open_diff, digit)
    end, { buffer = buf, nowait = true, desc = "rat: answer" })
  end
end

---@param diff rat.Diff
---@param by_itself boolean
local function show(diff, by_itself)
  for _, open_diff in ipairs(open_diffs) do
    if open_diff.diff.chat == diff.chat and open_diff.diff.tool_call == diff.tool_call then
      return vim.api.nvim_set_current_win(open_diff.page.right)
    end
  end
  local open_diff ---@type rat.OpenDiff
  local page = tab_page.open(function()
    open_diffs = vim.tbl_filter(function(other)
      return other ~= open_diff
    end, open_diffs)
    if waiting_request(open_diff) then
      editable.say_waiting(diff.files[open_diff.at].path)
    end
  end, diff.editable)
  open_diff = { diff = diff, page = page, at = 1, edits = {} }
  open_diffs[#open_diffs + 1] = open_diff
  show_file(open_diff, by_itself)
end

--- Handles a diff from the binary: shows it now if the user asked for it, else once they are idle in the chat and the
--- request still waits.
---@param diff rat.Diff
function M.arrived(diff)
  local key = request_diff.key(diff.chat, diff.id)
  if request_diff.take_request(key) or not diff.id then
    return show(diff, false)
  end
  local function is_ready()
    local chat = registry.get(diff.chat)
    return chat ~= nil and request_list.get(chat, diff.id) ~= nil and auto_open.may_open(chat)
  end
  waiting_diffs[key] = idle.when(is_ready, function()
    waiting_diffs[key] = nil
    show(diff, true)
  end)
end

--- Closes the diff of a request that was decided.
---@param key string see `request_diff.key`
local function close_decided(key)
  idle.forget(waiting_diffs[key])
  waiting_diffs[key] = nil
  for _, open_diff in ipairs(vim.list_slice(open_diffs)) do
    if request_diff.key(open_diff.diff.chat, open_diff.diff.id) == key then
      close(open_diff)
    end
  end
end

permission.on_decided(close_decided)

return M
