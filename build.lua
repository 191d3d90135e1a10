--- Gets the binary after an install or an update; must write nothing outside its own `target/`.
--- lazy.nvim runs this file by itself, `nvim -l build.lua` does it by hand.

local MINIMUM_RUST = "1.88"

local script = debug.getinfo(1, "S").source:sub(2)
local root = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(script, ":p")))
local folder = root .. "/target/release"

---Whether the caller goes on with other work whenever we yield, as lazy.nvim does.
---@return boolean
local function in_coroutine()
  local thread, is_main = coroutine.running()
  return thread ~= nil and not is_main
end

---@param text string one line of progress
local function report(text)
  if in_coroutine() then
    coroutine.yield(text)
  else
    vim.api.nvim_echo({ { text .. "\n" } }, true, {})
  end
end

---@param what string what happened
---@param remedy string what to do about it
local function fail(what, remedy)
  error(("rat.nvim: %s: %s"):format(what, remedy), 0)
end

---Runs a program in the plugin's folder and reports the lines it writes to stderr.
---@param command string[]
---@return vim.SystemCompleted # `stderr` holds all of it
local function run(command)
  local written, line, result = {}, table.concat(command, " "), nil
  local process = vim.system(command, {
    cwd = root,
    text = true,
    stderr = function(_, data)
      written[#written + 1] = data
      line = data and vim.trim(data):match("[^\n]*$") or line
    end,
  }, function(completed)
    result = completed
  end)
  if in_coroutine() then
    while not result do
      coroutine.yield(line)
    end
  else
    report(line)
    result = process:wait()
  end
  result.stderr = table.concat(written)
  return result
end

---@param command string[]
---@param remedy string what to do when it fails
---@return string # what it wrote to stdout
local function must(command, remedy)
  local result = run(command)
  if result.code ~= 0 then
    fail(("%s failed:\n%s\n"):format(table.concat(command, " "), vim.trim(result.stderr)), remedy)
  end
  return result.stdout
end

---The asset of a release for this machine: `.release.json` stands in released versions only, as
---`{"assets": {"linux-x86_64": {"url": "..", "sha256": ".."}}}`.
---@return { url: string, sha256: string }?
local function released()
  local file = io.open(root .. "/.release.json")
  if not file then
    return nil
  end
  local ok, manifest = pcall(vim.json.decode, file:read("*a"))
  file:close()
  local uname = vim.uv.os_uname()
  local machine = ("%s-%s"):format(uname.sysname, uname.machine):lower()
  return ok and vim.tbl_get(manifest, "assets", machine) or nil
end

---@param path string
---@return string # in hexadecimal digits
local function sha256(path)
  local command = { "shasum", "-a", "256", path }
  if vim.fn.executable("sha256sum") == 1 then
    command = { "sha256sum", path }
  end
  return must(command, "install sha256sum"):match("^%x+")
end

---@param asset { url: string, sha256: string }
local function download(asset)
  local part = folder .. "/rat-nvim.part"
  vim.fn.mkdir(folder, "p")
  must({ "curl", "-fsSL", "-o", part, asset.url }, "check the network, then build again")
  if sha256(part) ~= asset.sha256 then
    os.remove(part)
    fail("the download has a wrong checksum", "remove .release.json to use cargo")
  end
  assert(vim.uv.fs_chmod(part, 493)) -- 0755
  assert(vim.uv.fs_rename(part, folder .. "/rat-nvim"))
end

local function compile()
  local remedy = "install Rust " .. MINIMUM_RUST .. " or newer from https://rustup.rs"
  for _, program in ipairs({ "cargo", "rustc" }) do
    if vim.fn.executable(program) == 0 then
      fail(program .. " is not on PATH", remedy)
    end
  end
  local version = must({ "rustc", "--version" }, remedy):match("%d+%.%d+%.%d+")
  if not version or vim.version.lt(version, MINIMUM_RUST) then
    fail("Rust " .. (version or "of an unknown version") .. " is too old", remedy)
  end
  -- The binary is looked for in the plugin's own folder, whatever the user's cargo is told.
  local command = { "cargo", "build", "--release", "--locked", "--target-dir", root .. "/target" }
  must(command, "the lines above say why")
end

if vim.fn.has("win32") == 1 then
  fail("Windows is not supported", "use Neovim inside WSL")
end
local asset = vim.fn.executable("curl") == 1 and released() or nil
if asset then
  download(asset)
else
  compile()
end
report("rat.nvim: built " .. folder .. "/rat-nvim")
