--- The `/commands` of a prompt, those that the agent offers and the user's files: completes them, lets the user choose one, and
--- shows a hint for their input. It sends nothing.
local punctuation = require("rat.util.punctuation")
local notify = require("rat.util.notify")
local prompt_files = require("rat.chat.prompt_files")
local text_of = require("rat.util.text")
-- `rat.ask.chooser` is loaded on first use.

local M = {}

---@alias rat.SlashCommand rat.msg.Command

--- The files that a chat can use, as they were last read.
---@type table<rat.Chat, rat.SlashCommand[]>
local files = setmetatable({}, { __mode = "k" })

--- Whether the agent of a chat has a command of this name.
---@param chat rat.Chat
---@param name string
---@return boolean
function M.is_agents(chat, name)
  return vim.iter(chat.commands):any(function(command)
    return command.name == name
  end)
end

--- Reads the files that a chat can use again.
---@param chat rat.Chat
function M.refresh(chat)
  files[chat] = vim.tbl_map(function(file)
    return { name = file.name, description = file.description, hint = file.hint }
  end, prompt_files.list(chat.cwd))
end

--- Returns the commands of the agent, then the files whose names it does not use.
---@param chat rat.Chat
---@return rat.SlashCommand[]
local function all(chat)
  if not files[chat] then
    M.refresh(chat)
  end
  local list = vim.list_slice(chat.commands)
  for _, file in ipairs(files[chat]) do
    if not M.is_agents(chat, file.name) then
      list[#list + 1] = file
    end
  end
  return list
end

--- Returns the commands whose `/name` starts with a text.
---@param chat rat.Chat
---@param lead string with the slash
---@return rat.SlashCommand[]
function M.matching(chat, lead)
  return vim.tbl_filter(function(command)
    return vim.startswith("/" .. command.name, lead)
  end, all(chat))
end

--- Returns the matching commands as |complete-items|.
---@param chat rat.Chat
---@param lead string with the slash
---@return table[]
function M.words(chat, lead)
  return vim.tbl_map(function(command)
    return {
      word = "/" .. command.name,
      abbr = "/" .. command.name .. (command.hint and " " .. command.hint or ""),
      menu = (command.description or ""):gsub("\n.*", ""),
    }
  end, M.matching(chat, lead))
end

---@param command rat.SlashCommand
---@return string
local function describe(command)
  local call = "/" .. command.name .. (command.hint and (" <%s>"):format(command.hint) or "")
  local text = (command.description or ""):gsub("\n.*", "")
  return text ~= "" and punctuation.own("%s · %s"):format(call, text) or call
end

--- Lets the user choose a command and inserts it at the start of the prompt, before any text.
---@param chat rat.Chat
function M.pick(chat)
  M.refresh(chat)
  local commands = all(chat)
  if #commands == 0 then
    return notify.info(("%s has no commands"):format(chat.title))
  end
  local opts = { prompt = "Which command?", format_item = describe }
  require("rat.ask.chooser").open(commands, opts, function(command)
    local buf = chat.buffers.prompt
    if not command or not vim.api.nvim_buf_is_valid(buf) then
      return
    end
    local text = "/" .. command.name .. " "
    vim.api.nvim_buf_set_text(buf, 0, 0, 0, 0, { text })
    if vim.api.nvim_get_current_buf() == buf then
      vim.api.nvim_win_set_cursor(0, { 1, #text })
      vim.cmd.startinsert({ bang = vim.api.nvim_buf_line_count(buf) == 1 })
    end
    M.show_hint(chat)
  end)
end

--- Shows the hint for the input of the command in the prompt, as long as there is no input.
---@param chat rat.Chat
function M.show_hint(chat)
  local buf = chat.buffers.prompt
  if not buf or not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  local namespace = vim.api.nvim_create_namespace("rat_hint")
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, 2, false)
  if #lines ~= 1 or not vim.startswith(lines[1], "/") then
    return
  end
  for _, command in ipairs(all(chat)) do
    local call = "/" .. command.name
    if command.hint and (lines[1] == call or lines[1] == call .. " ") then
      local gap = lines[1] == call and " " or ""
      vim.api.nvim_buf_set_extmark(buf, namespace, 0, #lines[1], {
        virt_text = { { gap .. text_of.one_line(command.hint), "RatHint" } },
        virt_text_pos = "inline",
      })
    end
  end
end

return M
