--- The present text of a file, from its buffer or else from the disk, and one side of a comparison that follows it. It changes
--- no file.
local location = require("rat.view.location")
local paths = require("rat.document.paths")
local scratch = require("rat.view.scratch")

local api = vim.api
local M = {}

--- Largest file, in bytes, that is read.
local MAX_BYTES = 5 * 1024 * 1024

--- How long changes are collected before they are shown, in milliseconds.
local PAUSE = 20

---@param text string
---@return string[]
function M.lines(text)
  local lines = vim.split(text, "\n", { plain = true })
  if lines[#lines] == "" and #lines > 1 then
    lines[#lines] = nil
  end
  return lines
end

--- Returns the text of a file; nil if it does not exist or is larger than MAX_BYTES.
---@param name string
---@return string?
function M.get(name)
  local stat = vim.uv.fs_stat(name)
  if not stat or stat.type ~= "file" or stat.size > MAX_BYTES then
    return nil
  end
  local buf = location.loaded_buffer(name)
  if buf then
    return table.concat(api.nvim_buf_get_lines(buf, 0, -1, true), "\n") .. "\n"
  end
  local file = io.open(name, "rb")
  local text = file and file:read("*a")
  if file then
    file:close()
  end
  return text and (text:gsub("\r\n", "\n"))
end

---@param path string
---@return string
local function state_on_disk(path)
  local stat = vim.uv.fs_stat(path)
  return stat and ("%d %d %d"):format(stat.mtime.sec, stat.mtime.nsec, stat.size) or ""
end

--- Has a side of a comparison show what a file becomes: in its buffer at once, on disk once the user looks.
---@param side integer
---@param path string real path
function M.follow(side, path)
  local group = api.nvim_create_augroup("rat_present_text_" .. side, {})
  local watched ---@type integer?
  local is_planned, seen = false, state_on_disk(path)
  local function refresh()
    is_planned = false
    if not api.nvim_buf_is_valid(side) then
      return
    end
    local buf = paths.find(path)
    if buf then
      scratch.update(side, api.nvim_buf_get_lines(buf, 0, -1, true))
    elseif state_on_disk(path) ~= seen then
      scratch.update(side, M.lines(M.get(path) or ""))
    end
    seen = state_on_disk(path)
  end
  local function plan()
    if is_planned then
      return
    end
    is_planned = true
    local timer = assert(vim.uv.new_timer())
    local function show()
      timer:close()
      refresh()
    end
    timer:start(PAUSE, 0, vim.schedule_wrap(show))
  end
  local function watch()
    local buf = paths.find(path)
    if not buf or buf == watched then
      return
    end
    watched = buf
    api.nvim_buf_attach(buf, false, {
      on_lines = function()
        if not api.nvim_buf_is_valid(side) then
          return true
        end
        plan()
      end,
      on_reload = plan,
      on_detach = function()
        watched, seen = nil, ""
        plan()
      end,
    })
  end
  watch()
  api.nvim_create_autocmd(
    { "BufReadPost", "BufNewFile", "BufEnter", "FocusGained", "CursorHold" },
    {
      group = group,
      desc = "rat: follow the file of a comparison",
      callback = function()
        watch()
        plan()
      end,
    }
  )
  api.nvim_create_autocmd("BufWipeout", {
    group = group,
    buffer = side,
    once = true,
    callback = function()
      api.nvim_del_augroup_by_id(group)
    end,
  })
end

return M
