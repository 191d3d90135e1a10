//! How a cell of the screen looks, as Neovim tells it to a user interface with colours of 24 bits. Knows no cells.

use rmpv::Value;

/// What a highlight asks for; without a colour, the default one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Look {
    foreground: Option<u32>,
    background: Option<u32>,
    special: Option<u32>,
    reverse: bool,
    letters: Letters,
    lines: Lines,
}

/// How the letters are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Letters {
    bold: bool,
    italic: bool,
}

/// Which lines are drawn with them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Lines {
    under: bool,
    through: bool,
}

/// The colours of a cell without highlight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Colors {
    /// Of the text.
    pub foreground: u32,
    /// Behind it.
    pub background: u32,
}

/// What is to be drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paint {
    /// The text.
    pub ink: Ink,
    /// Behind the text.
    pub background: u32,
    /// A line under the text, of any shape.
    pub underline: Option<u32>,
    /// A line through the text.
    pub strikethrough: bool,
}

/// How letters are drawn.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Ink {
    /// Their colour.
    pub color: u32,
    /// Their weight.
    pub bold: bool,
    /// Their slant.
    pub italic: bool,
}

impl Look {
    /// Reads the attributes of `hl_attr_define`. Source: `:help ui-event-hl_attr_define`.
    pub fn new(attributes: &Value) -> Self {
        let color = |name: &str| field(attributes, name).and_then(color);
        let flag = |name: &str| field(attributes, name).and_then(Value::as_bool) == Some(true);
        let lines = ["underline", "undercurl", "underdouble", "underdotted", "underdashed"];
        Self {
            foreground: color("foreground"),
            background: color("background"),
            special: color("special"),
            reverse: flag("reverse"),
            letters: Letters { bold: flag("bold"), italic: flag("italic") },
            lines: Lines { under: lines.into_iter().any(flag), through: flag("strikethrough") },
        }
    }

    /// The same, as the cell under the cursor is shown.
    pub fn reversed(self) -> Self {
        Self { reverse: !self.reverse, ..self }
    }

    /// What is to be drawn where these are the default colours.
    pub fn paint(self, colors: Colors) -> Paint {
        let mut color = self.foreground.unwrap_or(colors.foreground);
        let mut background = self.background.unwrap_or(colors.background);
        if self.reverse {
            std::mem::swap(&mut color, &mut background);
        }
        let ink = Ink { color, bold: self.letters.bold, italic: self.letters.italic };
        let underline = self.lines.under.then(|| self.special.unwrap_or(color));
        Paint { ink, background, underline, strikethrough: self.lines.through }
    }
}

impl Colors {
    /// Reads the arguments of `default_colors_set`: text, background, and others.
    pub fn new(args: &[Value]) -> Self {
        let at = |index: usize| args.get(index).and_then(color).unwrap_or_default();
        Self { foreground: at(0), background: at(1) }
    }
}

fn field<'a>(map: &'a Value, name: &str) -> Option<&'a Value> {
    let found = map.as_map()?.iter().find(|(key, _)| key.as_str() == Some(name));
    found.map(|(_, value)| value)
}

fn color(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|color| u32::try_from(color).ok())
}
