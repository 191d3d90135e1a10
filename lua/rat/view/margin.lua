--- Draws the frame of a card and other prefixes of lines as virtual text over the blanks that the lines begin with. The bar
--- is drawn on every screen line of a wrapped line, since 'breakindent' indents all of them by the same blanks.
local icons = require("rat.view.icons")

local api = vim.api

local M = {}

--- Extmarks with the prefixes.
local PREFIX = api.nvim_create_namespace("rat_margin")

--- In a narrow window Neovim reduces the indent so that a wrapped screen line has this many columns for text: the default
--- of `min` in 'breakindentopt'.
local MIN_TEXT = 20

local BAR, BAR_COLUMNS = "  │ ", 4

--- Shortens a prefix with wide characters ('ambiwidth') to as many columns as it has characters, so that it covers only
--- the blanks of its line.
---@param prefix string
---@return string
local function fit_columns(prefix)
  local columns = vim.fn.strchars(prefix)
  while vim.startswith(prefix, " ") and vim.fn.strdisplaywidth(prefix) > columns do
    prefix = prefix:sub(2)
  end
  return prefix
end

--- Sets the prefixes of lines. One that begins with a blank is drawn over the line's blanks, others are inserted before
--- the text.
---@param buf integer
---@param first integer row that the rows of the prefixes are counted from
---@param prefixes any[] a row, a text and the name of its highlighting, again and again
---@param group_of fun(name: any): string
function M.set(buf, first, prefixes, group_of)
  ---@type table<string, string>
  local fitted = {}
  for i = 1, #prefixes, 3 do
    local prefix = icons.prefix(prefixes[i + 1])
    local is_indent = vim.startswith(prefix, " ")
    if is_indent and not fitted[prefix] then
      fitted[prefix] = fit_columns(prefix)
    end
    api.nvim_buf_set_extmark(buf, PREFIX, first + prefixes[i], 0, {
      virt_text = { { fitted[prefix] or prefix, group_of(prefixes[i + 2]) } },
      virt_text_pos = is_indent and "overlay" or "inline",
      invalidate = true,
      undo_restore = false,
    })
  end
end

--- Removes the prefixes of rows.
---@param buf integer
---@param first integer
---@param last integer exclusive, or -1 for all
function M.clear(buf, first, last)
  api.nvim_buf_clear_namespace(buf, PREFIX, first, last)
end

--- Returns how many columns a window has for text, if it indents wrapped lines as the bar needs it. The user may have
--- changed these options.
---@param win integer
---@return integer? columns
function M.room(win)
  local options = vim.wo[win]
  local columns = api.nvim_win_get_width(win) - vim.fn.getwininfo(win)[1].textoff
  local is_indented = options.breakindent
    and options.breakindentopt == "list:-1"
    and options.showbreak == ""
  return is_indented and columns >= BAR_COLUMNS + MIN_TEXT and columns or nil
end

---@param buf integer
---@param row integer
---@return vim.api.keyset.extmark_details?
local function details(buf, row)
  local at = { row, 0 }
  local mark = api.nvim_buf_get_extmarks(buf, PREFIX, at, at, { details = true, limit = 1 })[1]
  return mark and mark[4]
end

--- Returns how many columns of a line its prefix covers.
---@param buf integer
---@param row integer
---@return integer
function M.columns(buf, row)
  local drawn = details(buf, row)
  local is_over = drawn and drawn.virt_text_pos == "overlay"
  return is_over and vim.fn.strdisplaywidth(drawn.virt_text[1][1]) or 0
end

--- Draws the bar on all screen lines of a line whose prefix has one and that may wrap.
---@param buf integer
---@param row integer
---@param namespace integer
---@param columns integer what the window has for text
function M.draw(buf, row, namespace, columns)
  local start = api.nvim_buf_get_text(buf, row, 0, row, columns + 1, {})[1]
  -- Only control characters, tabs among them, take more columns than bytes.
  if #start <= columns and not start:find("%c") then
    return
  end
  local drawn, bar = details(buf, row), fit_columns(icons.prefix(BAR))
  local prefix = drawn and drawn.virt_text[1]
  if prefix and vim.startswith(prefix[1], bar) then
    api.nvim_buf_set_extmark(buf, namespace, row, 0, {
      ephemeral = true,
      virt_text = { { bar, prefix[2] } },
      virt_text_pos = "overlay",
      virt_text_repeat_linebreak = true,
      hl_mode = "combine",
      -- On the first screen line the prefix, which includes the bar, is on top.
      priority = (drawn.priority - 1) --[[@as integer]],
    })
  end
end

return M
