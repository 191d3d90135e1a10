--- What has changed in the project since the last commit, as context: `git diff HEAD`.
local text_of = require("rat.util.text")

local M = {}

--- The rest of a longer diff is left out.
local MAX_BYTES = 1024 * 1024

local COMMAND = {
  "git",
  "--no-pager",
  "diff",
  "--no-color",
  "--no-ext-diff",
  "--no-textconv",
  "--relative",
  "HEAD",
  "--",
}

--- Cuts a text off after its last whole line within the limit.
---@param text string
---@return string
local function cut(text)
  local kept = text:sub(1, MAX_BYTES):match("^.*\n") or ""
  return kept .. ("… cut off after %s\n"):format(text_of.size(MAX_BYTES))
end

--- Runs git and collects its output, up to the limit.
---@param cwd string
---@param callback fun(out: string, result: vim.SystemCompleted?) called on the main loop; without `result` if git would
--- have gone on
local function run(cwd, callback)
  local chunks, bytes = {}, 0
  ---@type vim.SystemObj
  local process
  local function collect(_, chunk)
    if not chunk or bytes > MAX_BYTES then
      return
    end
    chunks[#chunks + 1] = chunk
    bytes = bytes + #chunk
    if bytes > MAX_BYTES then
      process:kill("sigterm")
      vim.schedule(function()
        callback(table.concat(chunks))
      end)
    end
  end
  local options = { cwd = cwd, env = { GIT_OPTIONAL_LOCKS = "0" }, stdout = collect }
  process = vim.system(
    COMMAND,
    options,
    vim.schedule_wrap(function(result)
      if bytes <= MAX_BYTES then
        callback(table.concat(chunks), result)
      end
    end)
  )
end

---@type rat.ContextProvider
M.diff = {
  name = "diff",
  about = "what has changed since the last commit",
  resolve = function(request, answer)
    if vim.fn.executable("git") == 0 then
      return nil, "git is not installed"
    end
    run(request.cwd, function(out, result)
      if result and result.code ~= 0 then
        local line = text_of.first_line(result.stderr or ""):gsub("^fatal: ", "")
        return answer(nil, ("git says: %s"):format(line))
      elseif out == "" then
        return answer(nil, "nothing has changed since the last commit")
      end
      answer({ text = result and out or cut(out), mime = "text/x-diff" })
    end)
  end,
}

return M
