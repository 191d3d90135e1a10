--- Renders a form or a URL as rows of text with line formats. It opens and changes nothing.
local config_keys = require("rat.config.keys")
local punctuation = require("rat.util.punctuation")
local icons = require("rat.view.icons")
local text_of = require("rat.util.text")

local one_line = text_of.one_line

local M = {}

---@class rat.Row
---@field text string
---@field format? string see `rat.view.line_format`
---@field key? string key of the field it belongs to
---@field item? string value of the choice it shows
---@field head? boolean whether it is the first row of its field
---@field needed? boolean whether its field is required and empty

--- Appends a text in as many rows as it needs.
---@param rows rat.Row[]
---@param text string
---@param width integer cells
---@param row? rat.Row fields of all these rows; its text is their indent
local function wrap(rows, text, width, row)
  local indent = row and row.text or " "
  local lines = text_of.wrap(text, width - vim.fn.strdisplaywidth(indent))
  for _, line in ipairs(lines) do
    local new = vim.tbl_extend("force", row or {}, { text = indent .. one_line(line) })
    rows[#rows + 1] = new
  end
end

---@param field rat.Field
---@param value string|boolean|string[]|nil
---@return string text
---@return boolean is_set
local function value_text(field, value)
  if value == nil or value == "" then
    return "(empty)", false
  elseif field.kind == "boolean" then
    return value and "yes" or "no", true
  elseif field.kind == "choice" then
    for _, choice in ipairs(field.choices) do
      if choice.value == value then
        return one_line(choice.name), true
      end
    end
  end
  local lines = vim.split(tostring(value), "\n", { plain = true })
  local more = #lines > 1 and punctuation.own(" … %d lines"):format(#lines) or ""
  return one_line(lines[1]) .. more, true
end

---@param rows rat.Row[]
---@param form rat.Form
---@param field rat.Field
---@param width integer
local function add_field(rows, form, field, width)
  local title, key = one_line(field.title), field.key
  local head = (" %s: "):format(title)
  if field.kind == "several" then
    rows[#rows + 1] = { text = head, format = ("x|1,%dB||"):format(#head), key = key, head = true }
    for _, choice in ipairs(field.choices) do
      local chosen = form.values[key] --[[@as string[]?]] or {}
      local on = vim.list_contains(chosen, choice.value)
      local text = ("   [%s] %s"):format(on and "x" or " ", one_line(choice.name))
      local format = on and "x|3,6K||" or "x|3,6T||"
      if choice.description then
        text = text .. punctuation.own(" · ") .. one_line(choice.description)
      end
      rows[#rows + 1] = { text = text, format = format, key = key, item = choice.value }
    end
  elseif field.kind == "unknown" then
    local text = head .. "cannot be filled in here"
    local format = ("x|1,%dB%d,%dN||"):format(#head, #head, #text)
    rows[#rows + 1] = { text = text, format = format, key = key, head = true }
  else
    local value, is_set = value_text(field, form.values[key])
    local draft = form.drafts[key]
    local text = head
      .. value
      .. (draft and punctuation.own(" · draft: ") .. text_of.first_line(one_line(draft)) or "")
    local format = ("x|1,%dB%d,%d%s||"):format(#head, #head, #text, is_set and "P" or "N")
    local needed = field.required and not is_set
    rows[#rows + 1] = { text = text, format = format, key = key, head = true, needed = needed }
  end
  ---@type string[]
  local about = field.required and { "required" } or {}
  vim.list_extend(about, { field.allows, field.description })
  wrap(rows, punctuation.join(about), width, { text = "   ", format = "n|||", key = key })
  if form.problems[key] then
    wrap(
      rows,
      icons.get("failed") .. " " .. form.problems[key],
      width,
      { text = "   ", format = "E|||", key = key }
    )
  end
end

--- Returns the rows of a form or a URL in its current state.
---@param form rat.Form
---@param width integer cells
---@param keys? string[] descriptions of keys to show at the top
---@return rat.Row[]
function M.rows(form, width, keys)
  local rows = {}
  for _, key in ipairs(keys or {}) do
    local last = rows[#rows]
    if last and vim.fn.strdisplaywidth(last.text .. punctuation.own(" · ") .. key) <= width then
      last.text = last.text .. punctuation.own(" · ") .. key
    else
      rows[#rows + 1] = { text = " " .. key, format = "n|||" }
    end
  end
  -- The agent's message is marked as a quote, so that no line of it can pass for one of ours.
  wrap(rows, form.message, width, { text = " " .. icons.get("bar") .. " ", format = "q|||" })
  if form.title then
    wrap(rows, form.title, width, { text = " ", format = "2|||" })
  end
  if form.description then
    wrap(rows, form.description, width, { text = " ", format = "n|||" })
  end
  rows[#rows + 1] = { text = "" }
  for _, field in ipairs(form.fields or {}) do
    add_field(rows, form, field, width)
  end
  if form.mode == "url" then
    -- The URL is on one line of its own, so that it can be yanked.
    rows[#rows + 1] = { text = form.url, format = ("x|0,%dU||"):format(#form.url) }
    local host = " host: " .. form.host
    rows[#rows + 1] = { text = host, format = ("x|7,%dB||"):format(#host) }
    for _, warning in ipairs(form.warnings or {}) do
      wrap(rows, "! " .. warning, width, { text = " ", format = "W|||" })
    end
    local nothing = ("Nothing opens until you press %s."):format(config_keys.name("ga"))
    wrap(rows, nothing, width, { text = " ", format = "n|||" })
  elseif #form.fields == 0 then
    wrap(rows, "This form has no fields.", width, { text = " ", format = "n|||" })
  end
  return rows
end

return M
