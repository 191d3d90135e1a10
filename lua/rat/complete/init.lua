--- Completes the arguments of `:Rat` commands.
local files = require("rat.complete.files")

local M = {}

---@param lead string
---@param candidates string[]
---@return string[]
local function starting_with(lead, candidates)
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate, lead)
  end, candidates)
end

--- Completes the argument of a `:Rat` command. Modules that only one command needs are loaded for that one.
---@param lead string
---@param line string
---@return string[]
function M.command(lead, line)
  local name = line:match("Rat%u%l+")
  if name == "RatStart" then
    if line:match("^%S*RatStart!?%s+%S+%s") then
      return starting_with(lead, { require("rat.chat.worktree").word })
    end
    return starting_with(lead, require("rat.config.agents").names())
  elseif name == "RatWorktree" then
    return starting_with(lead, require("rat.commands").worktree_acts)
  elseif name == "RatInstall" then
    local names = vim.tbl_keys(require("rat.config.presets"))
    table.sort(names)
    return starting_with(lead, names)
  elseif name == "RatSessions" then
    return starting_with(lead, require("rat.chat.sessions").acts)
  elseif name == "RatReview" then
    return starting_with(lead, require("rat.commands").list_scopes)
  elseif name == "RatAccept" or name == "RatReject" then
    return starting_with(lead, require("rat.commands").review_scopes)
  elseif name == "RatMode" or name == "RatOption" then
    local words = vim.split(vim.trim(line:sub(1, #line - #lead)), "%s+")
    local option = name == "RatMode" and "mode" or words[2]
    return starting_with(lead, require("rat.chat.options").words(option))
  elseif name == "RatTrace" then
    if line:match("^%S*RatTrace!?%s+save%s") then
      return vim.fn.getcompletion(lead, "file")
    end
    return require("rat.complete.trace").words(lead)
  elseif name == "RatLog" then
    return starting_with(lead, require("rat.rpc").logged_agents())
  elseif name == "RatSend" then
    return vim.list_extend(require("rat.complete.context").names(lead), files.paths(lead))
  end
  return {}
end

return M
