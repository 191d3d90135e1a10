--- Makes attachments: lines, files and selections exactly as the user sees them, saved or not. Sends and keeps nothing.
local M = {}

--- Larger files are named in the prompt, not carried by it.
local FILE_BYTES = 1024 * 1024

---@type table<string, string> MIME type by filetype, where it is not text/x-FILETYPE
local mime_types = {
  [""] = "text/plain",
  text = "text/plain",
  css = "text/css",
  csv = "text/csv",
  html = "text/html",
  javascript = "text/javascript",
  javascriptreact = "text/javascript",
  typescript = "text/typescript",
  typescriptreact = "text/typescript",
  json = "application/json",
  jsonc = "application/json",
  markdown = "text/markdown",
  sh = "application/x-sh",
  bash = "application/x-sh",
  sql = "application/sql",
  toml = "application/toml",
  xml = "application/xml",
  yaml = "application/yaml",
  cpp = "text/x-c++",
  cs = "text/x-csharp",
}

---@type table<string, string> MIME type of what is no text, by the end of the file's name
local media_types = {
  aac = "audio/aac",
  avif = "image/avif",
  bmp = "image/bmp",
  flac = "audio/flac",
  gif = "image/gif",
  heic = "image/heic",
  jpeg = "image/jpeg",
  jpg = "image/jpeg",
  m4a = "audio/mp4",
  mp3 = "audio/mpeg",
  oga = "audio/ogg",
  ogg = "audio/ogg",
  opus = "audio/ogg",
  pdf = "application/pdf",
  png = "image/png",
  tif = "image/tiff",
  tiff = "image/tiff",
  wav = "audio/wav",
  webp = "image/webp",
}

--- The MIME type of a file whose name says that it is no text.
---@param path string
---@return string?
function M.media(path)
  return media_types[(path:match("%.(%w+)$") or ""):lower()]
end

---@param filetype string
---@return string
function M.mime(filetype)
  return mime_types[filetype]
    or filetype:match("^[%w_.+-]+$") and "text/x-" .. filetype
    or "text/plain"
end

---@param path string
---@return string
local function label(path)
  return vim.fn.fnamemodify(path, ":.")
end

--- The address of a buffer and what the user calls it.
---@param buf integer
---@return string uri
---@return string label
local function address(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if name == "" then
    return ("untitled:%d"):format(buf), ("[No Name %d]"):format(buf)
  elseif name:match("^%a[%w+.-]+://") then
    return name, name
  end
  return vim.uri_from_fname(vim.uv.fs_realpath(name) or name), label(name)
end

---@param buf integer
---@param text string
---@param first? integer
---@param last? integer
---@return rat.Attachment
local function attachment(buf, text, first, last)
  local uri, title = address(buf)
  local mime = M.mime(vim.bo[buf].filetype)
  return { uri = uri, label = title, first = first, last = last, mime = mime, text = text }
end

--- Whole lines of a buffer, each with its line end.
---@param buf integer
---@param first integer from 1
---@param last integer included
---@return rat.Attachment
function M.lines(buf, first, last)
  local lines = vim.api.nvim_buf_get_lines(buf, first - 1, last, false)
  return attachment(buf, table.concat(lines, "\n") .. "\n", first, last)
end

--- A whole buffer; its last line has an end if the file would have one.
---@param buf integer
---@return rat.Attachment
function M.buffer(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
  local bo = vim.bo[buf]
  local ends = bo.endofline or (bo.fixendofline and not bo.binary)
  return attachment(buf, (ends and text ~= "") and text .. "\n" or text)
end

--- One line of a block that reaches to the end of each line.
---@param lnum integer
---@param left integer screen column from 1
---@return string
local function to_the_end(lnum, left)
  local line = vim.fn.getline(lnum)
  local width = vim.fn.virtcol({ lnum, "$" }) - 1
  if width < left then
    return ""
  end
  local byte = vim.fn.virtcol2col(0, lnum, left)
  if vim.fn.virtcol({ lnum, byte }, 1)[1] == left then
    return line:sub(byte)
  end
  -- The block starts inside a tab or a wide character: what it cuts becomes spaces.
  local rest = vim.str_utf_end(line, byte) + byte + 1
  local start = rest <= #line and vim.fn.virtcol({ lnum, rest }, 1)[1] or width + 1
  return (" "):rep(start - left) .. line:sub(rest)
end

---@param from integer[] as |getpos()| gives it
---@param to integer[]
---@param first integer
---@param last integer
---@return string[]
local function block_to_the_end(from, to, first, last)
  local function column(position)
    local byte = math.min(position[3], math.max(#vim.fn.getline(position[2]), 1))
    return vim.fn.virtcol({ position[2], byte, position[4] }, 1)[1]
  end
  local left = math.min(column(from), column(to))
  local lines = {}
  for lnum = first, last do
    lines[#lines + 1] = to_the_end(lnum, left)
  end
  return lines
end

--- Whether a characterwise selection takes the end of its last line too, which |getregion()| leaves out.
---@param from integer[] as |getpos()| gives it
---@param to integer[]
---@param last integer line
---@param count integer how many lines |getregion()| found
---@return boolean
local function takes_line_end(from, to, last, count)
  if vim.o.selection == "exclusive" then
    -- It ends before the first character of the line below.
    return count == last - math.min(from[2], to[2])
  end
  local final = from[2] == last and (to[2] < last or from[3] > to[3]) and from or to
  return final[3] > #vim.fn.getline(last) and last < vim.fn.line("$")
end

--- Exactly what is selected in the current window; call it in Visual mode.
---@return rat.Attachment
function M.selection()
  local mode = vim.fn.mode()
  local from, to = vim.fn.getpos("v"), vim.fn.getpos(".")
  local buf = vim.api.nvim_get_current_buf()
  local first, last = math.min(from[2], to[2]), math.max(from[2], to[2])
  if mode == "V" then
    return M.lines(buf, first, last)
  end
  if mode ~= "v" and vim.fn.winsaveview().curswant == vim.v.maxcol then
    -- |getregion()| does not know of a block with |$|.
    local block = block_to_the_end(from, to, first, last)
    return attachment(buf, table.concat(block, "\n"), first, last)
  end
  local lines = vim.fn.getregion(from, to, { type = mode })
  if mode == "v" and takes_line_end(from, to, last, #lines) then
    last = first + #lines - 1
    lines[#lines + 1] = ""
  end
  return attachment(buf, table.concat(lines, "\n"), first, last)
end

--- The loaded buffer of a file, by its real path.
---@param path string
---@return integer?
local function loaded(path)
  local real = vim.uv.fs_realpath(path)
  for _, buf in ipairs(real and vim.api.nvim_list_bufs() or {}) do
    local name = vim.api.nvim_buf_get_name(buf)
    if vim.api.nvim_buf_is_loaded(buf) and name ~= "" and vim.uv.fs_realpath(name) == real then
      return buf
    end
  end
end

--- Reads a file off the main loop.
---@param path string
---@param callback fun(text: string?, stat: uv.fs_stat.result?, problem: string?) on the main loop; no text of one that
--- holds NUL or is too large
local function read(path, callback)
  local done = vim.schedule_wrap(callback)
  vim.uv.fs_stat(path, function(problem, stat)
    if not stat or stat.type ~= "file" then
      -- What is no file is not opened: a pipe would wait.
      return done(nil, nil, problem or "it is no file")
    elseif stat.size > FILE_BYTES then
      return done(nil, stat)
    end
    vim.uv.fs_open(path, "r", 438, function(failed, fd)
      if not fd then
        return done(nil, nil, failed)
      end
      vim.uv.fs_read(fd, stat.size, 0, function(unread, text)
        vim.uv.fs_close(fd, function() end)
        local is_text = text and not text:find("\0", 1, true)
        done(is_text and text or nil, text and stat, unread)
      end)
    end)
  end)
end

--- A whole file: its buffer where it is loaded, else what is on disk. What is no text, or too much of it, goes as the
--- file it is.
---@param path string absolute
---@param callback fun(found: rat.Attachment?, problem: string?) on the main loop
function M.file(path, callback)
  local media = M.media(path)
  local buf = not media and loaded(path)
  if buf then
    return callback(M.buffer(buf))
  end
  local found = { uri = vim.uri_from_fname(vim.uv.fs_realpath(path) or path), label = label(path) }
  if media then
    found.mime, found.path = media, path
    local stat, problem = vim.uv.fs_stat(path)
    if not stat or stat.type ~= "file" then
      return callback(nil, problem or "it is no file")
    end
    return callback(found)
  end
  read(path, function(text, stat, problem)
    if not stat then
      return callback(nil, problem)
    elseif text then
      found.text = text
      found.mime = M.mime(vim.filetype.match({ filename = path }) or "")
    else
      found.path = path
    end
    callback(found)
  end)
end

return M
