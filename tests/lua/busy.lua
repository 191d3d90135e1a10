--- Which command lines name lines by their numbers.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local function names_lines(commands)
  local code = "return vim.tbl_map(require('rat.document.busy').names_lines, ...)"
  return check.start():lua(code, commands)
end

--- Holds (Buffers in unusual states): A typed range that names a line by its number is recognised.
case("a number in a range names a line", function()
  local commands = { "3", "3,5d", ":3,5d", " .,7s/a/b", "/x/;9", "'a,4", "+2,8j", "?x?,3", "%;2" }
  for i, found in ipairs(names_lines(commands)) do
    same({ commands[i], found }, { commands[i], true })
  end
end)

case("the cursor, marks, patterns and what stands behind the range do not", function()
  local commands = { "", "s/3/4", "%s/1/2/g", ".,+3d", "'<,'>sort", "/3/d", "f(3)", "$-2d", "e 3" }
  for i, found in ipairs(names_lines(commands)) do
    same({ commands[i], found }, { commands[i], false })
  end
end)

check.finish()
