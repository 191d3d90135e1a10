--- A form or an address as rows of text with their looks. It shows and changes nothing.
local one_line = require("rat.text").one_line

local M = {}

---@class rat.Row
---@field text string
---@field look? string as `rat.look` has it
---@field key? string the field it belongs to
---@field item? string the choice it stands for
---@field head? boolean the first row of its field
---@field needed? boolean something has to be entered there and is not

---@param rows rat.Row[]
---@param text string
---@param width integer cells
---@param row? rat.Row what all its rows have
local function wrap(rows, text, width, row)
  local indent = row and row.text or " "
  local lines = require("rat.text").wrap(text, width - vim.fn.strdisplaywidth(indent))
  for _, line in ipairs(lines) do
    local new = vim.tbl_extend("force", row or {}, { text = indent .. one_line(line) })
    rows[#rows + 1] = new
  end
end

---@param field rat.Field
---@param value string|boolean|string[]|nil
---@return string text
---@return boolean is_set
local function shown(field, value)
  if value == nil or value == "" then
    return "nothing yet", false
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
  local more = #lines > 1 and (" … %d lines"):format(#lines) or ""
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
    rows[#rows + 1] = { text = head, look = ("x|1,%dB||"):format(#head), key = key, head = true }
    for _, choice in ipairs(field.choices) do
      local on = vim.list_contains(form.values[key] or {}, choice.value)
      local text = ("   [%s] %s"):format(on and "x" or " ", one_line(choice.name))
      local look = on and "x|3,6K||" or "x|3,6T||"
      if choice.description then
        text = text .. " · " .. one_line(choice.description)
      end
      rows[#rows + 1] = { text = text, look = look, key = key, item = choice.value }
    end
  elseif field.kind == "unknown" then
    local text = head .. "cannot be filled in here"
    local look = ("x|1,%dB%d,%dN||"):format(#head, #head, #text)
    rows[#rows + 1] = { text = text, look = look, key = key, head = true }
  else
    local value, is_set = shown(field, form.values[key])
    local text = head .. value
    local look = ("x|1,%dB%d,%d%s||"):format(#head, #head, #text, is_set and "P" or "N")
    local needed = field.required and not is_set
    rows[#rows + 1] = { text = text, look = look, key = key, head = true, needed = needed }
  end
  local about = { field.required and "needed" or nil }
  vim.list_extend(about, { field.allows, field.description })
  wrap(rows, table.concat(about, " · "), width, { text = "   ", look = "n|||", key = key })
  if form.problems[key] then
    wrap(rows, "✗ " .. form.problems[key], width, { text = "   ", look = "E|||", key = key })
  end
end

--- The rows of a form or an address, as it is now.
---@param form rat.Form
---@param width integer cells
---@param keys? string[] what stands above it
---@return rat.Row[]
function M.rows(form, width, keys)
  local rows = {}
  for _, key in ipairs(keys or {}) do
    local last = rows[#rows]
    if last and vim.fn.strdisplaywidth(last.text .. " · " .. key) <= width then
      last.text = last.text .. " · " .. key
    else
      rows[#rows + 1] = { text = " " .. key, look = "n|||" }
    end
  end
  -- Marked, so that nothing in it passes for a row of ours.
  wrap(rows, form.message, width, { text = " │ ", look = "q|||" })
  if form.title then
    wrap(rows, form.title, width, { text = " ", look = "2|||" })
  end
  if form.description then
    wrap(rows, form.description, width, { text = " ", look = "n|||" })
  end
  rows[#rows + 1] = { text = "" }
  for _, field in ipairs(form.fields or {}) do
    add_field(rows, form, field, width)
  end
  if form.mode == "url" then
    -- On a line of its own, whole, so that it can be yanked.
    rows[#rows + 1] = { text = form.url, look = ("x|0,%dU||"):format(#form.url) }
    local host = " leads to " .. form.host
    rows[#rows + 1] = { text = host, look = ("x|10,%dB||"):format(#host) }
    for _, warning in ipairs(form.warnings or {}) do
      wrap(rows, "! " .. warning, width, { text = " ", look = "W|||" })
    end
    wrap(rows, "Nothing is opened before you say so.", width, { text = " ", look = "n|||" })
  elseif #form.fields == 0 then
    wrap(rows, "There is nothing to fill in.", width, { text = " ", look = "n|||" })
  end
  return rows
end

return M
