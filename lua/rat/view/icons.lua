--- The signs of our buffers, as the user has chosen them with the option `icons`, and the words for them in text mode.
local config = require("rat.config")

local M = {}

---@alias rat.Icon "pending"|"running"|"done"|"failed"|"cancelled"|"bar"|"branch"|"corner"|"speaker"|"thought"|"queued"|"fold"|"dot"|"gap"

--- The signs that the binary uses, which stand for the icons.
---@type table<rat.Icon, string>
local UNICODE = {
  pending = "○",
  running = "●",
  done = "✓",
  failed = "✗",
  cancelled = "⊘",
  bar = "│",
  branch = "├",
  corner = "└",
  speaker = "▌",
  thought = "◦",
  queued = "»",
  fold = "▸",
  dot = "·",
  gap = "⋯",
}

---@type table<rat.Icon, string>
local ASCII = {
  pending = "o",
  running = "*",
  done = "+",
  failed = "x",
  cancelled = "-",
  bar = "|",
  branch = "|",
  corner = "`",
  speaker = "#",
  thought = "~",
  queued = ">",
  fold = ">",
  dot = "-",
  gap = ":",
}

---@type table<rat.Icon, string>
local WORDS = {
  pending = "[pending]",
  running = "[running]",
  done = "[done]",
  failed = "[failed]",
  cancelled = "[cancelled]",
  bar = "|",
  branch = "|",
  corner = "|",
}

---@return table<rat.Icon, string>
local function chosen()
  local icons = config.get().icons
  if icons == "ascii" or config.get().text_mode then
    return ASCII
  end
  return type(icons) == "table" and icons or {}
end

--- Returns an icon.
---@param name rat.Icon
---@return string
function M.get(name)
  return chosen()[name] or UNICODE[name]
end

--- The names of the signs that the binary uses.
---@type table<string, rat.Icon>
local NAMES = {}
for name, sign in pairs(UNICODE) do
  NAMES[sign] = name
end

--- Returns a text of the binary's with other signs.
---@param text string
---@param signs table<rat.Icon, string>
---@return string
local function replace(text, signs)
  return (
    text:gsub("[^\128-\191][\128-\191]*", function(character)
      return signs[NAMES[character]]
    end)
  )
end

--- Returns a prefix of the binary's with the chosen signs. It has as many characters as before.
---@param prefix string
---@return string
function M.prefix(prefix)
  return replace(prefix, chosen())
end

--- Returns a prefix of the binary's as words.
---@param prefix string
---@return string
function M.words(prefix)
  return replace(prefix, WORDS)
end

return M
