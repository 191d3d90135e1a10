--- Creates attachments of lines, buffers and files, with unsaved changes. It sends and stores nothing.
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

--- Creates an attachment of a text in a buffer.
---@param buf integer
---@param text string
---@param first? integer first line, from 1; nil for the whole buffer
---@param last? integer inclusive
---@return rat.Attachment
function M.of(buf, text, first, last)
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
  return M.of(buf, table.concat(lines, "\n") .. "\n", first, last)
end

--- Attaches a whole buffer. Its last line has a line end if the file would have one.
---@param buf integer
---@return rat.Attachment
function M.buffer(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
  local bo = vim.bo[buf]
  local has_eol = bo.endofline or (bo.fixendofline and not bo.binary)
  return M.of(buf, (has_eol and text ~= "") and text .. "\n" or text)
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

--- Says why something is not attached.
---@param stat uv.fs_stat.result? of what is not a file
---@return string
local function obstacle(stat)
  return stat and stat.type == "directory" and "it is a folder" or "it is not a file"
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
      return done(nil, nil, problem or obstacle(stat))
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
      return callback(nil, problem or obstacle(stat))
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
