//! The editor's own tools, which agents call through MCP: which there are, and what a call asks for.

use std::path::{Path, PathBuf};

/// The name of the MCP server that offers the tools. Agents put it into the names of the tools, and users into rules.
pub const SERVER_NAME: &str = "rat";

/// One of the editor's own tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EditorTool {
    /// What language servers and linters report.
    Diagnostics,
    /// The uses of a symbol.
    References,
    /// Where a symbol is defined.
    Definition,
    /// The symbols of a file or of the project.
    Symbols,
    /// The files the user has open.
    OpenBuffers,
    /// The text of a file, with unsaved changes.
    ReadBuffer,
    /// Renames a symbol everywhere.
    RenameSymbol,
    /// Lists or applies what a language server offers for a line.
    CodeAction,
    /// Replaces text in a file.
    EditBuffer,
    /// Reads or fills the quickfix list.
    Quickfix,
}

impl EditorTool {
    /// All of them, in the order in which agents are told of them.
    pub const ALL: [Self; 10] = [
        Self::Diagnostics,
        Self::References,
        Self::Definition,
        Self::Symbols,
        Self::OpenBuffers,
        Self::ReadBuffer,
        Self::RenameSymbol,
        Self::CodeAction,
        Self::EditBuffer,
        Self::Quickfix,
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Diagnostics => "diagnostics",
            Self::References => "references",
            Self::Definition => "definition",
            Self::Symbols => "symbols",
            Self::OpenBuffers => "open_buffers",
            Self::ReadBuffer => "read_buffer",
            Self::RenameSymbol => "rename_symbol",
            Self::CodeAction => "code_action",
            Self::EditBuffer => "edit_buffer",
            Self::Quickfix => "quickfix",
        }
    }

    /// Returns the tool with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Returns the names of its arguments, as `mcp::listing` tells them to agents.
    pub fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Diagnostics => &["file_path", "severity", "since"],
            Self::References | Self::Definition => &["file_path", "symbol", "line"],
            Self::Symbols => &["file_path", "query"],
            Self::OpenBuffers => &[],
            Self::ReadBuffer => &["file_path", "offset", "limit"],
            Self::RenameSymbol => &["file_path", "symbol", "line", "new_name"],
            Self::CodeAction => &["file_path", "line", "title"],
            Self::EditBuffer => &["file_path", "edits"],
            Self::Quickfix => &["items"],
        }
    }

    /// Whether no call of it changes anything.
    pub fn only_reads(self) -> bool {
        !matches!(self, Self::RenameSymbol | Self::CodeAction | Self::EditBuffer | Self::Quickfix)
    }
}

/// What agents put before the name of a tool of ours: Claude writes `mcp__rat__symbols`, OpenCode `rat_symbols`, Gemini
/// `mcp_rat_symbols`, Codex `mcp.rat.symbols`.
const PREFIXES: [&str; 5] = ["mcp__rat__", "mcp_rat_", "mcp.rat.", "rat__", "rat_"];

/// Returns the name of a tool of ours from the name that an agent gives it. `None` if it is not one of our server's.
pub fn own_name(name: &str) -> Option<&str> {
    let own = PREFIXES.into_iter().find_map(|prefix| name.strip_prefix(prefix));
    own.filter(|rest| !rest.is_empty())
}

/// Returns the names under which a tool may be known: those that agents give it if it is one of ours, else its only one.
pub fn names_of(name: &str) -> Vec<String> {
    own_name(name).map_or_else(
        || vec![name.to_owned()],
        |own| PREFIXES.map(|prefix| format!("{prefix}{own}")).to_vec(),
    )
}

/// What a call of a tool asks for. Paths may be relative to the folder of the session, and lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolRequest {
    /// What is wrong in a file, or in all loaded ones.
    Diagnostics {
        /// The file.
        file: Option<PathBuf>,
        /// The least severe ones that are wanted.
        severity: Severity,
        /// Whether only those are wanted that the session's last edit has brought.
        since_last_edit: bool,
    },
    /// Where a symbol is used.
    References(SymbolPlace),
    /// Where a symbol is defined, and what it is.
    Definition(SymbolPlace),
    /// The symbols of a file.
    FileSymbols(PathBuf),
    /// The symbols of the project that match a text.
    ProjectSymbols(String),
    /// The files the user has open.
    OpenBuffers,
    /// The text of a file.
    ReadBuffer {
        /// The file.
        file: PathBuf,
        /// The first line.
        offset: u32,
        /// How many lines.
        limit: u32,
    },
    /// Renaming a symbol.
    Rename(SymbolPlace, String),
    /// What a language server offers for a line; with a title, doing that.
    CodeAction {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u32,
        /// The title of what is to be done.
        title: Option<String>,
    },
    /// Replacing texts in a file.
    Edit {
        /// The file.
        file: PathBuf,
        /// The replacements, in order.
        edits: Vec<Replacement>,
    },
    /// The quickfix list.
    ReadQuickfix,
    /// Another quickfix list.
    SetQuickfix(Vec<QuickfixItem>),
    /// A tool that the user has added.
    Own {
        /// Its name.
        name: String,
        /// Its arguments as JSON text.
        input: String,
        /// Whether the user says that it changes nothing.
        only_reads: bool,
    },
}

/// A symbol in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolPlace {
    /// The file.
    pub file: PathBuf,
    /// The symbol, as it stands in the text.
    pub symbol: String,
    /// The line it is in; needed where it is ambiguous.
    pub line: Option<u32>,
}

/// How severe a diagnostic is (`:help vim.diagnostic.severity`), the most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// An error.
    Error,
    /// A warning.
    Warning,
    /// Information.
    Info,
    /// A hint.
    Hint,
}

impl Severity {
    /// All of them with their names, the most severe first.
    pub const WORDS: [(&str, Self); 4] = [
        ("error", Self::Error),
        ("warning", Self::Warning),
        ("info", Self::Info),
        ("hint", Self::Hint),
    ];
}

/// A text to be replaced by another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The text; it must be there.
    pub old: String,
    /// What replaces it.
    pub new: String,
    /// Whether all of its occurrences are replaced. Otherwise there must be one.
    pub all: bool,
}

/// An entry of a quickfix list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuickfixItem {
    /// The file.
    pub file: PathBuf,
    /// The line.
    pub line: u32,
    /// What is there.
    pub text: String,
}

impl ToolRequest {
    /// The tool that is called; `None` for one of the user's.
    pub fn tool(&self) -> Option<EditorTool> {
        Some(match self {
            Self::Diagnostics { .. } => EditorTool::Diagnostics,
            Self::References(_) => EditorTool::References,
            Self::Definition(_) => EditorTool::Definition,
            Self::FileSymbols(_) | Self::ProjectSymbols(_) => EditorTool::Symbols,
            Self::OpenBuffers => EditorTool::OpenBuffers,
            Self::ReadBuffer { .. } => EditorTool::ReadBuffer,
            Self::Rename(..) => EditorTool::RenameSymbol,
            Self::CodeAction { .. } => EditorTool::CodeAction,
            Self::Edit { .. } => EditorTool::EditBuffer,
            Self::ReadQuickfix | Self::SetQuickfix(_) => EditorTool::Quickfix,
            Self::Own { .. } => return None,
        })
    }

    /// The name of the tool that is called.
    pub fn name(&self) -> &str {
        match self {
            Self::Own { name, .. } => name,
            _ => self.tool().map_or("", EditorTool::name),
        }
    }

    /// Whether it changes files. That is prepared and shown to the user first.
    pub fn changes_files(&self) -> bool {
        matches!(
            self,
            Self::Rename(..) | Self::Edit { .. } | Self::CodeAction { title: Some(_), .. }
        )
    }

    /// Whether the user is asked before anything is done about it.
    pub fn is_asked_first(&self) -> bool {
        matches!(self, Self::SetQuickfix(_) | Self::Own { only_reads: false, .. })
    }

    /// Returns it with all paths absolute: those that are not are in this folder.
    #[must_use]
    pub fn in_folder(mut self, cwd: &Path) -> Self {
        match &mut self {
            Self::References(place) | Self::Definition(place) | Self::Rename(place, _) => {
                place.file = cwd.join(&place.file);
            }
            Self::FileSymbols(file)
            | Self::ReadBuffer { file, .. }
            | Self::CodeAction { file, .. }
            | Self::Edit { file, .. } => *file = cwd.join(&*file),
            Self::Diagnostics { file, .. } => *file = file.take().map(|file| cwd.join(file)),
            Self::SetQuickfix(items) => {
                for item in items {
                    item.file = cwd.join(&item.file);
                }
            }
            Self::ProjectSymbols(_) | Self::OpenBuffers | Self::ReadQuickfix | Self::Own { .. } => {
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_tools_are_known_by_the_names_that_agents_give_them() {
        for name in ["mcp__rat__symbols", "rat_symbols", "mcp_rat_symbols", "mcp.rat.symbols"] {
            assert_eq!(own_name(name), Some("symbols"), "{name}");
        }
        for name in ["symbols", "rat", "rat_", "mcp__notes__add", "mcp__rats__symbols"] {
            assert_eq!(own_name(name).and_then(EditorTool::named), None, "{name}");
        }
    }
}
