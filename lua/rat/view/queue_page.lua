--- The page of `:RatQueue`: the queued prompts of a chat as a buffer that |:write| applies. Each is below a heading with its
--- number, such as `--- 3 ---`.
local punctuation = require("rat.util.punctuation")
local key_list = require("rat.view.key_list")
local launch = require("rat.chat.launch")
local notify = require("rat.util.notify")
local page = require("rat.view.page")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
local scratch = require("rat.view.scratch")

local api = vim.api
local M = {}

local NAME = "rat://queue"
local NOTES = api.nvim_create_namespace("rat_queue")

---@class rat.QueueSection
---@field row integer of its heading, from 1
---@field number? integer nil if it is new
---@field text string

--- What the page shows.
---@type {chat: rat.Chat, prompts: rat.QueuedPrompt[], dashes: string}?
local shown

---@param line string
---@param dashes string
---@return string? name
local function heading(line, dashes)
  local escaped = vim.pesc(dashes)
  return line:match("^" .. escaped .. " (%S+) " .. escaped .. "%s*$")
end

--- Returns the dashes of headings: as many as it takes that no line of a prompt looks like one.
---@param prompts rat.QueuedPrompt[]
---@return string
local function dashes_for(prompts)
  local dashes = "---"
  for _, prompt in ipairs(prompts) do
    for line in vim.gsplit(prompt.text, "\n", { plain = true }) do
      while heading(line, dashes) do
        dashes = dashes .. "-"
      end
    end
  end
  return dashes
end

---@param prompts rat.QueuedPrompt[]
---@param dashes string
---@return string[]
local function compose(prompts, dashes)
  local lines = {}
  for _, prompt in ipairs(prompts) do
    lines[#lines + 1] = ("%s %d %s"):format(dashes, prompt.number, dashes)
    vim.list_extend(lines, vim.split(prompt.text, "\n", { plain = true }))
  end
  return lines
end

--- Reads the page. A heading whose number is not among the prompts that were shown, or is there twice, begins a new prompt.
---@param buf integer
---@return rat.QueueSection[]? sections nil if there is text above the first heading: its row follows
---@return integer? row
local function read(buf)
  local by_number, sections = {}, {} ---@type table<string, integer>, rat.QueueSection[]
  for _, prompt in ipairs(shown and shown.prompts or {}) do
    by_number[tostring(prompt.number)] = prompt.number
  end
  local lines ---@type string[]
  local function finish()
    if #sections > 0 then
      sections[#sections].text = table.concat(lines, "\n"):gsub("^%s*\n", ""):gsub("%s+$", "")
    end
  end
  for row, line in ipairs(api.nvim_buf_get_lines(buf, 0, -1, true)) do
    local name = shown and heading(line, shown.dashes)
    if name then
      finish()
      lines = {}
      sections[#sections + 1] = { row = row, number = by_number[name], text = "" }
      by_number[name] = nil
    elseif #sections > 0 then
      lines[#lines + 1] = line
    elseif vim.trim(line) ~= "" then
      return nil, row
    end
  end
  finish()
  return sections
end

---@param number integer
---@return string text as it was shown
local function text_of(number)
  for _, prompt in ipairs(shown and shown.prompts or {}) do
    if prompt.number == number then
      return prompt.text
    end
  end
  return ""
end

--- Applies the page.
---@param buf integer
---@return boolean
local function write(buf)
  if not shown or not shown.chat.id then
    notify.error("The chat is closed, so its queue cannot be changed")
    return false
  end
  local sections, row = read(buf)
  if not sections then
    notify.error(('Line %d is above the first heading. Add one, such as "--- new ---"'):format(row))
    return false
  end
  local chat, prompts = shown.chat, {}
  for _, section in ipairs(sections) do
    local before = section.number and text_of(section.number)
    if section.text ~= "" then
      local changed = section.text ~= before
      prompts[#prompts + 1] = { number = section.number, text = section.text, changed = changed }
      if before and changed then
        chat.sent[section.text] = chat.sent[before]
      end
    end
  end
  local known = vim.tbl_map(function(prompt)
    return prompt.number
  end, shown.prompts)
  vim.bo[buf].modified = false
  rpc.notify("queue_arrange", { chat = chat.id, prompts = prompts, known = known })
  return true
end

--- Sends the prompt under the cursor before all others. The turn is cancelled for it.
local function send_now()
  local buf, row = api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)[1]
  local under
  for _, section in ipairs(read(buf) or {}) do
    under = section.row <= row and section or under
  end
  if not under then
    return notify.info("No prompt under the cursor")
  elseif not under.number then
    return notify.info("Apply the new prompt with :w first")
  elseif shown and (not vim.bo[buf].modified or write(buf)) then
    local chat, number = shown.chat, under.number
    launch.with_agent(chat, function()
      rpc.notify("queue_send", { chat = chat.id, number = number })
    end)
  end
end

---@type rat.PageKey[]
local KEYS = { { { "n" }, "g<CR>", send_now, "cancel the turn and send this prompt now" } }

--- What the list of keys has besides.
local OTHERS = {
  { ":w", "apply: change, move and remove prompts as lines are" },
  { ":e!", "show the queue as it is" },
  { "q", "close" },
}

---@return integer buf
local function make()
  local buf = scratch.find(NAME)
  if not buf then
    buf = scratch.editable(NAME, "ratqueue", write, function()
      if shown then
        M.draw(shown.chat)
      end
    end)
    key_list.map(buf, KEYS, OTHERS)
  end
  return buf
end

---@param chat rat.Chat
---@return string
local function title_of(chat)
  local paused = chat.status.queue_paused and ", paused" or ""
  return punctuation.own("Queue of %s%s · :w applies"):format(chat.title, paused)
end

--- Fills the page with the queue of a chat.
---@param chat rat.Chat
function M.draw(chat)
  local buf = make()
  local prompts = registry.queued(chat)
  shown = { chat = chat, prompts = prompts, dashes = dashes_for(prompts) }
  local lines = compose(prompts, shown.dashes)
  if scratch.is_unchanged(buf) then
    scratch.load(buf, scratch.update, lines)
  else
    -- An undo step, so that `u` brings back text that the user has written here.
    scratch.update(buf, lines)
  end
  vim.bo[buf].modified = false
  api.nvim_buf_clear_namespace(buf, NOTES, 0, -1)
  local row = 0
  for _, prompt in ipairs(prompts) do
    local count = #(chat.sent[prompt.text] or {})
    local note = count > 0 and ("%d attachment%s"):format(count, count == 1 and "" or "s") or ""
    api.nvim_buf_set_extmark(buf, NOTES, row, 0, {
      line_hl_group = "Comment",
      virt_text = { { note, "RatHint" } },
    })
    row = row + #vim.split(prompt.text, "\n", { plain = true }) + 1
  end
  if #prompts == 0 then
    local hint = { { "No prompt is queued", "RatHint" } }
    api.nvim_buf_set_extmark(buf, NOTES, 0, 0, { virt_text = hint, virt_text_pos = "overlay" })
  end
  page.set_title(buf, title_of(chat))
end

--- Opens the queue of a chat.
---@param chat rat.Chat
function M.open(chat)
  local buf = scratch.find(NAME)
  local is_edited = buf and vim.bo[buf].modified
  if not is_edited then
    if #chat.status.queued == 0 then
      return notify.info("No prompt is queued")
    end
    M.draw(chat)
  elseif shown and shown.chat ~= chat then
    local text = "The queue of %s is shown with changes: apply them with :w or drop them with :e!"
    notify.warn(text:format(shown.chat.title))
  end
  local about = shown and shown.chat or chat
  page.open(buf or make(), title_of(about), { focus = true, wrap = true })
end

--- Updates the page if it shows the queue of a chat. What the user is editing stays.
---@param chat rat.Chat
function M.updated(chat)
  local buf = shown and shown.chat == chat and scratch.find(NAME)
  if
    buf
    and not vim.bo[buf].modified
    and not vim.deep_equal(shown.prompts, registry.queued(chat))
  then
    M.draw(chat)
  elseif buf then
    page.set_title(buf, title_of(chat))
  end
end

return M
