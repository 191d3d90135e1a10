--- Makes a rule of a permission request: the binary suggests one, the user edits it and says where it holds.
local punctuation = require("rat.util.punctuation")
local chooser = require("rat.ask.chooser")
local input = require("rat.ask.input")
local registry = require("rat.chat.registry")
local request_list = require("rat.ask.request_list")
local rpc = require("rat.rpc")

local M = {}

--- Asks the binary for a rule that would decide a request.
---@param request rat.Request
function M.suggest(request)
  local chat = request.chat.id --[[@as integer]]
  rpc.notify("suggest_rule", { chat = chat, request = request.permission.id })
end

---@param payload rat.msg.Suggestion
---@param lines string[]
local function keep(payload, lines)
  local folder = vim.fn.fnamemodify(payload.cwd, ":~")
  local extents = {
    { extent = "session", name = "Until this session ends" },
    { extent = "project", name = "For " .. folder },
    { extent = "everywhere", name = "For all projects" },
  }
  chooser.open(extents, {
    prompt = #lines == 1 and ('Keep "%s"'):format(lines[1]) or ("Keep %d rules"):format(#lines),
    careful = true,
    format_item = function(item)
      return item.name
    end,
  }, function(item)
    if item then
      rpc.notify("keep_rules", {
        chat = payload.chat,
        request = payload.request,
        extent = item.extent,
        lines = lines,
      })
    end
  end)
end

--- Lets the user edit the suggested rules. Nothing is kept before they have said where.
---@param payload rat.msg.Suggestion
function M.arrived(payload)
  local chat = registry.get(payload.chat)
  if not (chat and request_list.get(chat, payload.request)) then
    return
  end
  local title = #payload.lines == 1 and "Rule" or "Rules"
  input.open(
    title,
    table.concat(payload.lines, "\n"),
    true,
    function(text)
      -- Wider rules are suggested as comments.
      local lines = vim.tbl_filter(function(line)
        return line:match("^%s*[^%s#]") ~= nil
      end, vim.split(text, "\n", { plain = true }))
      if #lines > 0 then
        keep(payload, lines)
      end
    end,
    function() end,
    { footer = punctuation.own(" <C-s> continue · <C-c> cancel "), leaving = "back", line = 1 }
  )
end

return M
