--- Opens files at a line in a window of the user's, never in one of ours, and passes other things to the system's programs.
--- Only paths that exist as a file or folder are opened, so a name chosen by an agent is never read as anything else, such
--- as a URL or a command.
local punctuation = require("rat.util.punctuation")
local notify = require("rat.util.notify")
local splits = require("rat.view.splits")
local text_of = require("rat.util.text")

local M = {}

--- Whether a window can show a file.
---@param win integer
---@return boolean
function M.is_usable(win)
  return win ~= 0
    and vim.api.nvim_win_get_config(win).relative == ""
    and vim.bo[vim.api.nvim_win_get_buf(win)].buftype == ""
    and not vim.wo[win].winfixbuf
    and not vim.wo[win].previewwindow
end

--- Returns a window of the user's that can show a file: the last one they were in, else the first one on the tab page, else
--- one of the tab page they came from, or of the one before if that is closed.
---@param except? integer a window of ours, whatever it shows now
---@return integer?
function M.users_window(except)
  local last = vim.fn.win_getid(vim.fn.winnr("#"))
  if last ~= except and M.is_usable(last) then
    return last
  end
  local here = vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(function(win)
    return win ~= except and M.is_usable(win)
  end)
  local tab = vim.fn.tabpagenr("#")
  tab = tab > 0 and tab or vim.fn.tabpagenr() - 1
  if here or tab == 0 then
    return here
  end
  local there = {
    vim.fn.win_getid(vim.fn.tabpagewinnr(tab), tab),
    vim.fn.win_getid(vim.fn.tabpagewinnr(tab, "#"), tab),
  }
  vim.list_extend(there, vim.api.nvim_tabpage_list_wins(vim.api.nvim_list_tabpages()[tab]))
  return vim.iter(there):find(M.is_usable)
end

--- Returns a name that can only be read as a file: absolute and without `//`, which a URL would have.
---@param path string absolute
---@param real string its real path
---@return string
local function plain_name(path, real)
  local name = vim.fs.normalize(path, { expand_env = false })
  return vim.uv.fs_realpath(name) == real and name or real
end

--- Whether a path is in a file system whose content the kernel generates. Some of those files never end or block a reader,
--- although their type is that of an ordinary file.
---@param real string real path
---@return boolean
local function is_kernel_file(real)
  return vim.startswith(real .. "/", "/proc/") or vim.startswith(real .. "/", "/sys/")
end

--- Resolves a path to an existing file or folder.
---@param path string as an agent wrote it
---@param cwd string base of a relative path
---@return string? name absolute
---@return string? problem why it cannot be opened, as the rest of a sentence that begins with the path
function M.resolve(path, cwd)
  -- A name that is shown as another one is not what the user means to open.
  if text_of.one_line(path) ~= path then
    return nil, "is not a file name"
  end
  local absolute = path:sub(1, 1) == "/" and path or vim.fs.joinpath(cwd, path)
  local real = vim.uv.fs_realpath(absolute)
  local stat = real and vim.uv.fs_stat(real)
  if not (real and stat) then
    return nil, "does not exist"
  elseif stat.type ~= "file" and stat.type ~= "directory" then
    return nil, ("is a %s, not a file"):format(stat.type)
  elseif is_kernel_file(real) then
    return nil, "is a system file, not a file on disk"
  end
  return plain_name(absolute, real)
end

--- Returns the name relative to Neovim's current folder if Vim takes all its characters literally, else the path.
---@param path string absolute
---@param real string?
---@return string
local function short_name(path, real)
  local short = vim.fn.fnamemodify(path, ":.")
  return short:find("^[%w_.][%w_. /-]*$") and vim.uv.fs_realpath(short) == real and short or path
end

---@param path string absolute
---@return integer? buf
local function known_buffer(path)
  local real = vim.uv.fs_realpath(path)
  return vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
    local name = vim.api.nvim_buf_get_name(buf)
    return real and name ~= "" and vim.bo[buf].buftype == "" and vim.uv.fs_realpath(name) == real
  end)
end

--- Returns the loaded buffer of a file.
---@param path string absolute
---@return integer? buf
function M.loaded_buffer(path)
  local buf = known_buffer(path)
  return buf and vim.api.nvim_buf_is_loaded(buf) and buf or nil
end

--- Returns the buffer of a file, which may not exist.
---@param path string absolute
---@return integer buf
function M.buffer_of(path)
  return known_buffer(path) or vim.fn.bufadd(short_name(path, vim.uv.fs_realpath(path)))
end

--- Runs a function with global options set to other values.
---@param options table<string, any>
---@param action fun()
local function with_options(options, action)
  local before = {}
  for name, value in pairs(options) do
    before[name] = vim.go[name]
    vim.go[name] = value
  end
  local ok, problem = pcall(action)
  for name, value in pairs(before) do
    vim.go[name] = value
  end
  assert(ok, problem)
end

--- Shows a buffer in a window. BufReadCmd is ignored, so that its file is read as a file whatever its name looks like.
---@param win integer
---@param buf integer
---@param modelines boolean whether the file's modelines count
local function show(win, buf, modelines)
  local ignored = vim.go.eventignore
  local options = { eventignore = ignored == "" and "BufReadCmd" or ignored .. ",BufReadCmd" }
  if not modelines then
    options.modelines = 0
  end
  with_options(options, function()
    vim.api.nvim_win_set_buf(win, buf)
  end)
end

--- Returns a window for a file: one of the user's, else a new one.
---@param except? integer a window of ours, whatever it shows now
---@return integer
function M.window(except)
  local win = M.users_window(except)
  if not win then
    local blank = vim.api.nvim_create_buf(false, true)
    vim.bo[blank].bufhidden = "wipe"
    return vim.api.nvim_open_win(blank, false, { split = "left", win = -1 })
  end
  local buf = vim.api.nvim_win_get_buf(win)
  if vim.bo[buf].modified and not vim.o.hidden then
    return vim.api.nvim_open_win(buf, false, { split = "above", win = win })
  end
  return win
end

---@class rat.Place
---@field path string
---@field line? integer from 1
---@field cwd? string base of a relative path; by default Neovim's current folder
---@field modelines? boolean false to ignore the file's modelines
---@field split? boolean whether it opens in a split of its own
---@field find? fun(buf: integer): integer? finds the line in the file's buffer, if it is not known before

--- Returns a window that shows a file, else a new split.
---@param path string
---@return integer
local function split_window(path)
  local shown = vim.fn.bufwinid(M.buffer_of(path))
  if shown ~= -1 then
    return shown
  end
  local blank = vim.api.nvim_create_buf(false, true)
  vim.bo[blank].bufhidden = "wipe"
  return splits.open(blank, { split = "below", win = M.users_window() or 0 })
end

--- Opens a file in a window of the user's, at a line. If it cannot be opened, the user is told why.
---@param place rat.Place
---@return boolean opened
function M.open(place)
  local path, problem = M.resolve(place.path, place.cwd or vim.fn.getcwd())
  if not path then
    notify.warn(("%s %s"):format(place.path, problem))
    return false
  end
  local win = place.split and split_window(path) or M.window()
  vim.api.nvim_set_current_win(win)
  vim.cmd("normal! m'")
  -- Not before the window is entered: on that, plugins that show folders may wipe out buffers.
  local buf = M.buffer_of(path)
  vim.bo[buf].buflisted = true
  show(win, buf, place.modelines ~= false)
  local line = place.find and place.find(buf) or place.line
  if line then
    local last = vim.api.nvim_buf_line_count(buf)
    vim.api.nvim_win_set_cursor(win, { math.max(1, math.min(line, last)), 0 })
    vim.cmd("normal! zv")
  end
  return true
end

--- Shows a file at a line in a window, without going there. Nothing is asked or told, for what it may be too early or late for.
---@param win integer
---@param path string absolute, of a file that exists
---@param line integer?
function M.show_in(win, path, line)
  local buf = M.buffer_of(path)
  -- Without the question about a swap file, |E325|.
  with_options({ shortmess = vim.go.shortmess .. "A" }, function()
    if vim.api.nvim_win_get_buf(win) ~= buf then
      show(win, buf, false)
    end
    if line then
      local last = vim.api.nvim_buf_line_count(buf)
      vim.api.nvim_win_set_cursor(win, { math.max(1, math.min(line, last)), 0 })
      vim.api.nvim_win_call(win, function()
        vim.cmd("normal! zvzz")
      end)
    end
  end)
end

--- Opens a file or a URL with |vim.ui.open()|. If that fails, the user is told why.
---@param what string
function M.open_externally(what)
  local ok, job, problem = pcall(vim.ui.open, what)
  local why = ok and problem or not ok and job
  if why then
    why = text_of.one_line(tostring(why))
    -- A name wider than the screen would cause the hit-enter prompt.
    local start = vim.fn.strcharpart(what, 0, 40)
    local shown = start == what and what or start .. punctuation.own("…")
    notify.error(("Could not open %s: %s"):format(shown, why))
  end
end

return M
