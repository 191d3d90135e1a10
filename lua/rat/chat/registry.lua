--- Holds the chats of this Neovim, with their buffers and the status that the binary last reported.
local presets = require("rat.config.presets")
local worktrees = require("rat.config.worktrees")

local M = {}

---@alias rat.View "chat"|"prompt"|"plan"|"tools"

---@alias rat.Attachment rat.msg.Attachment

---@alias rat.Permission rat.msg.WaitingPermission

---@class rat.Status
---@field state rat.msg.State
---@field session_id? string
---@field session_title? string
---@field detail? string what the agent is doing, or why it failed
---@field stop_reason? string why the last turn ended
---@field is_between_turns? boolean whether what is open came after the end of a turn
---@field prompt? string the prompt that the agent is working on
---@field queued string[] prompts that wait for the end of the turn
---@field queue_numbers integer[] the numbers of these
---@field queue_paused boolean
---@field permissions rat.msg.WaitingPermission[]
---@field elicitations rat.msg.WaitingElicitation[]
---@field usage? rat.msg.Usage
---@field mode? string
---@field plan? rat.msg.Plan

---@class rat.QueuedPrompt
---@field number integer
---@field text string

---@class rat.Chat
---@field id? integer number that the binary gave it; nil before that, and after the binary has exited
---@field agent string name in the configuration
---@field title string name of the agent for display
---@field cwd string
---@field known_from? table<string, true> folders in which the user knows that the chat is of another project
---@field name string name of the transcript's buffer, rat://AGENT/N
---@field buffers table<rat.View, integer>
---@field numbers table<rat.Page, {last: integer, by_id: table<string, integer>}> numbers in the names of its pages
---@field status rat.Status
---@field attachments rat.Attachment[] attachments of the next prompt
---@field sent table<string, rat.Attachment[]> attachments of sent prompts by their text, in case they come back
---@field outgoing rat.Message[] prompts that wait for what they mention
---@field insisted? string text of a prompt that came back, since something it mentions is missing
---@field mentions rat.Chip[] providers of context that its prompt mentions
---@field draft_file? string path of the file with its draft
---@field draft? string[] lines of its prompt while that has no loaded buffer
---@field commands rat.msg.Command[]
---@field options? rat.ConfigOption[] options of its session
---@field meta? table `_meta` of its session
---@field restored? boolean whether its buffers exist but the binary has never opened it
---@field expected? boolean whether the binary was asked to open it
---@field edit? integer number of the change in place that it was opened for
---@field used integer time of last use: larger is more recent

---@type rat.Chat[]
local chats = {}
local clock = 0

--- Name suffix and 'filetype' of each view's buffer.
---@type table<rat.View, {suffix: string, filetype: string}>
M.VIEWS = {
  chat = { suffix = "", filetype = "rat" },
  prompt = { suffix = "/prompt", filetype = "ratprompt" },
  plan = { suffix = "/plan", filetype = "ratplan" },
  tools = { suffix = "/tools", filetype = "rattools" },
}

--- Returns the status of a chat about which the binary has reported nothing.
---@param state rat.msg.State
---@param detail? string
---@return rat.Status
function M.blank_status(state, detail)
  return {
    state = state,
    detail = detail,
    queued = {},
    queue_numbers = {},
    queue_paused = false,
    permissions = {},
    elicitations = {},
  }
end

--- Adds a chat without buffers.
---@param agent string
---@param cwd string
---@param name string name of the transcript's buffer
---@return rat.Chat
function M.add(agent, cwd, name)
  local chat = {
    agent = agent,
    title = presets[agent] and presets[agent].title or agent,
    cwd = cwd,
    name = name,
    buffers = {},
    numbers = {},
    sent = {},
    outgoing = {},
    mentions = {},
    status = M.blank_status("starting"),
    attachments = {},
    commands = {},
    used = 0,
  }
  chats[#chats + 1] = chat
  return chat
end

--- Returns the queued prompts of a chat, in the order in which they are sent.
---@param chat rat.Chat
---@return rat.QueuedPrompt[]
function M.queued(chat)
  local prompts = {}
  for i, text in ipairs(chat.status.queued) do
    prompts[i] = { number = chat.status.queue_numbers[i], text = text }
  end
  return prompts
end

--- Records that the user is using a chat.
---@param chat rat.Chat
function M.touch(chat)
  clock = clock + 1
  chat.used = clock
end

--- Returns all chats, the most recently used first.
---@return rat.Chat[]
function M.list()
  local list = vim.list_slice(chats)
  table.sort(list, function(a, b)
    return a.used > b.used
  end)
  return list
end

--- Returns the chat with a number.
---@param id integer
---@return rat.Chat?
function M.get(id)
  for _, chat in ipairs(chats) do
    if chat.id == id then
      return chat
    end
  end
end

--- Returns the chat and the view that a buffer belongs to.
---@param buf integer
---@return rat.Chat?
---@return rat.View?
function M.of(buf)
  for _, chat in ipairs(chats) do
    for view, own in pairs(chat.buffers) do
      if own == buf then
        return chat, view
      end
    end
  end
end

--- Returns all chats in the order in which they were opened.
---@return rat.Chat[]
function M.all()
  return vim.list_slice(chats)
end

--- Removes a chat.
---@param chat rat.Chat
function M.remove(chat)
  chats = vim.tbl_filter(function(other)
    return other ~= chat
  end, chats)
end

--- Returns the agent and the folder of a chat, for messages about chats that are not visible.
---@param chat rat.Chat
---@return string
function M.label(chat)
  return ("%s in %s"):format(chat.title, vim.fn.fnamemodify(chat.cwd, ":t"))
end

--- Adds to a text which folder a chat is about, if that is not the one the user is in.
---@param text string
---@param chat? rat.Chat
---@return string
function M.with_folder(text, chat)
  local real = vim.uv.fs_realpath
  -- Who is in the project knows where its worktrees lead.
  local folder = chat and worktrees.project(chat.cwd)
  if not chat or not folder or (real(folder) or folder) == real(vim.fn.getcwd()) then
    return text
  end
  return ("%s (in %s)"):format(text, worktrees.shown(chat.cwd))
end

--- Returns the chat that was opened after another one, or before it. Wraps around.
---@param chat rat.Chat
---@param step 1|-1
---@return rat.Chat
function M.neighbour(chat, step)
  for at, candidate in ipairs(chats) do
    if candidate == chat then
      return chats[(at - 1 + step) % #chats + 1]
    end
  end
  return chat
end

--- Whether a chat was opened for a change in place, and the user has never looked at it. It has no buffers then.
---@param chat rat.Chat
---@return boolean
function M.is_background(chat)
  return chat.edit ~= nil and next(chat.buffers) == nil
end

--- Returns the buffer of a view if it is loaded.
---@param id integer
---@param view rat.View
---@return integer? buf
function M.loaded_buffer(id, view)
  local chat = M.get(id)
  local buf = chat and chat.buffers[view]
  return buf and vim.api.nvim_buf_is_loaded(buf) and buf or nil
end

return M
