--- Completes the filter of |:RatTrace|.
local methods = require("rat.complete.methods")

local M = {}

--- Returns the words that begin like this one.
---@param lead string
---@return string[]
function M.words(lead)
  local words = {}
  local negation = lead:match("^!") or ""
  for _, word in ipairs(vim.list_extend({ "save", ">", "<" }, methods)) do
    if vim.startswith(negation .. word, lead) and not (negation ~= "" and word == "save") then
      words[#words + 1] = negation .. word
    end
  end
  return words
end

return M
