--- Finds what a prompt mentions: providers of context as `@name`, files as `@path`, and paths of images and audio as
--- terminals paste them. It reads none of them.
local attachment = require("rat.context.attachment")
local provider = require("rat.context")

local M = {}

--- Returns a path as it is, since a file may have any name, and without punctuation that ends a sentence.
---@param path string
---@return string[]
local function variants(path)
  return { path, (path:gsub("[.,;:!?]+$", "")) }
end

--- Limits of a name with blanks: how many blanks, and how many bytes after the first one.
local MAX_BLANKS, MAX_BYTES = 5, 300

--- Returns the names after each `@`, in all variants that may be meant: they may contain blanks.
---@param text string
---@return string[][] names the variants of each
local function at_mentions(text)
  local found, padded = {}, " " .. text
  for start, path, after in padded:gmatch("([%s(])@([^%s]+)()") do
    ---@cast after any
    local names = variants(start == "(" and path:gsub("%).*$", "") or path)
    local rest, blanks = padded:sub(after, after + MAX_BYTES):match("^[^\n]*"), 0
    ---@cast rest string
    for word in rest:gmatch("[ \t]+%S+") do
      blanks = blanks + 1
      if blanks > MAX_BLANKS then
        break
      end
      path = path .. word
      vim.list_extend(names, variants(path))
    end
    found[#found + 1] = names
  end
  return found
end

--- Returns the paths of media files that a terminal inserts when a file is dropped on it: the full path, in quotes, with
--- backslashes or as a URI.
---@param text string
---@return string[][] paths absolute, the variants of each
local function pasted_paths(text)
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
    ---@type boolean, any
    local ok, path = true, word
    if vim.startswith(word, "file://") then
      ok, path = pcall(vim.uri_to_fname, word)
    end
    if ok and path:match("^~?/") then
      found[#found + 1] = vim.tbl_filter(attachment.media, variants(path --[[@as string]]))
    end
  end
  return found
end

--- Returns the first of several paths that exists.
---@param names string[]
---@param cwd string
---@return string? absolute
local function first_existing(names, cwd)
  for _, name in ipairs(names) do
    local absolute = name:match("^[/~]") and vim.fs.normalize(name) or vim.fs.joinpath(cwd, name)
    if vim.uv.fs_stat(absolute) then
      return absolute
    end
  end
end

--- Returns a text without its code, where an `@` has other meanings.
---@param text string
---@return string
local function prose_of(text)
  -- Code is replaced by a backtick, not a blank, so that an `@` right after code is no mention.
  return (text:gsub("```.-```", "`"):gsub("`[^`\n]*`", "`"))
end

--- Returns the providers that a text mentions outside of code.
---@param text string
---@return rat.Mention[] mentions each once
function M.contexts(text)
  local found, seen = {}, {}
  for _, names in ipairs(at_mentions(prose_of(text))) do
    local mention = provider.mention("@" .. names[1])
    if mention and not seen[mention.word] then
      seen[mention.word] = true
      found[#found + 1] = mention
    end
  end
  return found
end

--- Returns the files that a text mentions, and the `@names` that do not exist. A provider's name is no file, and missing
--- names in code are left out.
---@param text string
---@param cwd string base of relative paths
---@return string[] paths absolute, each once; some may be folders
---@return string[] missing with their `@`, each once
function M.read(text, cwd)
  local paths, seen, exists = {}, {}, {}
  for _, mention in ipairs(M.contexts(text)) do
    seen[mention.word] = true
  end
  local function is_context(names)
    local mention = names[1] and provider.mention("@" .. names[1])
    return mention ~= nil and seen[mention.word] == true
  end
  for _, names in ipairs(vim.list_extend(at_mentions(text), pasted_paths(text))) do
    local absolute = not is_context(names) and first_existing(names, cwd)
    if absolute then
      exists[names[1]] = true
      if not seen[absolute] then
        seen[absolute] = true
        paths[#paths + 1] = absolute
      end
    end
  end
  local missing = {}
  for _, names in ipairs(at_mentions(prose_of(text))) do
    local name = "@" .. names[2]
    local is_known = exists[names[1]] or is_context(names)
    if #name > 1 and not is_known and not vim.list_contains(missing, name) then
      missing[#missing + 1] = name
    end
  end
  return paths, missing
end

return M
