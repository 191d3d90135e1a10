--- Marks of conflicts in a file that is changed at random.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local WORLD = [[
  local conflict = require("rat.document.conflict")
  local seed, path = ...
  math.randomseed(seed)
  vim.cmd("edit! " .. path)
  local buf = vim.api.nvim_get_current_buf()
  for _ = 1, 30 do
    local count, kept, at = vim.api.nvim_buf_line_count(buf), {}, 0
    while at < count - 3 and #kept < 12 do
      local first = at + math.random(0, 4)
      at = math.min(count, first + math.random(0, 5))
      if first < count then
        kept[#kept + 1] = { first, at, { "theirs" } }
      end
      at = at + 1
    end
    conflict.mark(buf, kept)
    for _ = 1, 4 do
      local from = math.random(0, vim.api.nvim_buf_line_count(buf) - 1)
      local to = math.min(vim.api.nvim_buf_line_count(buf), from + math.random(0, 6))
      local new = {}
      for i = 1, math.random(0, 6) do
        new[i] = "new " .. i
      end
      vim.api.nvim_buf_set_lines(buf, from, to, false, new)
    end
    if math.random(4) == 1 then
      vim.cmd("silent! undo")
    elseif math.random(9) == 1 then
      vim.cmd("silent! edit!")
    end
  end
  local outside = 0
  for _, one in ipairs(conflict.list(buf)) do
    local lines, first = conflict.lines(buf, one.region)
    outside = outside + (first + #lines > vim.api.nvim_buf_line_count(buf) and 1 or 0)
  end
  return outside
]]

--- Holds (Changes on disk): The marks of unresolved hunks survive any change of the text.
case("Neovim outlives whatever is done to the lines between marks", function()
  local nvim, path, lines = check.start(), vim.fn.tempname(), {}
  for i = 1, 60 do
    lines[i] = "line " .. i
  end
  vim.fn.writefile(lines, path)
  for seed = 1, 5 do
    same({ seed, nvim:lua(WORLD, seed, path) }, { seed, 0 })
  end
end)

case("only where there are no conflicts are you told so", function()
  local nvim, path = check.start(), vim.fn.tempname()
  vim.fn.writefile({ "one", "two" }, path)
  nvim:command("RatConflicts")
  nvim:told("No conflicts to resolve")
  nvim:lua("Said = {}; vim.cmd.edit(...)", path)
  nvim:lua(
    "require('rat.document.conflict').mark(vim.api.nvim_get_current_buf(), { { 0, 1, { 'theirs' } } })"
  )
  nvim:command("new")
  nvim:command("RatConflicts!")
  nvim:poll("vim.bo.buftype == 'quickfix'")
  same(nvim:lua("return #vim.api.nvim_list_tabpages()"), 1)
  nvim:command("cclose")
  nvim:command("RatConflicts")
  nvim:poll("vim.wo.diff and #vim.api.nvim_list_tabpages() == 2")
  same(nvim:lua("return Said"), {})
end)

case("the last window of a comparison is the user's again", function()
  local nvim, path = check.start(), vim.fn.tempname()
  vim.fn.writefile({ "one", "two" }, path)
  nvim:command("edit " .. path)
  nvim:lua(
    "require('rat.document.conflict').mark(vim.api.nvim_get_current_buf(), { { 0, 1, { 'theirs' } } })"
  )
  nvim:command("RatConflicts")
  nvim:poll_screen("theirs")
  nvim:command("tabonly")
  nvim:command("wincmd l")
  nvim:command("only")
  nvim:poll("vim.wo.winbar == '' and not vim.wo.diff")
  same(nvim:lua("return { vim.fn.expand('%:p'), #vim.api.nvim_list_wins() }"), { path, 1 })
end)

check.finish()
