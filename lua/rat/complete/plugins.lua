--- Registers our source with completion plugins, blink.cmp and nvim-cmp, and tells whether one of them offers it.
local M = {}

--- Our sources by the module of their plugin. A source is loaded only if its plugin is loaded.
---@type table<string, fun(): {is_active: fun(): boolean}>
local sources = {
  ["blink.cmp"] = function()
    return require("rat.blink")
  end,
  cmp = function()
    return require("rat.cmp")
  end,
}

--- Registers our source with plugins that require it. To be called before the user types.
function M.prepare()
  if package.loaded.cmp then
    require("rat.cmp").register()
  end
end

--- Whether a completion plugin offers our source in the current buffer, so that our own menu need not open.
---@return boolean
function M.is_active()
  for plugin, source in pairs(sources) do
    -- An error in the plugin is ignored: it is not one of ours.
    local ok, active = pcall(function()
      return package.loaded[plugin] ~= nil and source().is_active()
    end)
    if ok and active then
      return true
    end
  end
  return false
end

return M
