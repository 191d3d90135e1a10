--- Completes the filter of |:RatTrace|.
local M = {}

--- The methods there are in most sessions.
M.methods = {
  "authenticate",
  "elicitation/complete",
  "elicitation/create",
  "fs/read_text_file",
  "fs/write_text_file",
  "initialize",
  "session/cancel",
  "session/close",
  "session/fork",
  "session/list",
  "session/load",
  "session/new",
  "session/prompt",
  "session/request_permission",
  "session/resume",
  "session/set_config_option",
  "session/set_mode",
  "session/update",
  "terminal/create",
  "terminal/kill",
  "terminal/output",
  "terminal/release",
  "terminal/wait_for_exit",
}

--- Returns the words that begin like this one.
---@param lead string
---@return string[]
function M.words(lead)
  local words = {}
  local negation = lead:match("^!") or ""
  for _, word in ipairs(vim.list_extend({ "save", ">", "<" }, M.methods)) do
    if vim.startswith(negation .. word, lead) and not (negation ~= "" and word == "save") then
      words[#words + 1] = negation .. word
    end
  end
  return words
end

return M
