--- The files a prompt names: `@path`, and paths of images and sound as terminals paste them. Reads none of them.
local context = require("rat.context")

local M = {}

--- A path with what ends a sentence taken off, and the path itself: a file may be called so.
---@param path string
---@return string[]
local function readings(path)
  return { path, (path:gsub("[.,;:!?]+$", "")) }
end

---@param text string
---@return string[][] paths as they stand there, in several readings each
local function marked(text)
  local found = {}
  for start, path in (" " .. text):gmatch("([%s(])@([^%s]+)") do
    found[#found + 1] = readings(start == "(" and path:gsub("%).*$", "") or path)
  end
  return found
end

--- What a terminal types when an image is dropped on it or pasted: its whole path, in quotes, with backslashes or as an
--- address.
---@param text string
---@return string[][] absolute
local function pasted(text)
  local words = {}
  for _, quoted in ipairs({ "'([/~f][^'\n]+)'", '"([/~f][^"\n]+)"' }) do
    for word in text:gmatch(quoted) do
      words[#words + 1] = word
    end
  end
  for word in (" " .. text):gsub("\\ ", "\1"):gmatch("%s([/~f]%S+)") do
    words[#words + 1] = word:gsub("\1", " "):gsub("\\(.)", "%1")
  end
  local found = {}
  for _, word in ipairs(words) do
    local ok, path = true, word
    if vim.startswith(word, "file://") then
      ok, path = pcall(vim.uri_to_fname, word)
    end
    if ok and path:match("^~?/") then
      found[#found + 1] = vim.tbl_filter(context.media, readings(path))
    end
  end
  return found
end

--- The files a text names.
---@param text string
---@param cwd string what relative paths start from
---@return string[] paths absolute, each once; not all need be files
function M.paths(text, cwd)
  local paths, seen = {}, {}
  for _, names in ipairs(vim.list_extend(marked(text), pasted(text))) do
    for _, name in ipairs(names) do
      local absolute = name:match("^[/~]") and vim.fs.normalize(name) or vim.fs.joinpath(cwd, name)
      if not seen[absolute] and vim.uv.fs_stat(absolute) then
        seen[absolute] = true
        paths[#paths + 1] = absolute
        break
      end
    end
  end
  return paths
end

return M
