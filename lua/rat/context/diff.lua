--- What has changed in the project since the last commit, as context. The binary runs git, with nothing of what an agent may
--- have put into the repository's own configuration.
local private_file = require("rat.util.private_file")
local rpc = require("rat.rpc")
local text_of = require("rat.util.text")

local M = {}

--- The rest of a longer diff is left out.
local MAX_BYTES = 1024 * 1024

--- Cuts a text off after its last whole line within the limit.
---@param text string
---@return string
local function cut(text)
  local kept = text:sub(1, MAX_BYTES):match("^.*\n") or ""
  return kept .. ("… cut off after %s\n"):format(text_of.size(MAX_BYTES))
end

---@type rat.ContextProvider
M.diff = {
  name = "diff",
  about = "what has changed since the last commit",
  resolve = function(request, answer)
    if vim.fn.executable("git") == 0 then
      return nil, "git is not installed"
    elseif rpc.obstacle() then
      return nil, rpc.obstacle()
    end
    local below = vim.fs.joinpath(private_file.root(), "git")
    local limit = ("--limit=%d"):format(MAX_BYTES + 1)
    local command =
      { vim.fn.exepath(rpc.binary()), "diff", limit, "--below", below, "--", request.cwd }
    vim.system(
      command,
      {},
      vim.schedule_wrap(function(result)
        local out = result.stdout or ""
        if result.code ~= 0 then
          return answer(nil, ("git says: %s"):format(text_of.first_line(result.stderr or "")))
        elseif out == "" then
          return answer(nil, "nothing has changed since the last commit")
        end
        answer({ text = #out > MAX_BYTES and cut(out) or out, mime = "text/x-diff" })
      end)
    )
  end,
}

return M
