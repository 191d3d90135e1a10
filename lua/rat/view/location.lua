--- Shows a place in a file in a window of the user's, never in one of ours, and hands what is no text to the system. Only
--- what is on the file system is ever opened: a name that an agent made up is a name, not a command.
local M = {}

---@param win integer
---@return boolean
local function fits(win)
  return win ~= 0
    and vim.api.nvim_win_get_config(win).relative == ""
    and vim.bo[vim.api.nvim_win_get_buf(win)].buftype == ""
    and not vim.wo[win].winfixbuf
    and not vim.wo[win].previewwindow
end

--- A window of the user's that can show a file: the last one they were in, else the first, else one of the tab page
--- they came from.
---@param except? integer one of ours, whatever it shows now
---@return integer?
function M.users_window(except)
  local last = vim.fn.win_getid(vim.fn.winnr("#"))
  if last ~= except and fits(last) then
    return last
  end
  local here = vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(function(win)
    return win ~= except and fits(win)
  end)
  local tab = vim.fn.tabpagenr("#")
  if here or tab == 0 then
    return here
  end
  local there = vim.fn.win_getid(vim.fn.tabpagewinnr(tab), tab)
  return fits(there) and there or nil
end

--- A name for a file that can be read as nothing else: absolute, without `//`, which all names of other schemes have.
---@param path string absolute
---@param real string where it leads
---@return string
local function plain_name(path, real)
  local name = vim.fs.normalize(path, { expand_env = false })
  return vim.uv.fs_realpath(name) == real and name or real
end

--- Whether a path leads to what the kernel makes up as it is read: some of it never ends, or keeps Neovim waiting, though
--- it says that it is a file.
---@param real string
---@return boolean
local function is_made_up(real)
  return vim.startswith(real .. "/", "/proc/") or vim.startswith(real .. "/", "/sys/")
end

--- The file or folder that a path names.
---@param path string as an agent wrote it
---@param cwd string what a relative path starts from
---@return string? name absolute
---@return string? problem why there is nothing to open, in words that follow the path
function M.resolve(path, cwd)
  -- What would be shown as another name is not what the user means to open.
  if require("rat.text").one_line(path) ~= path then
    return nil, "is not the name of a file"
  end
  local absolute = path:sub(1, 1) == "/" and path or vim.fs.joinpath(cwd, path)
  local real = vim.uv.fs_realpath(absolute)
  local stat = real and vim.uv.fs_stat(real)
  if not (real and stat) then
    return nil, "does not exist"
  elseif stat.type ~= "file" and stat.type ~= "directory" then
    return nil, ("is a %s, not a file"):format(stat.type)
  elseif is_made_up(real) then
    return nil, "belongs to the system, not to a disk"
  end
  return plain_name(absolute, real)
end

--- The name relative to Neovim's folder, if Vim reads every character of it literally.
---@param path string absolute
---@param real string?
---@return string
local function short_name(path, real)
  local short = vim.fn.fnamemodify(path, ":.")
  return short:find("^[%w_.][%w_. /-]*$") and vim.uv.fs_realpath(short) == real and short or path
end

---@param path string absolute
---@return integer buf
local function buffer_of(path)
  local real = vim.uv.fs_realpath(path)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if real and name ~= "" and vim.bo[buf].buftype == "" and vim.uv.fs_realpath(name) == real then
      return buf
    end
  end
  return vim.fn.bufadd(short_name(path, real))
end

--- Runs with options of Neovim's set to other values.
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

--- Shows a buffer in a window, its file read as a file whatever its name looks like.
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

--- A window for a file: one of the user's, else a new one.
---@param except? integer one of ours, whatever it shows now
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
---@field cwd? string what a relative path starts from; without it Neovim's
---@field modelines? boolean false: the file's modelines do not count

--- Shows a place in a file, in a window that was there before ours. Where there is no such file, the user is told.
---@param place rat.Place
---@return boolean opened
function M.open(place)
  local path, problem = M.resolve(place.path, place.cwd or vim.fn.getcwd())
  if not path then
    require("rat.say").warn(("%s %s"):format(place.path, problem))
    return false
  end
  local win = M.window()
  vim.api.nvim_set_current_win(win)
  vim.cmd("normal! m'")
  -- Not before the window is entered: that has plugins which show folders wipe out buffers.
  local buf = buffer_of(path)
  vim.bo[buf].buflisted = true
  show(win, buf, place.modelines ~= false)
  if place.line then
    local last = vim.api.nvim_buf_line_count(buf)
    vim.api.nvim_win_set_cursor(win, { math.max(1, math.min(place.line, last)), 0 })
    vim.cmd("normal! zv")
  end
  return true
end

--- The file under the cursor with its line, where there is one: `src/main.rs`, `src/main.rs:7`, `(src/main.rs:7:2)`.
---@param cwd string
---@return rat.Place?
local function under_cursor(cwd)
  local column = vim.api.nvim_win_get_cursor(0)[2] + 1
  local text = vim.api.nvim_get_current_line()
  for first, word, after in text:gmatch("()([^%s\"'`()<>|,;]+)()") do
    if first <= column and column < after then
      local line = tonumber(word:match(":(%d+)"))
      for _, path in ipairs({ word, (word:gsub(":%d+.*$", "")), (word:gsub("[.:!?]+$", "")) }) do
        if M.resolve(path, cwd) then
          return { path = path, line = line, cwd = cwd }
        end
      end
    end
  end
end

--- Opens the file under the cursor.
---@param cwd? string what a relative path starts from; without it Neovim's
---@param quietly? boolean where there is none, nobody is told
function M.open_under_cursor(cwd, quietly)
  local place = under_cursor(cwd or vim.fn.getcwd())
  if place then
    M.open(place)
  elseif not quietly then
    require("rat.say").info("there is no file under the cursor")
  end
end

--- How far from the cursor an address is looked for: lines may be of any length.
local LONGEST_ADDRESS = 1000

--- The address under the cursor: that of a link whose words are there, or one that is written out.
---@return string?
local function address_under_cursor()
  local column = vim.api.nvim_win_get_cursor(0)[2] + 1
  local start = math.max(1, column - LONGEST_ADDRESS)
  local text = vim.api.nvim_get_current_line():sub(start, column + LONGEST_ADDRESS)
  column = column - start + 1
  for first, target, after in text:gmatch("()%[[^%[%]]*%](%b())()") do
    if first <= column and column < after then
      return target:sub(2, -2):match("^%s*<?([^%s<>]+)")
    end
  end
  for first, word, after in text:gmatch("()(%S+)()") do
    if first <= column and column < after then
      local address = word:gsub("^[^%w]+", ""):match("^[^<>\"'`|]*"):gsub("[.,;:!?]+$", "")
      return address:find("(", 1, true) and address or (address:gsub("%)+$", ""))
    end
  end
end

--- Opens the address under the cursor in the user's browser, and says which: a link's words may name another.
function M.open_link()
  local address = address_under_cursor() or ""
  local is_link = address:find("^https?://.") or address:find("^mailto:.")
  if not is_link or require("rat.text").one_line(address) ~= address then
    return require("rat.say").info("there is no link under the cursor")
  end
  require("rat.say").info("Opening " .. address)
  M.hand_over(address)
end

--- Neovim's own keys that open the file under the cursor, |gf|.
M.FILE_KEYS = { "gf", "gF", "<C-w>f", "<C-w><C-f>", "<C-w>F", "<C-w>gf", "<C-w>gF" }

--- Maps them in a buffer that shows an agent's words: Neovim's own ones take `term://..` for the name of a file, too.
---@param buf integer
function M.guard_keys(buf)
  for _, lhs in ipairs(M.FILE_KEYS) do
    vim.keymap.set({ "n", "x" }, lhs, function()
      M.open_under_cursor()
    end, { buffer = buf, desc = "rat: open the file under the cursor" })
  end
end

--- Opens something with whatever the system, or the user's own `vim.ui.open`, has for it.
---@param what string a file or an address
function M.hand_over(what)
  local ok, job, problem = pcall(vim.ui.open, what)
  local why = ok and problem or not ok and job
  if why then
    why = require("rat.text").one_line(tostring(why))
    -- A word longer than the screen is wide would stop at the hit-enter prompt.
    local start = vim.fn.strcharpart(what, 0, 40)
    local shown = start == what and what or start .. "…"
    require("rat.say").error(("could not be opened (%s): %s"):format(why, shown))
  end
end

return M
