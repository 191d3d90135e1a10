//! Command lines by chance: from the grammar of shells, of pieces, and by changing lines that are allowed. In them, `bad` and
//! `evil` are programs that must not run.

use crate::support::Dice;

/// Lines that ran something else in one of the shells once.
pub(super) const FOUND: &[&str] = &[
    "(\\\n(ls '$(evil)'))",
    "echo $(\\\n(ls '$(evil)'))",
    "ls {a['$(evil)']}>/dev/null",
    "ls {a['$(evil)']}</dev/null",
    "ls {a['$(evil)']}>&2",
    "ls {a['$(evil)']}<<<x",
    "ls &>/dev/null evil",
    "ls 'a\\' 'b; evil #'",
    "ls $$['$(evil)']",
    "ls $*['$(evil)']",
    "ls $@['$(evil)']",
    "ls $#['$(evil)']",
    "ls $-['$(evil)']",
    "ls $0['$(evil)']",
    "ls >&'$(evil)'",
    "echo x >! ../f",
    "echo x >>! ../f",
    "echo x &>! ../f",
    "ls 2>| evil",
    "ls >| evil",
    "test -v 'a[$(evil)]'",
    "[ -v 'a[$(evil)]' ]",
    "[ 'a[$(evil)]' -eq 1 ]",
    "printf %n 'a[$(evil)]'",
    "printf %d 'a[$(evil)]'",
    "fd -Hx evil",
    "fd -xevil",
    "exit 'a[$(evil)]'",
    "kill 'a[$(evil)]'",
    "[ PATH=5 -eq 5 ] ; ls",
    "time X=1 evil",
    "- evil",
    "> w",
    "ls\u{3000}evil",
    "ls \\\n# \nevil",
    "command sh -c -v evil",
    "ls 2 <->&1",
    "echo evil | sh",
    "echo evil | sh -c bash -c ls",
    "echo evil | bash --posix",
    "fish -c ls -c evil",
    "fish -c ls --init-command=evil",
    "fish -cevil",
    "zsh -c -ovi 'evil x' ls",
    "echo x | xargs --max-lines evil ls",
    "test *",
    "[ 'a[$(evil)]' -e? 1 ]",
    "exec -a evil ls",
    "sh +c 'evil x'",
    "ksh93 'evil x'",
    "eval -- evil",
    "X='a[$(evil)]' ok",
    "env A=b evi? ls",
    "find sub -execdir sh -c 'echo a > w' ';'",
];

/// Lines that are allowed, to be changed a little.
pub(super) const LINES: &[&str] = &[
    "ok 'bad' \"x bad\" && ls -la a/b || e bad | cat",
    "sh -c 'ok \"bad\" && ls; e bad' > /dev/null",
    "find . -name 'bad' -exec ok bad {} \\; ; timeout 5 ok bad",
    "ls bad\nok bad\n\n! e 'bad'",
    "eval \"ok 'bad'\" ; nice -n 5 nohup ok bad",
    "bash -c \"ok 'bad'; echo bad | cat\" | ok x=bad *.rs ~/bad",
    "echo bad|ok bad 2>/dev/null ; command -v bad",
    "ok bad >w 2>&1 ; ls >> w < w",
    "[ -f bad ] && test a = 'bad' || printf '%s\\n' bad",
    "X=1 ok bad; env ok bad | xargs ok bad # bad",
    "ls 'a b' \\;bad \"\\\"bad\" a#bad HEAD~1 a^bad 'a\\b'",
    "ls \\\n  --bad \\\n  bad",
];

/// Pieces of command lines.
const PIECES: &[&str] = &[
    "ok",
    "bad",
    "evil",
    "ls",
    " ",
    " ",
    " ",
    " ",
    ";",
    "&",
    "&&",
    "||",
    "|",
    "|&",
    "\n",
    "\t",
    "(",
    ")",
    "{",
    "}",
    "{ ",
    "; }",
    "$(",
    "`",
    "\"",
    "'",
    "\\",
    "\\\n",
    "\\'",
    "\\\\",
    "$",
    "${",
    "$X",
    "$((",
    "$'",
    "#",
    " #",
    "!",
    "! ",
    "~",
    "*",
    "?",
    "[",
    "]",
    "[[",
    "<",
    ">",
    ">>",
    "<<",
    "<<<",
    "<(",
    ">(",
    "2>&1",
    "&>",
    ">&",
    ">|",
    "2>|",
    ">!",
    "<>",
    "<&",
    "1>",
    "2>",
    "3>",
    "/dev/null",
    "w",
    "=",
    "X=",
    "X=1 ",
    "a",
    "-",
    "--",
    "-c",
    "env ",
    "xargs ",
    "xargs -I{} ",
    "{}",
    "find . -exec ",
    " \\;",
    " +",
    "sh -c ",
    "bash -c ",
    "eval ",
    "exec ",
    "command ",
    "builtin ",
    "nohup ",
    "nice ",
    "timeout 5 ",
    "time ",
    "if ",
    "then ",
    "fi",
    "for x in a; do ",
    "done",
    "while ",
    "case x in x) ",
    "esac",
    "function ok ",
    "ok() ",
    "begin; ",
    "; end",
    "and ",
    "not ",
    "echo bad | ",
    "cat ",
    "printf ",
    "test ",
    "[ ",
    " ]",
    " -eq ",
    " -v ",
    "'a[$(evil)]'",
    "'$(evil)'",
    "'`evil`'",
    "trap bad EXIT; ",
    ". ",
    "set -- bad; ",
    "\u{a0}",
    "\u{3000}",
    "\r",
    "e",
    "x=bad ",
    "EOF",
    "\nEOF\n",
    "%1",
    "^",
    "=ok",
    "@(",
    "${a[$(bad)]}",
    "\\;",
    "\\(",
    "\\ ",
];

/// Makes lines from the grammar of shells, down to a depth.
struct Grammar<'a>(&'a mut Dice);

impl Grammar<'_> {
    fn list(&mut self, depth: usize) -> String {
        let count = self.0.within(1..4);
        let mut text = String::new();
        for at in 0..count {
            if at > 0 {
                text += *self
                    .0
                    .pick(&["; ", " && ", " || ", " | ", "\n", ";", "|", "&&", " & ", " |& "]);
            }
            text += &self.command(depth);
        }
        text
    }

    fn command(&mut self, depth: usize) -> String {
        if depth > 0 && self.0.once_in(6) {
            let inner = self.list(depth - 1);
            let word = self.word(depth - 1);
            return match self.0.within(0..11) {
                0 => format!("({inner})"),
                1 => format!("{{ {inner}; }}"),
                2 => format!("if {inner}; then {inner}; fi"),
                3 => format!("for x in {word}; do {inner}; done"),
                4 => format!("ok() {{ {inner}; }}"),
                5 => format!("case {word} in *) {inner};; esac"),
                6 => format!("begin; {inner}; end"),
                7 => format!("(({word}))"),
                8 => format!("[[ {word} ]]"),
                9 => format!("eval {}", quoted(&inner)),
                _ => format!("sh -c {}", quoted(&inner)),
            };
        }
        let mut text = String::new();
        if self.0.once_in(8) {
            text += *self.0.pick(&[
                "X=1 ", "! ", "time ", "env ", "exec ", "command ", "nice ", "PATH=. ", "- ",
            ]);
        }
        text += *self.0.pick(&[
            "ok", "ok", "ls", "e", "echo", "printf", "test", "[", "cat", "exit", "bad", "find",
            "fd",
        ]);
        for _ in 0..self.0.within(0..4) {
            text += *self.0.pick(&[" ", " ", " ", "  ", "\t", " \\\n "]);
            if self.0.once_in(4) {
                text += &self.redirection(depth);
            } else {
                text += &self.word(depth);
            }
        }
        text
    }

    fn redirection(&mut self, depth: usize) -> String {
        let descriptor =
            *self.0.pick(&["", "", "", "0", "1", "2", "3", "12", "{x}", "{a['$(evil)']}", "&"]);
        let operator = *self.0.pick(&[
            ">", ">", ">>", "<", ">&", "<&", "<>", ">|", "&>", "&>>", ">!", ">>!", "<<<", ">&-",
            ">?",
        ]);
        let blank = *self.0.pick(&["", "", " ", "\t"]);
        let target = match self.0.within(0..3) {
            0 => "/dev/null".to_owned(),
            1 => self.0.pick(&["w", "1", "2", "../f", "f", "-", "&1", "!w", "|evil"]).to_string(),
            _ => self.word(depth),
        };
        format!("{descriptor}{operator}{blank}{target}")
    }

    fn word(&mut self, depth: usize) -> String {
        (0..self.0.within(1..4)).map(|_| self.part(depth)).collect()
    }

    fn part(&mut self, depth: usize) -> String {
        let plain = *self.0.pick(&[
            "a", "bad", "w", "-v", "-eq", "-x", "1", "a/b", "x=", "%d", "%n", ".", "a,b", "evil",
        ]);
        let evil = *self.0.pick(&[
            "$(evil)",
            "`evil`",
            "a[$(evil)]",
            "; evil",
            "evil",
            "\\",
            "b; evil #",
            "\n",
            "PATH=.",
        ]);
        let inner = if depth > 0 { self.list(depth - 1) } else { "evil".to_owned() };
        match self.0.within(0..16) {
            0..=5 => plain.to_owned(),
            6 => format!("'{}'", evil.replace('\'', "")),
            7 => format!("\"{plain}\""),
            8 => format!("\"{evil}\""),
            9 => format!("$({inner})"),
            10 => (*self.0.pick(&[
                "$X",
                "${X}",
                "$$",
                "$*",
                "$@",
                "$#",
                "$-",
                "$0",
                "$?",
                "$!",
                "${X:-evil}",
                "$[1]",
            ]))
            .to_owned(),
            11 => {
                (*self.0.pick(&["*", "?", "[a]", "{a,b}", "~", "{}", "[", "]", "^", "=", "#", "!"]))
                    .to_owned()
            }
            12 => format!(
                "\\{}",
                self.0.pick(&["a", ";", "(", "'", "\"", "$", "\n", "\\", " ", "n", "x41"])
            ),
            13 => format!("{}('{evil}')", self.0.pick(&["<", ">", "$", "@", "="])),
            14 => format!("$'{evil}'"),
            _ => format!("{plain}['{evil}']"),
        }
    }
}

pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A line of one of the three kinds.
pub(super) fn random_line(dice: &mut Dice) -> String {
    match dice.within(0..3) {
        0 => (0..dice.within(1..10)).map(|_| *dice.pick(PIECES)).collect(),
        1 => Grammar(dice).list(2),
        _ => {
            let base = if dice.once_in(4) {
                Grammar(dice).list(1)
            } else {
                (*dice.pick(LINES)).to_owned()
            };
            let mut line: Vec<char> = base.chars().collect();
            for _ in 0..dice.within(1..4) {
                let at = dice.within(0..line.len() + 1);
                if dice.once_in(2) {
                    line.splice(at..at, dice.pick(PIECES).chars());
                } else {
                    let end = line.len().min(at + dice.within(1..4));
                    let moved: Vec<char> = line.drain(at..end).collect();
                    if dice.once_in(2) {
                        let to = dice.within(0..line.len() + 1);
                        line.splice(to..to, moved);
                    }
                }
            }
            line.into_iter().collect()
        }
    }
}
