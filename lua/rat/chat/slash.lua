--- The `/commands` an agent offers: what completes, the list to choose from, the hint of what follows. Sends nothing.
local M = {}

---@class rat.SlashCommand
---@field name string without the slash; may hold anything but a line end
---@field description string
---@field hint? string what to type after it

--- The commands whose `/name` begins like this.
---@param of rat.Chat
---@param lead string with the slash
---@return rat.SlashCommand[]
function M.matching(of, lead)
  return vim.tbl_filter(function(command)
    return vim.startswith("/" .. command.name, lead)
  end, of.commands)
end

--- For 'completefunc'.
---@param of rat.Chat
---@param lead string with the slash
---@return table[]
function M.words(of, lead)
  return vim.tbl_map(function(command)
    return {
      word = "/" .. command.name,
      abbr = "/" .. command.name .. (command.hint and " " .. command.hint or ""),
      menu = (command.description or ""):gsub("\n.*", ""),
    }
  end, M.matching(of, lead))
end

---@param command rat.SlashCommand
---@return string
local function describe(command)
  local call = "/" .. command.name .. (command.hint and (" <%s>"):format(command.hint) or "")
  local text = (command.description or ""):gsub("\n.*", "")
  return text ~= "" and ("%s · %s"):format(call, text) or call
end

--- Lets the user choose a command, and begins the prompt with it; what was written follows it.
---@param of rat.Chat
function M.pick(of)
  if #of.commands == 0 then
    return require("rat.say").info(("%s offers no commands"):format(of.title))
  end
  local opts = { prompt = "Which command?", format_item = describe }
  require("rat.select").open(of.commands, opts, function(command)
    local buf = of.buffers.prompt
    if not command or not vim.api.nvim_buf_is_valid(buf) then
      return
    end
    local text = "/" .. command.name .. " "
    vim.api.nvim_buf_set_text(buf, 0, 0, 0, 0, { text })
    if vim.api.nvim_get_current_buf() == buf then
      vim.api.nvim_win_set_cursor(0, { 1, #text })
      vim.cmd.startinsert({ bang = vim.api.nvim_buf_line_count(buf) == 1 })
    end
    M.show_hint(of)
  end)
end

--- Shows what the command in the prompt takes, as long as nothing follows it.
---@param of rat.Chat
function M.show_hint(of)
  local buf = of.buffers.prompt
  if not buf or not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  local namespace = vim.api.nvim_create_namespace("rat_hint")
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, 2, false)
  if #lines ~= 1 then
    return
  end
  for _, command in ipairs(of.commands) do
    local call = "/" .. command.name
    if command.hint and (lines[1] == call or lines[1] == call .. " ") then
      local gap = lines[1] == call and " " or ""
      vim.api.nvim_buf_set_extmark(buf, namespace, 0, #lines[1], {
        virt_text = { { gap .. command.hint, "RatHint" } },
        virt_text_pos = "inline",
      })
    end
  end
end

return M
