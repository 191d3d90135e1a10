--- Stands in for the binary where the Lua side is tested alone: says its version, then hands every message it is
--- told back to `RatHeard` in Neovim. Run by `nvim -l`, speaks msgpack-RPC over stdio. It knows no agents.
local this = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p")
local plugin = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(this)))
local version = os.getenv("STANDIN_VERSION") or dofile(plugin .. "/lua/rat/version.lua")
local stdin, stdout = vim.uv.new_pipe(), vim.uv.new_pipe()
stdin:open(0)
stdout:open(1)
local unpack_next = vim.mpack.Unpacker()
local pending = ""

local function lua(code, args)
  stdout:write(vim.mpack.encode({ 2, "nvim_exec_lua", { code, args } }))
end

--- The files and folders below a folder, those with fewer folders in their path first.
---@return string[]
local function files_of(folder)
  local found, next = {}, { "" }
  while #next > 0 do
    local level = {}
    for _, below in ipairs(next) do
      local entries = vim.uv.fs_scandir(folder .. "/" .. below)
      while entries do
        local name, kind = vim.uv.fs_scandir_next(entries)
        if not name then
          break
        end
        local path = below .. name .. (kind == "directory" and "/" or "")
        found[#found + 1] = path
        level[#level + 1] = kind == "directory" and path or nil
      end
    end
    next = level
  end
  return found
end

--- Finds files as the binary does, but for their order.
local function find_files(query)
  local pattern = vim.pesc(query.typed):gsub("%%?[%z\1-\127\194-\244][\128-\191]*", "%0.-")
  local paths = vim.tbl_filter(function(path)
    return path:find(pattern) ~= nil
  end, files_of(query.folder))
  lua([[require("rat.complete.files").found(...)]], { query.folder, query.typed, paths })
end

local function heard(message)
  local name, payload = message[2], message[3][1]
  if name == "files" then
    find_files(payload)
  end
  if name == "prompt" and payload.text == "crash" then
    io.stderr:write("it broke\n")
    os.exit(3)
  end
  lua("if RatHeard then RatHeard(...) end", { name, payload })
end

local function feed(bytes)
  pending = pending .. bytes
  local position = 1
  while position <= #pending do
    local message, after = unpack_next(pending, position)
    position = after
    if message == nil then
      break
    end
    heard(message)
  end
  pending = pending:sub(position)
end

lua([[require("rat.rpc").connected(...)]], { { version = version } })
stdin:read_start(function(_, bytes)
  if not bytes then
    os.exit(0)
  end
  feed(bytes)
end)
vim.uv.run()
