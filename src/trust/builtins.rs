//! What shells do with the arguments of their own commands: some run them, some compute with them, some set variables by which
//! another program is found. Lists what has to stay unclear in any of the shells that [`shell`](super::shell) names.

use super::shell::{Unclear, Word};

/// Words that begin, join or end compound commands in one of the shells, or change how the next word is taken.
const RESERVED: &[&str] = &[
    "!",
    "-",
    "[[",
    "]]",
    "{",
    "{}",
    "}",
    "and",
    "begin",
    "case",
    "coproc",
    "do",
    "done",
    "elif",
    "else",
    "end",
    "esac",
    "fi",
    "for",
    "foreach",
    "function",
    "if",
    "in",
    "namespace",
    "not",
    "or",
    "repeat",
    "select",
    "switch",
    "then",
    "until",
    "while",
];

/// Commands that run, define or load something, set variables, or evaluate their arguments. Sorted.
const EVALUATING: &[&str] = &[
    ".",
    "abbr",
    "alarm",
    "alias",
    "argparse",
    "array",
    "autoload",
    "bind",
    "bindkey",
    "block",
    "caller",
    "commandline",
    "compadd",
    "comparguments",
    "compcall",
    "compctl",
    "compdescribe",
    "compfiles",
    "compgen",
    "complete",
    "compopt",
    "compound",
    "compquote",
    "compset",
    "comptags",
    "comptry",
    "compvalues",
    "dirs",
    "disable",
    "disown",
    "echotc",
    "echoti",
    "emit",
    "emulate",
    "enable",
    "enum",
    "export",
    "fc",
    "float",
    "funced",
    "funcsave",
    "functions",
    "getln",
    "getopts",
    "global",
    "hash",
    "hist",
    "history",
    "integer",
    "let",
    "limit",
    "local",
    "log",
    "mapfile",
    "nameref",
    "newgrp",
    "popd",
    "print",
    "private",
    "psub",
    "pushd",
    "pushln",
    "r",
    "read",
    "readarray",
    "readonly",
    "rehash",
    "sched",
    "set",
    "setopt",
    "shopt",
    "source",
    "stat",
    "status",
    "string",
    "suspend",
    "sysopen",
    "sysread",
    "sysseek",
    "syswrite",
    "trap",
    "ttyctl",
    "typeset",
    "declare",
    "ulimit",
    "unalias",
    "unfunction",
    "unhash",
    "unlimit",
    "unset",
    "unsetopt",
    "vared",
    "whence",
    "zcompile",
    "zcurses",
    "zformat",
    "zftp",
    "zle",
    "zmodload",
    "zparseopts",
    "zprof",
    "zpty",
    "zregexparse",
    "zselect",
    "zsocket",
    "zstat",
    "zstyle",
    "zsystem",
    "ztcp",
    "ztie",
    "zuntie",
];

/// Commands that some shells compute the arguments of: a number is no more than that.
const COMPUTING: &[&str] = &[
    "bg", "break", "bye", "continue", "exit", "fg", "jobs", "kill", "logout", "return", "shift",
    "sleep", "umask", "wait",
];

/// Operators of `test` whose operands some shells compute, or take for the name of a variable.
const COMPARING: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-t", "-v", "-R"];

const EVALUATES: Unclear = Unclear("it uses a shell command that runs, sets or loads something");
const COMPUTES: Unclear = Unclear("a shell may compute what an argument says");

/// Checks that no shell makes more of a program of this name than a program that is given these arguments.
pub(super) fn check(name: &str, arguments: &[Word]) -> Result<(), Unclear> {
    if RESERVED.contains(&name) {
        return Err(Unclear("it has a loop, a condition or a function"));
    }
    if EVALUATING.contains(&name) {
        return Err(EVALUATES);
    }
    let texts = || arguments.iter().map(|word| word.literal().ok_or(COMPUTES));
    match name {
        "printf" => printf(&texts().collect::<Result<Vec<_>, _>>()?),
        "test" | "[" => {
            // A pattern may stand for a file that is named like an operator.
            let known = texts().collect::<Result<Vec<_>, _>>()?;
            if !known.iter().any(|text| COMPARING.contains(text)) {
                return Ok(());
            }
            let is_harmless = |text: &str| {
                is_number(text) || text.starts_with('-') || "=!".contains(text) || text == "]"
            };
            let harmless = known.into_iter().all(is_harmless);
            if harmless { Ok(()) } else { Err(COMPUTES) }
        }
        name if COMPUTING.contains(&name) => {
            let is_harmless = |text: &str| {
                let rest = text.trim_start_matches(['-', '%']);
                is_number(text)
                    || rest.len() < text.len() && rest.bytes().all(|b| b.is_ascii_alphanumeric())
            };
            let harmless = texts().collect::<Result<Vec<_>, _>>()?.into_iter().all(is_harmless);
            if harmless { Ok(()) } else { Err(COMPUTES) }
        }
        _ => Ok(()),
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// `printf` sets a variable for `-v` and `%n`, and computes what `%d` is given.
fn printf(arguments: &[&str]) -> Result<(), Unclear> {
    let [format, rest @ ..] = arguments else { return Ok(()) };
    if format.starts_with('-') {
        return Err(EVALUATES);
    }
    let mut conversions = format.split('%').skip(1).peekable();
    let mut computes = false;
    while let Some(text) = conversions.next() {
        if text.is_empty() {
            // `%%`: what follows is text.
            conversions.next();
            continue;
        }
        let text =
            text.trim_start_matches(|char: char| char.is_ascii_digit() || "-.#+ ".contains(char));
        match text.chars().next() {
            Some('s' | 'b') => {}
            Some('d' | 'i' | 'o' | 'u' | 'x' | 'X' | 'c' | 'f' | 'e' | 'g' | 'E' | 'G') => {
                computes = true;
            }
            _ => return Err(EVALUATES),
        }
    }
    if computes && !rest.iter().all(|text| is_number(text)) { Err(COMPUTES) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_clear(line: &str) -> bool {
        let mut words = line.split(' ').map(|text| Word::Literal(text.to_owned()));
        let name = words.next();
        let name = name.as_ref().and_then(Word::literal).unwrap();
        check(name, &words.collect::<Vec<_>>()).is_ok()
    }

    #[test]
    fn what_a_shell_computes_is_unclear() {
        for line in [
            "[ -f a ]",
            "test a = b",
            "[ 1 -eq 2 ]",
            "[ ! -e a[1] ]",
            "printf %s\\n a[$(x)]",
            "printf %d 5",
            "printf 100%%",
            "kill -9 12",
            "kill -TERM %1",
            "exit 1",
            "sleep 0.5",
            "echo a[$(x)]",
            "umask 022",
        ] {
            assert!(is_clear(line), "{line}");
        }
        for line in [
            "test -v a[$(x)]",
            "[ -v a ]",
            "[ a[$(x)] -eq 1 ]",
            "[ PATH=5 -eq 5 ]",
            "printf -v PATH x",
            "printf %n PATH",
            "printf %d a[$(x)]",
            "printf %*d 1 2",
            "printf %5$s",
            "printf %(x)T",
            "exit a[$(x)]",
            "shift PATH=5",
            "sleep a[$(x)]",
            "[ -t a[$(x)] ]",
            "read PATH",
            "- ls",
            "if x",
            "print -P x",
            ". x",
            "string x",
            "wait -p PATH=",
        ] {
            assert!(!is_clear(line), "{line}");
        }
    }
}
