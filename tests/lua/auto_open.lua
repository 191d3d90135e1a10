--- Which keys count as an answer in a picker that opened by itself.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local TRY = [[
  local keys, pause = ...
  local now = vim.uv.now
  local clock = 0
  vim.uv.now = function() return clock end
  local meant = require("rat.ask.auto_open").watch_keys()
  clock = pause
  vim.api.nvim_feedkeys(vim.keycode(keys), "xt", false)
  vim.uv.now = now
  return meant()
]]

case("moves, a number or a click are an answer, after a pause; nothing else is", function()
  local nvim = check.start()
  local cases = {
    { "2<CR>", 600, true },
    { "<Down><C-n><CR>", 600, true },
    { "<LeftMouse>", 600, true },
    { "", 0, true },
    { "2<CR>", 100, false },
    { "<CR>", 600, false },
    { "2j<CR>", 600, false },
    { "g<CR>", 600, false },
    { "2jfix 3 things<CR>", 600, false },
    { "fix<LeftMouse>", 600, false },
  }
  for _, one in ipairs(cases) do
    same({ one[1], nvim:lua(TRY, one[1], one[2]) }, { one[1], one[3] })
  end
end)

check.finish()
