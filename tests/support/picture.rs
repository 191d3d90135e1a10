//! A screen as an SVG picture: text stays text, each run of it begins at its column and is as wide as its cells,
//! whatever font there is. Lines that join across cells are drawn. The same screen always gives the same bytes.

use std::fmt::Write;

use super::Screen;
use super::look::{Ink, Look, Paint};

/// The size of a cell, and the row of pixels that letters stand on.
const WIDTH: usize = 9;
const HEIGHT: usize = 18;
const BASE: usize = 13;
/// Around the cells.
const MARGIN: usize = 9;

const FONT: &str = "15px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace";

/// Characters that are drawn as lines from the middle of the cell: up, right, down, left.
const LINES: &[(char, [bool; 4])] = &[
    ('─', [false, true, false, true]),
    ('│', [true, false, true, false]),
    ('┌', [false, true, true, false]),
    ('╭', [false, true, true, false]),
    ('┐', [false, false, true, true]),
    ('╮', [false, false, true, true]),
    ('└', [true, true, false, false]),
    ('╰', [true, true, false, false]),
    ('┘', [true, false, false, true]),
    ('╯', [true, false, false, true]),
    ('├', [true, true, true, false]),
    ('┤', [true, false, true, true]),
    ('┬', [false, true, true, true]),
    ('┴', [true, true, false, true]),
    ('┼', [true, true, true, true]),
];

/// The screen as the text of an SVG file that is called `title`.
pub fn svg(screen: &Screen, title: &str) -> String {
    let mut drawing = Drawing::default();
    let colors = screen.colors();
    let rows: Vec<_> = screen.cells().collect();
    for (row, cells) in rows.iter().enumerate() {
        let paint = |(column, (_, look)): (usize, &(&str, Look))| {
            let look = if screen.cursor() == (row, column) { look.reversed() } else { *look };
            look.paint(colors)
        };
        let paints: Vec<Paint> = cells.iter().enumerate().map(paint).collect();
        drawing.backgrounds(row, &paints, colors.background);
        drawing.lines_of_text(row, &paints);
        let texts: Vec<&str> = cells.iter().map(|(text, _)| *text).collect();
        drawing.characters(row, &texts, &paints);
    }
    let size = (rows.first().map_or(0, Vec::len), rows.len());
    drawing.svg(size, colors.background, title)
}

/// The rows of a picture as text, read from its SVG; characters that are drawn as lines are blanks.
pub fn words(svg: &str) -> String {
    let mut rows: Vec<String> = Vec::new();
    for element in svg.lines().filter(|line| line.starts_with("<text ")) {
        let attribute = |name: &str| {
            let value = element.split_once(&format!(" {name}=\""))?.1.split('"').next()?;
            value.parse::<usize>().ok()
        };
        let (Some(x), Some(y)) = (attribute("x"), attribute("y")) else { continue };
        let text = element.split_once('>').map_or("", |(_, text)| text).trim_end_matches("</text>");
        let row = y / HEIGHT;
        rows.resize(rows.len().max(row + 1), String::new());
        let missing = (x / WIDTH).saturating_sub(rows[row].chars().count());
        rows[row].push_str(&" ".repeat(missing));
        rows[row].push_str(&unescaped(text));
    }
    rows.join("\n")
}

/// What is drawn, in the order of its first appearance.
#[derive(Default)]
struct Drawing {
    /// Colours and the rectangles that have them.
    areas: Vec<(u32, String)>,
    /// Colours and the lines that have them.
    strokes: Vec<(u32, String)>,
    inks: Vec<Ink>,
    texts: String,
}

/// Characters of one row that follow each other and look the same.
struct Run {
    column: usize,
    end: usize,
    ink: Ink,
    text: String,
    /// Characters of two cells stand by themselves: fonts do not agree on their width.
    wide: bool,
}

impl Drawing {
    fn backgrounds(&mut self, row: usize, paints: &[Paint], background: u32) {
        for (column, width, color) in runs_of(paints, |paint| Some(paint.background)) {
            if color != background {
                let (x, y, width) = (column * WIDTH, row * HEIGHT, width * WIDTH);
                add(&mut self.areas, color, &format!("M{x} {y}h{width}v{HEIGHT}h-{width}z"));
            }
        }
    }

    fn lines_of_text(&mut self, row: usize, paints: &[Paint]) {
        for (column, width, color) in runs_of(paints, |paint| paint.underline) {
            self.across(column * WIDTH, row * HEIGHT + BASE + 2, width * WIDTH, color);
        }
        let struck = |paint: &Paint| paint.strikethrough.then_some(paint.ink.color);
        for (column, width, color) in runs_of(paints, struck) {
            self.across(column * WIDTH, row * HEIGHT + HEIGHT / 2, width * WIDTH, color);
        }
    }

    fn across(&mut self, x: usize, y: usize, width: usize, color: u32) {
        add(&mut self.strokes, color, &format!("M{x} {y}.5h{width}"));
    }

    fn characters(&mut self, row: usize, texts: &[&str], paints: &[Paint]) {
        let mut runs: Vec<Run> = Vec::new();
        for (column, text) in texts.iter().enumerate() {
            let ink = paints[column].ink;
            if let Some(arms) = arms(text) {
                self.joined(row, column, arms, ink.color);
            } else if !text.trim().is_empty() {
                let wide = texts.get(column + 1).is_some_and(|next| next.is_empty());
                append(&mut runs, column, text, ink, wide);
            }
        }
        for run in runs {
            self.write(row, &run);
        }
    }

    /// A character that joins with those beside it.
    fn joined(&mut self, row: usize, column: usize, arms: [bool; 4], color: u32) {
        let (left, top) = (column * WIDTH, row * HEIGHT);
        let (x, y) = (left + WIDTH / 2, top + HEIGHT / 2);
        let ends = |first: bool, second: bool, start: usize, middle: usize, end: usize| {
            (if first { start } else { middle }, if second { end } else { middle + 1 })
        };
        let [up, right, down, to_left] = arms;
        if up || down {
            let (from, to) = ends(up, down, top, y, top + HEIGHT);
            add(&mut self.strokes, color, &format!("M{x}.5 {from}V{to}"));
        }
        if to_left || right {
            let (from, to) = ends(to_left, right, left, x, left + WIDTH);
            add(&mut self.strokes, color, &format!("M{from} {y}.5H{to}"));
        }
    }

    fn write(&mut self, row: usize, run: &Run) {
        let class = self.inks.iter().position(|ink| *ink == run.ink).unwrap_or_else(|| {
            self.inks.push(run.ink);
            self.inks.len() - 1
        });
        let (x, y) = (run.column * WIDTH, row * HEIGHT + BASE);
        let width = run.end - run.column;
        let length = if run.wide || width == 1 {
            String::new()
        } else {
            format!(" textLength=\"{}\"", width * WIDTH)
        };
        let text = escaped(&run.text);
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.texts,
            "<text class=\"t{class}\" x=\"{x}\" y=\"{y}\"{length}>{text}</text>"
        );
    }

    fn svg(&self, (columns, lines): (usize, usize), background: u32, title: &str) -> String {
        let (width, height) = (columns * WIDTH + 2 * MARGIN, lines * HEIGHT + 2 * MARGIN);
        let paths = |paths: &[(u32, String)], how: &str| -> String {
            let path =
                |(color, d): &(u32, String)| format!("<path {how}=\"#{color:06x}\" d=\"{d}\"/>\n");
            paths.iter().map(path).collect()
        };
        let (areas, strokes) = (paths(&self.areas, "fill"), paths(&self.strokes, "stroke"));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <title>{}</title>\n<style>text{{font:{FONT}}}{}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" rx=\"{MARGIN}\" fill=\"#{background:06x}\"/>\n\
             <g transform=\"translate({MARGIN} {MARGIN})\">\n{areas}{strokes}{}</g>\n</svg>\n",
            escaped(title),
            self.classes(),
            self.texts
        )
    }

    fn classes(&self) -> String {
        let class = |(index, ink): (usize, &Ink)| {
            let bold = if ink.bold { ";font-weight:700" } else { "" };
            let italic = if ink.italic { ";font-style:italic" } else { "" };
            format!(".t{index}{{fill:#{:06x}{bold}{italic}}}", ink.color)
        };
        self.inks.iter().enumerate().map(class).collect()
    }
}

/// Adds a character to the run before it, or begins one. One blank may lie between: more would be taken for one.
fn append(runs: &mut Vec<Run>, column: usize, text: &str, ink: Ink, wide: bool) {
    let end = column + if wide { 2 } else { 1 };
    if let Some(run) = runs.last_mut()
        && run.ink == ink
        && !run.wide
        && !wide
        && column - run.end <= 1
    {
        run.text.push_str(&" ".repeat(column - run.end));
        run.text.push_str(text);
        run.end = end;
        return;
    }
    runs.push(Run { column, end, ink, text: text.to_owned(), wide });
}

/// Cells beside each other that have the same colour: the first column, how many they are, the colour.
fn runs_of(paints: &[Paint], color: impl Fn(&Paint) -> Option<u32>) -> Vec<(usize, usize, u32)> {
    let mut runs: Vec<(usize, usize, u32)> = Vec::new();
    for (column, paint) in paints.iter().enumerate() {
        let Some(color) = color(paint) else { continue };
        match runs.last_mut() {
            Some((start, width, same)) if *same == color && *start + *width == column => {
                *width += 1;
            }
            _ => runs.push((column, 1, color)),
        }
    }
    runs
}

fn add(paths: &mut Vec<(u32, String)>, color: u32, path: &str) {
    match paths.iter_mut().find(|(same, _)| *same == color) {
        Some((_, d)) => d.push_str(path),
        None => paths.push((color, path.to_owned())),
    }
}

fn arms(text: &str) -> Option<[bool; 4]> {
    let mut chars = text.chars();
    let first = chars.next().filter(|_| chars.next().is_none())?;
    LINES.iter().find(|(char, _)| *char == first).map(|(_, arms)| *arms)
}

fn unescaped(text: &str) -> String {
    text.replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
