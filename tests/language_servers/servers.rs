//! The language servers, a small project for each, and a chat in it whose agent calls the editor's own tools.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use crate::support::{Chat, Mcp, Told};

/// A language server that nobody in this project wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Pyright,
    TypeScript,
}

impl Server {
    fn program(self) -> &'static str {
        match self {
            Self::Pyright => "pyright-langserver",
            Self::TypeScript => "typescript-language-server",
        }
    }

    fn filetype(self) -> &'static str {
        match self {
            Self::Pyright => "python",
            Self::TypeScript => "typescript",
        }
    }

    /// The name of one of the files of the project: `lib`, `one` or `two`.
    pub(crate) fn file(self, stem: &str) -> String {
        match self {
            Self::Pyright => format!("{stem}.py"),
            Self::TypeScript => format!("{stem}.ts"),
        }
    }

    /// The files of the project. `greet` is defined in `lib`, and used twice in each of `one` and `two`.
    fn files(self) -> Vec<(String, &'static str)> {
        let texts = match self {
            Self::Pyright => [
                "def greet(name: str) -> str:\n    return \"hi \" + name\n",
                "from lib import greet\n\nprint(greet(\"one\"))\n",
                "from lib import greet\n\nprint(greet(\"two\"))\n",
            ],
            Self::TypeScript => [
                "export function greet(name: string): string {\n  return \"hi \" + name;\n}\n",
                "import { greet } from \"./lib\";\n\nconsole.log(greet(\"one\"));\n",
                "import { greet } from \"./lib\";\n\nconsole.log(greet(\"two\"));\n",
            ],
        };
        ["lib", "one", "two"].iter().map(|stem| self.file(stem)).zip(texts).collect()
    }

    /// Settings of the project.
    fn settings(self) -> (&'static str, &'static str) {
        match self {
            Self::Pyright => ("pyrightconfig.json", "{}\n"),
            Self::TypeScript => {
                ("tsconfig.json", "{\"compilerOptions\": {\"strict\": true, \"noEmit\": true}}\n")
            }
        }
    }
}

/// A project with a language server, and a chat in it.
pub(crate) struct Project {
    pub(crate) server: Server,
    pub(crate) chat: Chat,
    pub(crate) mcp: Mcp,
}

/// The folder in which the language servers are installed.
fn installed() -> PathBuf {
    let folder = std::env::var_os("RAT_LANGUAGE_SERVERS").expect("RAT_LANGUAGE_SERVERS");
    PathBuf::from(folder).join("node_modules/.bin")
}

impl Project {
    /// Opens a chat in the project. No file is open yet.
    pub(crate) fn open(server: Server) -> Self {
        let mut builder = Chat::builder();
        for (name, text) in server.files() {
            builder = builder.file(&name, text);
        }
        let (name, text) = server.settings();
        let mut chat = builder.file(name, text).in_turn();
        let program = installed().join(server.program());
        let start = r#"
            local filetype, program, root = ...
            vim.api.nvim_create_autocmd("FileType", {
              pattern = filetype,
              callback = function(event)
                vim.lsp.start({
                  name = filetype,
                  cmd = { program, "--stdio" },
                  root_dir = root,
                  -- pyright answers nothing before it has got settings.
                  settings = { python = { analysis = { diagnosticMode = "openFilesOnly" } } },
                }, { bufnr = event.buf })
              end,
            })
        "#;
        let root = chat.nvim.cwd().to_owned();
        chat.nvim.lua(start, json!([server.filetype(), program, root]));
        let mcp = Mcp::start(&chat.agent.mcp_servers);
        Self { server, chat, mcp }
    }

    /// The path of one of the files.
    pub(crate) fn path(&self, stem: &str) -> PathBuf {
        self.chat.path(&self.server.file(stem))
    }

    /// Opens one of the files in a window.
    pub(crate) fn edit(&mut self, stem: &str) {
        let name = self.server.file(stem);
        self.chat.nvim.command(&format!("topleft split {name}"));
    }

    /// The text of one of the files on disk.
    pub(crate) fn disk(&self, stem: &str) -> String {
        fs::read_to_string(self.path(stem)).expect("the file")
    }

    /// Calls a tool that changes something, and allows that on the card.
    pub(crate) fn change(&mut self, tool: &str, stem: &str, mut arguments: Json) -> Told {
        arguments["file_path"] = json!(self.path(stem));
        let call = self.mcp.begin_call(tool, arguments);
        self.chat.nvim.poll("the card, or an answer", |nvim| nvim.waiting() > 0);
        self.chat.nvim.let_time_pass();
        self.chat.nvim.command("RatAllow");
        self.mcp.expect_told(call)
    }

    /// Calls a tool about one of the files.
    pub(crate) fn call(&mut self, tool: &str, stem: &str, mut arguments: Json) -> Told {
        arguments["file_path"] = json!(self.path(stem));
        self.mcp.call(tool, arguments)
    }
}
