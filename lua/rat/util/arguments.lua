--- Checks what scripts pass to the public functions. What cannot be used is an error that names the function and the argument:
--- taken for nothing, it could mean more than was meant.
local closest_name = require("rat.util.closest_name")

local M = {}

---@alias rat.ArgumentType "string"|"boolean"|"integer"|"function"|"table"|string[]

---@type table<string, fun(value: any): boolean>
local is = {
  -- A line, a turn, a chat: all count from 1.
  integer = function(value)
    return type(value) == "number" and value % 1 == 0 and value >= 1
  end,
}

---@type table<string, string>
local NAMES = { integer = "a whole number from 1", ["function"] = "a function" }

---@param fn string
---@param problem string
function M.refuse(fn, problem)
  error(("rat.%s: %s"):format(fn, problem), 0)
end

---@param value any
---@param wanted rat.ArgumentType a type, or the texts that it can be
---@return string? problem
local function problem_of(value, wanted)
  if type(wanted) == "table" then
    local is_one = vim.list_contains(wanted, value)
    local found = type(value) == "string" and ('"%s"'):format(value) or type(value)
    return not is_one and ("expected %s, got %s"):format(table.concat(wanted, " or "), found) or nil
  end
  local check = is[wanted]
  if check and check(value) or not check and type(value) == wanted then
    return nil
  end
  local found = type(value) == "number" and tostring(value) or type(value)
  return ("expected %s, got %s"):format(NAMES[wanted] or wanted, found)
end

--- Refuses an argument of another type.
---@param fn string name of the function
---@param name string of the argument
---@param value any
---@param wanted rat.ArgumentType
function M.expect(fn, name, value, wanted)
  local problem = problem_of(value, wanted)
  if problem then
    M.refuse(fn, ("%s: %s"):format(name, problem))
  end
end

--- Refuses a table of options with keys that it cannot have, or with values of other types.
---@param fn string name of the function
---@param opts table?
---@param keys table<string, rat.ArgumentType>
function M.options(fn, opts, keys)
  if opts == nil then
    return
  elseif type(opts) ~= "table" then
    M.refuse(fn, ("expected a table, got %s"):format(type(opts)))
  end
  for key, value in pairs(opts) do
    local wanted = keys[key]
    if not wanted then
      local names = vim.tbl_keys(keys)
      table.sort(names)
      local near = type(key) == "string" and closest_name.find(key, names)
      local hint = near and ("did you mean %s?"):format(near)
        or "known keys: " .. table.concat(names, ", ")
      return M.refuse(fn, ("%s: unknown key, %s"):format(tostring(key), hint))
    end
    M.expect(fn, key, value, wanted)
  end
end

--- Refuses lines that are none of a buffer.
---@param fn string name of the function
---@param opts {first: integer?, last: integer?}
---@param count? integer how many lines there are, if that is known
function M.lines(fn, opts, count)
  local first, last = opts.first, opts.last
  if last and not first then
    M.refuse(fn, "last: it needs first")
  elseif last and last < first then
    M.refuse(fn, ("last: %d is before first, %d"):format(last, first))
  elseif first and count and (last or first) > count then
    local key = first > count and "first" or "last"
    M.refuse(fn, ("%s: the buffer has %d lines"):format(key, count))
  end
end

return M
