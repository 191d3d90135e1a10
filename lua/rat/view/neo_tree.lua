--- Keeps neo-tree from revealing our buffers: it takes the name of the current buffer, such as `rat://claude/1/prompt`, for a
--- path, and offers to change the working folder to `rat:/`.
local M = {}

--- The module of neo-tree that knows which file to reveal.
local MANAGER = "neo-tree.sources.manager"

---@param manager any
---@return any manager
local function teach(manager)
  local path_to_reveal = type(manager) == "table" and manager.get_path_to_reveal
  if type(path_to_reveal) == "function" then
    manager.get_path_to_reveal = function(...)
      if not vim.startswith(vim.api.nvim_buf_get_name(0), "rat://") then
        return path_to_reveal(...)
      end
    end
  end
  return manager
end

local watching = false

--- From now on, neo-tree reveals nothing while the user is in a buffer of ours, whether it is loaded already or later.
function M.watch()
  if watching then
    return
  end
  watching = true
  if package.loaded[MANAGER] then
    teach(package.loaded[MANAGER])
    return
  elseif package.preload[MANAGER] then
    return
  end
  -- |require()| cannot be called for the module that is being loaded, so the other loaders are asked.
  package.preload[MANAGER] = function(name)
    package.preload[MANAGER] = nil
    local problems = ""
    for _, loader in ipairs(package.loaders) do
      local load, place = loader(name)
      if type(load) == "function" then
        return teach(load(name, place))
      end
      problems = problems .. tostring(load or "")
    end
    error(("module '%s' not found:%s"):format(name, problems), 0)
  end
end

return M
