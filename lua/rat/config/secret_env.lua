--- Runs the commands that print the values of environment variables for an agent, so that keys are in no file of the user's
--- configuration. The values are kept nowhere: the commands run at each start.
local M = {}

--- How long a command may take: it may ask for a passphrase.
local LIMIT_MS = 60000

--- Returns what a command printed, without the line break at its end.
---@param result vim.SystemCompleted
---@return string? value
---@return string? problem
local function value_of(result)
  if result.code ~= 0 then
    local said = vim.trim((result.stderr or ""):match("^[^\n]*") or "")
    local how = result.signal ~= 0 and ("was ended by signal %d"):format(result.signal)
      or ("failed with exit status %d"):format(result.code)
    return nil, said ~= "" and ("%s: %s"):format(how, said) or how
  end
  local value = (result.stdout or ""):gsub("[\r\n]+$", "")
  if value == "" or value:find("\0", 1, true) then
    return nil, "printed nothing that can be a value"
  end
  return value
end

--- Runs commands, all at once, and passes the variables to a callback.
---@param commands table<string, string[]> by variable
---@param callback fun(env: table<string, string>?, problem: string?)
function M.run(commands, callback)
  local env, problems, left = {}, {}, vim.tbl_count(commands)
  ---@param name string
  ---@param value string?
  ---@param problem string?
  local function done(name, value, problem)
    env[name], left = value, left - 1
    if problem then
      problems[#problems + 1] = ("the command for %s %s"):format(name, problem)
    end
    if left == 0 then
      table.sort(problems)
      callback(#problems == 0 and env or nil, problems[1])
    end
  end
  for name, command in vim.spairs(commands) do
    local ok, problem = pcall(
      vim.system,
      command,
      { timeout = LIMIT_MS, text = true },
      function(result)
        vim.schedule(function()
          done(name, value_of(result))
        end)
      end
    )
    if not ok then
      local why = tostring(problem):match("ENOENT") and "was not found" or tostring(problem)
      vim.schedule(function()
        done(name, nil, why)
      end)
    end
  end
  if left == 0 then
    callback(env)
  end
end

return M
