--- Creates attachments of lines, buffers, files and selections, with unsaved changes. It sends and stores nothing.
local M = {}

--- Largest file whose text is attached. Of a larger one only the path is, and the binary decides what to send.
local MAX_FILE_BYTES = 1024 * 1024

---@type table<string, string> MIME types by filetype, where they are not text/x-FILETYPE
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

---@type table<string, string> MIME types of files that are not text, by file extension
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

--- Returns the MIME type of an image, audio or PDF file by its extension; nil for any other file.
---@param path string
---@return string?
function M.media(path)
  return media_types[(path:match("%.(%w+)$") or ""):lower()]
end

--- Returns the MIME type for a 'filetype'.
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

--- Returns the URI of a buffer and its name for display.
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

--- Attaches whole lines of a buffer, each with its line end.
---@param buf integer
---@param first integer from 1
---@param last integer inclusive
---@return rat.Attachment
function M.lines(buf, first, last)
  local lines = vim.api.nvim_buf_get_lines(buf, first - 1, last, false)
  return attachment(buf, table.concat(lines, "\n") .. "\n", first, last)
end

--- Attaches a whole buffer. Its last line has a line end if the file would have one.
---@param buf integer
---@return rat.Attachment
function M.buffer(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
  local bo = vim.bo[buf]
  local has_eol = bo.endofline or (bo.fixendofline and not bo.binary)
  return attachment(buf, (has_eol and text ~= "") and text .. "\n" or text)
end

--- Returns the first screen column, from 1, of the character at a position.
---@param position integer[] for |virtcol()|
---@return integer
local function screen_column(position)
  -- Neovim's annotation says boolean, but the function takes a number.
  ---@diagnostic disable-next-line: param-type-mismatch
  return vim.fn.virtcol(position, 1)[1]
end

--- Returns the part of a line that a block selection extended with |$| contains.
---@param lnum integer
---@param left integer first screen column of the block, from 1
---@return string
local function line_from_column(lnum, left)
  local line = vim.fn.getline(lnum) --[[@as string]]
  local width = vim.fn.virtcol({ lnum, "$" }) - 1
  if width < left then
    return ""
  end
  local byte = vim.fn.virtcol2col(0, lnum, left)
  if screen_column({ lnum, byte }) == left then
    return line:sub(byte)
  end
  -- The block starts within a tab or a wide character. As in a yank, its part of that becomes spaces.
  local rest = vim.str_utf_end(line, byte) + byte + 1
  local start = rest <= #line and screen_column({ lnum, rest }) or width + 1
  return (" "):rep((start - left) --[[@as integer]]) .. line:sub(rest)
end

--- Returns the first screen column of a block selection, from 1.
---@param from integer[] one end, as from |getpos()|
---@param to integer[] the other end
---@return integer
local function left_column(from, to)
  local function column(position)
    local byte = math.min(position[3], math.max(#vim.fn.getline(position[2]), 1))
    return screen_column({ position[2], byte, position[4] })
  end
  return math.min(column(from), column(to)) --[[@as integer]]
end

--- Returns the lines of a block selection extended with |$|.
---@param from integer[] one end, as from |getpos()|
---@param to integer[] the other end
---@param first integer line
---@param last integer line
---@return string[]
local function block_to_line_ends(from, to, first, last)
  local left = left_column(from, to)
  local lines = {}
  for lnum = first, last do
    lines[#lines + 1] = line_from_column(lnum, left)
  end
  return lines
end

--- Whether a characterwise selection includes the line end of its last line, which |getregion()| leaves out.
---@param from integer[] one end, as from |getpos()|
---@param to integer[] the other end
---@param last integer line
---@param count integer how many lines |getregion()| returned
---@return boolean
local function includes_line_end(from, to, last, count)
  if vim.o.selection == "exclusive" then
    -- It includes the line end if it ends before the first character of the line below.
    return count == last - math.min(from[2], to[2])
  end
  local final = from[2] == last and (to[2] < last or from[3] > to[3]) and from or to
  return final[3] > #vim.fn.getline(last) and last < vim.fn.line("$")
end

---@param first integer
---@param last integer
---@return string
local function columns(first, last)
  return first == last and ("column %d"):format(first) or ("columns %d-%d"):format(first, last)
end

--- Describes which part of its lines a characterwise selection is.
---@param from integer[] one end, as from |getpos()|
---@param to integer[] the other end
---@param selected string[] lines of the selection
---@return string? words nil if it is whole lines
local function part_of_lines(from, to, selected)
  local start = (from[2] < to[2] or from[2] == to[2] and from[3] <= to[3]) and from or to
  local opening = vim.fn.getline(start[2]) --[[@as string]]
  local before = vim.fn.strchars(opening:sub(1, start[3] - 1))
  -- If the selection includes its last line end, an empty line follows that.
  local count = #selected > 1 and selected[#selected] == "" and #selected - 1 or #selected
  local length = vim.fn.strchars(selected[count]) + (count == 1 and before or 0)
  local is_to_end = count < #selected
    or length >= vim.fn.strchars(vim.fn.getline(start[2] + count - 1) --[[@as string]])
  if before == 0 and is_to_end then
    return nil
  elseif #selected == 1 then
    return columns(before + 1, length)
  end
  local words = { before > 0 and ("from column %d"):format(before + 1) or nil }
  words[#words + 1] = not is_to_end and ("to column %d"):format(length) or nil
  return table.concat(words, " ")
end

--- Attaches exactly the selection in the current window. To be called in Visual mode.
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
    -- |getregion()| does not support a block extended with |$|.
    local block = block_to_line_ends(from, to, first, last)
    local result = attachment(buf, table.concat(block, "\n"), first, last)
    local left = left_column(from, to)
    result.part = left > 1 and ("from column %d"):format(left) or nil
    return result
  end
  local lines = vim.fn.getregion(from, to, { type = mode })
  if mode == "v" and includes_line_end(from, to, last, #lines) then
    last = first + #lines - 1
    lines[#lines + 1] = ""
  end
  local result = attachment(buf, table.concat(lines, "\n"), first, last)
  if mode == "v" then
    result.part = part_of_lines(from, to, lines)
  else
    local left, width = left_column(from, to), 1
    for _, line in ipairs(lines) do
      width = math.max(width, vim.fn.strdisplaywidth(line, left - 1))
    end
    result.part = columns(left, left + width - 1)
  end
  return result
end

--- Returns the loaded buffer of a file, by its real path.
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

--- Reads a file asynchronously.
---@param path string
---@param callback fun(text: string?, stat: uv.fs_stat.result?, problem: string?) called on the main loop; without `text` if
--- the file contains NUL or is too large, without `stat` if it cannot be read
local function read(path, callback)
  local done = vim.schedule_wrap(callback)
  vim.uv.fs_stat(path, function(problem, stat)
    if not stat or stat.type ~= "file" then
      -- Nothing else is opened: reading a pipe would block.
      return done(nil, nil, problem or "not a file")
    elseif stat.size > MAX_FILE_BYTES then
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

--- Attaches a whole file: the text of its buffer if it is loaded, else the text on disk. If it is not text or is too large,
--- the attachment has only its path.
---@param path string absolute
---@param callback fun(found: rat.Attachment?, problem: string?) called on the main loop
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
      return callback(nil, problem or "not a file")
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
