--- The agents known by name: how an installed one is started and how to install it. Generated from
--- src/config/presets.rs by `make messages`.

---@class rat.Preset
---@field title string name for people
---@field command string program on PATH
---@field args string[]
---@field install_hint string

---@type table<string, rat.Preset>
return {
  auggie = {
    title = "Auggie",
    command = "auggie",
    args = { "--acp" },
    install_hint = "npm install -g @augmentcode/auggie",
  },
  claude = {
    title = "Claude",
    command = "claude-agent-acp",
    args = {},
    install_hint = "npm install -g @agentclientprotocol/claude-agent-acp",
  },
  cline = {
    title = "Cline",
    command = "cline",
    args = { "--acp" },
    install_hint = "npm install -g cline",
  },
  codex = {
    title = "Codex",
    command = "codex-acp",
    args = {},
    install_hint = "npm install -g @agentclientprotocol/codex-acp",
  },
  copilot = {
    title = "Copilot",
    command = "copilot",
    args = { "--acp", "--stdio" },
    install_hint = "npm install -g @github/copilot",
  },
  cursor = {
    title = "Cursor",
    command = "cursor-agent",
    args = { "acp" },
    install_hint = "see https://cursor.com/cli",
  },
  gemini = {
    title = "Gemini",
    command = "gemini",
    args = { "--acp" },
    install_hint = "npm install -g @google/gemini-cli",
  },
  goose = {
    title = "Goose",
    command = "goose",
    args = { "acp" },
    install_hint = "see https://block.github.io/goose",
  },
  kilo = {
    title = "Kilo Code",
    command = "kilo",
    args = { "acp" },
    install_hint = "npm install -g @kilocode/cli",
  },
  kimi = {
    title = "Kimi",
    command = "kimi",
    args = { "acp" },
    install_hint = "uv tool install kimi-cli",
  },
  kiro = {
    title = "Kiro",
    command = "kiro-cli",
    args = { "acp" },
    install_hint = "see https://kiro.dev/cli",
  },
  opencode = {
    title = "OpenCode",
    command = "opencode",
    args = { "acp" },
    install_hint = "npm install -g opencode-ai",
  },
  qwen = {
    title = "Qwen Code",
    command = "qwen",
    args = { "--acp" },
    install_hint = "npm install -g @qwen-code/qwen-code",
  },
  vibe = {
    title = "Mistral Vibe",
    command = "vibe-acp",
    args = {},
    install_hint = "uv tool install mistral-vibe",
  },
}
