--- Closes the pickers of plugins that `vim.ui.select` opened, once what they ask is decided elsewhere.
local M = {}

--- How a picker is closed, by the filetype of its windows.
---@type table<string, fun(buf: integer)>
local closers = {
  TelescopePrompt = function(buf)
    require("telescope.actions").close(buf)
  end,
  snacks_picker_input = function()
    for _, picker in ipairs(require("snacks").picker.get({ source = "select" })) do
      picker:close()
    end
  end,
  fzf = function()
    require("fzf-lua").win.close()
  end,
  minipick = function()
    require("mini.pick").stop()
  end,
  DressingSelect = function(buf)
    vim.api.nvim_win_close(vim.fn.bufwinid(buf), true)
  end,
}
closers.snacks_picker_list = closers.snacks_picker_input

---@return table<integer, true>
local function floats()
  local found = {}
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(win).relative ~= "" then
      found[win] = true
    end
  end
  return found
end

---@class rat.Picker
---@field before table<integer, true> floats there were before it

--- Notes what is there before a picker opens.
---@return rat.Picker
function M.before()
  return { before = floats() }
end

--- Closes the picker that has opened since, or says that it answers nothing any more.
---@param picker rat.Picker
function M.close(picker)
  local left = false
  for win in pairs(floats()) do
    if not picker.before[win] and vim.api.nvim_win_is_valid(win) then
      local buf = vim.api.nvim_win_get_buf(win)
      local closer = closers[vim.bo[buf].filetype]
      if closer then
        pcall(closer, buf)
      end
      left = left or vim.api.nvim_get_current_win() == win
    end
  end
  if left then
    require("rat.say").info("this is decided: the open picker answers nothing any more")
  end
end

return M
