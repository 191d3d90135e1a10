--- Lets the user choose from the turns whose changes are kept, and shows or undoes what one has changed.
local punctuation = require("rat.util.punctuation")
local chooser = require("rat.ask.chooser")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
local sessions = require("rat.chat.sessions")
local text_of = require("rat.util.text")

local M = {}

--- Longest prompt in the list, in cells.
local MAX_PROMPT = 36

---@param turn rat.msg.ListedTurn
---@return string
local function label(turn)
  local prompt = text_of.shorten(turn.prompt, MAX_PROMPT)
  local files = turn.files == 1 and "1 file" or turn.files .. " files"
  if turn.files == 0 then
    files = "only folders"
  end
  local lines = ("+%d -%d"):format(turn.added, turn.removed)
  local age = sessions.age(turn.time, os.time())
  local undone = turn.undone and "(undone) " or ""
  return undone .. punctuation.join({ prompt, files, lines, age })
end

---@param chat integer
---@param turn rat.msg.ListedTurn
local function choose_action(chat, turn)
  local items = turn.undone and { "Show what it changed" } or { "Show what it changed", "Undo it" }
  local prompt = registry.with_folder(label(turn), registry.get(chat))
  chooser.open(items, { prompt = prompt }, function(_, index)
    if index == 1 then
      rpc.notify("show_turn", { chat = chat, root = turn.root, id = turn.id })
    elseif index == 2 then
      rpc.notify("undo", { chat = chat, root = turn.root, id = turn.id })
    end
  end)
end

--- Shows the turns.
---@param payload rat.msg.Turns
function M.show(payload)
  if payload.prompt and #payload.items == 1 then
    return choose_action(payload.chat, payload.items[1])
  end
  local chat = registry.get(payload.chat)
  local opts =
    { prompt = registry.with_folder("Turns that changed files", chat), format_item = label }
  chooser.when_idle(payload.items, opts, function(turn)
    if turn then
      choose_action(payload.chat, turn)
    end
  end, nil, true)
end

return M
