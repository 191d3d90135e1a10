//! What a user sees: the grid that Neovim draws to an attached user interface. Draws nothing, asks nothing.

use std::collections::HashMap;
use std::sync::Arc;

use rmpv::Value;

use super::look::{Colors, Look};

/// One cell: its text (empty behind a character of double width) and the id of its highlight.
type Cell = (String, u64);

/// The screen as of the last complete redraw.
#[derive(Clone, Debug, Default)]
pub struct Screen {
    // Shared with the copies: tests look at very many screens, and frames change few rows.
    rows: Vec<Arc<Vec<Cell>>>,
    cursor: (usize, usize),
    mode: String,
    highlights: Arc<HashMap<u64, Highlight>>,
    colors: Colors,
}

/// What a highlight id stands for.
#[derive(Clone, Debug)]
struct Highlight {
    groups: String,
    look: Look,
}

impl Screen {
    /// The text of each row without trailing blanks.
    pub fn lines(&self) -> Vec<String> {
        let text = |row: &[Cell]| row.iter().map(|(text, _)| text.as_str()).collect::<String>();
        self.rows.iter().map(|row| text(row).trim_end().to_owned()).collect()
    }

    /// All rows in one string.
    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// Whether a row holds the text.
    pub fn contains(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }

    /// The cursor's row and column, from 0.
    pub fn cursor(&self) -> (usize, usize) {
        self.cursor
    }

    /// The mode by the name the user interface is told: `normal`, `insert`, `cmdline_normal` ..
    pub fn mode(&self) -> &str {
        &self.mode
    }

    /// The highlight groups of a cell joined by `+`, links followed; empty where nothing is highlighted.
    pub fn highlight(&self, row: usize, column: usize) -> &str {
        self.rows.get(row).and_then(|cells| cells.get(column)).map_or("", |(_, id)| self.group(*id))
    }

    /// The highlight groups of the first cell of a text on the screen; `None` where the text is not shown.
    pub fn highlight_of(&self, text: &str) -> Option<&str> {
        self.rows.iter().enumerate().find_map(|(row, cells)| {
            let line: String = cells.iter().map(|(text, _)| text.as_str()).collect();
            let before = &line[..line.find(text)?];
            Some(self.highlight(row, columns(cells, before)))
        })
    }

    /// The rows from the top, each as its cells from the left: their text and how it looks.
    pub fn cells(&self) -> impl Iterator<Item = Vec<(&str, Look)>> {
        let look = |id| self.highlights.get(id).map(|it| it.look).unwrap_or_default();
        self.rows
            .iter()
            .map(move |row| row.iter().map(|(text, id)| (text.as_str(), look(id))).collect())
    }

    /// The colours where no highlight says otherwise.
    pub fn colors(&self) -> Colors {
        self.colors
    }

    /// The screen as a golden file holds it: rows, a row of highlight letters for each, the letters' groups, the
    /// cursor. A cell without highlight is a dot.
    pub fn golden(&self) -> String {
        let mut letters = Letters::default();
        let marks = self.rows.iter().map(|row| {
            let marks: String = row.iter().map(|(_, id)| letters.of(self.group(*id))).collect();
            marks.trim_end_matches('.').to_owned()
        });
        let marks = marks.collect::<Vec<_>>().join("\n");
        let rule = "-".repeat(self.rows.first().map_or(0, |row| row.len()));
        let (row, column) = self.cursor;
        format!(
            "{}\n{rule}\n{marks}\n{rule}\n{}cursor {},{} {}\n",
            self.text(),
            letters.legend(),
            row + 1,
            column + 1,
            self.mode
        )
    }

    fn group(&self, id: u64) -> &str {
        self.highlights.get(&id).map_or("", |highlight| highlight.groups.as_str())
    }

    /// Takes one event of a `redraw` notification. Gives whether a frame is complete.
    /// Source: `:help ui-linegrid`.
    pub fn apply(&mut self, event: &str, args: &[Value]) -> bool {
        match event {
            "flush" => return true,
            "grid_resize" => self.resize(number(args, 1), number(args, 2)),
            "grid_clear" => self.rows.iter_mut().for_each(|row| {
                Arc::make_mut(row).fill((" ".to_owned(), 0));
            }),
            "grid_line" => self.line(args),
            "grid_scroll" => self.scroll(args),
            "grid_cursor_goto" => self.cursor = (number(args, 1), number(args, 2)),
            "mode_change" => args[0].as_str().unwrap_or_default().clone_into(&mut self.mode),
            "hl_attr_define" => {
                let id = args[0].as_u64().unwrap_or_default();
                let highlight =
                    Highlight { groups: groups(args.get(3)), look: Look::new(&args[1]) };
                Arc::make_mut(&mut self.highlights).insert(id, highlight);
            }
            "default_colors_set" => self.colors = Colors::new(args),
            _ => {}
        }
        false
    }

    fn resize(&mut self, columns: usize, lines: usize) {
        let blank = (" ".to_owned(), 0);
        self.rows.resize(lines, Arc::default());
        self.rows.iter_mut().for_each(|row| Arc::make_mut(row).resize(columns, blank.clone()));
    }

    /// `[grid, row, col_start, cells, wrap]`, a cell being `[text, hl_id?, repeat?]`.
    fn line(&mut self, args: &[Value]) {
        let Some(row) = self.rows.get_mut(number(args, 1)).map(Arc::make_mut) else { return };
        let mut column = number(args, 2);
        let mut highlight = 0;
        for cell in args[3].as_array().into_iter().flatten().filter_map(Value::as_array) {
            let text = cell[0].as_str().unwrap_or("?");
            highlight = cell.get(1).and_then(Value::as_u64).unwrap_or(highlight);
            let repeat = cell.get(2).and_then(Value::as_u64).unwrap_or(1);
            for _ in 0..repeat {
                if let Some(target) = row.get_mut(column) {
                    *target = (text.to_owned(), highlight);
                }
                column += 1;
            }
        }
    }

    /// `[grid, top, bot, left, right, rows, cols]`: the region moves up by `rows`, down where that is negative.
    fn scroll(&mut self, args: &[Value]) {
        let (top, bottom) = (number(args, 1), number(args, 2));
        let (left, right) = (number(args, 3), number(args, 4));
        let by = args[5].as_i64().unwrap_or_default();
        let distance = usize::try_from(by.unsigned_abs()).unwrap_or_default();
        let mut copy = |to: usize, from: usize| {
            let source = Arc::clone(&self.rows[from]);
            if right - left == source.len() {
                self.rows[to] = source;
            } else {
                Arc::make_mut(&mut self.rows[to])[left..right]
                    .clone_from_slice(&source[left..right]);
            }
        };
        if by > 0 {
            (top..bottom - distance).for_each(|row| copy(row, row + distance));
        } else {
            (top + distance..bottom).rev().for_each(|row| copy(row, row - distance));
        }
    }
}

/// The number of cells that hold the first characters of a row.
fn columns(cells: &[Cell], before: &str) -> usize {
    let mut left = before.len();
    cells
        .iter()
        .take_while(|(text, _)| {
            left.checked_sub(text.len()).is_some_and(|rest| {
                let more = left > 0;
                left = rest;
                more
            })
        })
        .count()
}

fn number(args: &[Value], index: usize) -> usize {
    args.get(index)
        .and_then(Value::as_u64)
        .and_then(|value| usize::try_from(value).ok())
        .unwrap_or_default()
}

/// The group names in the `info` of `hl_attr_define`, which `ext_hlstate` asks for.
fn groups(info: Option<&Value>) -> String {
    let layers = info.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_map);
    let name = |layer: &Vec<(Value, Value)>| {
        let field = |wanted: &str| {
            let found = layer.iter().find(|(key, _)| key.as_str() == Some(wanted));
            found
                .and_then(|(_, value)| value.as_str())
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
        };
        field("hi_name").or_else(|| field("ui_name"))
    };
    layers.filter_map(name).collect::<Vec<_>>().join("+")
}

/// The letters of a golden screen, given out in order of appearance.
#[derive(Default)]
struct Letters {
    groups: Vec<String>,
}

impl Letters {
    fn of(&mut self, group: &str) -> char {
        if group.is_empty() {
            return '.';
        }
        let index = self.groups.iter().position(|known| known == group).unwrap_or_else(|| {
            self.groups.push(group.to_owned());
            self.groups.len() - 1
        });
        Self::letter(index)
    }

    fn letter(index: usize) -> char {
        ('a'..='z').chain('A'..='Z').chain('0'..='9').nth(index).unwrap_or('?')
    }

    fn legend(&self) -> String {
        let line = |(index, group): (usize, &String)| format!("{} {group}\n", Self::letter(index));
        self.groups.iter().enumerate().map(line).collect()
    }
}
