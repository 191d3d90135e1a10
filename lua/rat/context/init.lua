--- The providers of context, with the built-in ones among them.
local diff = require("rat.context.diff")
local editor = require("rat.context.editor")
local problems = require("rat.context.problems")
local provider = require("rat.context.provider")
local symbol = require("rat.context.symbol")

for _, one in ipairs({
  editor.buffer,
  editor.buffers,
  editor.selection,
  problems.diagnostics,
  problems.quickfix,
  diff.diff,
  symbol.symbol,
}) do
  -- The user's may have been added before.
  if not provider.get(one.name) then
    assert(not provider.add(one))
  end
end

return provider
