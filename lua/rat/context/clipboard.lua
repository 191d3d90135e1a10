--- Writes the image in the clipboard to a file, by the program that reads the clipboard of this system. Nothing waits for it.
local private_file = require("rat.util.private_file")

local M = {}

--- How long the program may take, in milliseconds, and how long images are kept, in seconds.
local LIMIT_MS, KEPT_S = 5000, 7 * 24 * 3600

local PNG = "\137PNG\r\n\26\n"

---@type {program: string, args: string[], variable?: string}[] the variable is set where the program can work
local readers = {
  { program = "pngpaste", args = { "-" } },
  {
    program = "wl-paste",
    args = { "--no-newline", "--type", "image/png" },
    variable = "WAYLAND_DISPLAY",
  },
  {
    program = "xclip",
    args = { "-selection", "clipboard", "-target", "image/png", "-out" },
    variable = "DISPLAY",
  },
}

---@return string[]? command
local function command()
  for _, reader in ipairs(readers) do
    local has_display = not reader.variable or (vim.env[reader.variable] or "") ~= ""
    if has_display and vim.fn.executable(reader.program) == 1 then
      return vim.list_extend({ reader.program }, reader.args)
    end
  end
end

--- Removes images that were pasted long ago. Drafts may name later ones.
---@param folder string
local function clean(folder)
  for name in vim.fs.dir(folder) do
    local path = vim.fs.joinpath(folder, name)
    local stat = vim.uv.fs_stat(path)
    if stat and os.time() - stat.mtime.sec > KEPT_S then
      vim.uv.fs_unlink(path)
    end
  end
end

---@param data string
---@param callback fun(path: string?, problem: string?)
local function write(data, callback)
  local folder = vim.fs.joinpath(private_file.root(), "pasted")
  clean(folder)
  local name = ("%s-%d.png"):format(os.date("%Y%m%d-%H%M%S"), vim.uv.hrtime() % 1000000)
  local path = vim.fs.joinpath(folder, name)
  private_file.replace(
    path,
    data,
    vim.schedule_wrap(function()
      if vim.uv.fs_stat(path) then
        return callback(path)
      end
      callback(nil, ("Could not write the image to %s"):format(folder))
    end)
  )
end

--- Writes the image in the clipboard to a file.
---@param callback fun(path: string?, problem: string?) called on the main loop
function M.image(callback)
  local read = command()
  if not read then
    local text = "No program reads images from the clipboard. Install wl-paste, xclip or pngpaste."
    return callback(nil, text)
  end
  local started = pcall(
    vim.system,
    read,
    { text = false, timeout = LIMIT_MS },
    vim.schedule_wrap(function(result)
      local data = result.code == 0 and result.stdout or ""
      if not vim.startswith(data, PNG) then
        return callback(nil, "There is no image in the clipboard")
      end
      write(data, callback)
    end)
  )
  if not started then
    callback(nil, ("Could not start %s"):format(read[1]))
  end
end

return M
