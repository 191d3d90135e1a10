//! The completions for shells, tried in the shells themselves, and the manual page. A shell that is not installed is named
//! and left out, unless `RAT_SHELLS` is set.

use std::process::Command;

/// Completes in a script of the shell, which finds the completions on its stdin; prints one word in a line.
const SHELLS: [(&str, &[&str]); 3] = [
    (
        "bash",
        &[
            "--norc",
            "-c",
            r#"
            source /dev/stdin
            COMP_WORDS=(rat-nvim exec --sa) COMP_CWORD=2
            $(complete -p rat-nvim | sed "s/.* -F \([^ ]*\) .*/\1/") rat-nvim --sa exec
            printf '%s\n' "${COMPREPLY[@]}"
        "#,
        ],
    ),
    (
        "zsh",
        &[
            "-f",
            "-c",
            r"
            autoload -U compinit && compinit -u -D
            source /dev/stdin
            [[ $_comps[rat-nvim] = _rat-nvim ]] && (( $+functions[_rat-nvim] )) && whence -f _rat-nvim | grep -o -- '--save-session' | head -n 1
        ",
        ],
    ),
    ("fish", &["--no-config", "-c", "source -; complete -C 'rat-nvim exec --sa'"]),
];

fn rat(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_rat-nvim")).args(arguments).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    output.stdout
}

/// Holds (Scripts): The completions load and complete in bash, zsh and fish.
#[test]
fn completions_load_in_shells() {
    let mut tried = 0;
    for (shell, arguments) in SHELLS {
        if Command::new(shell).args(["-c", "exit"]).status().is_err() {
            assert!(std::env::var_os("RAT_SHELLS").is_none(), "{shell} is not installed");
            eprintln!("left out: {shell} is not installed");
            continue;
        }
        let folder = crate::support::TempFolder::new();
        let script = folder.path().join("completions");
        std::fs::write(&script, rat(&["completions", shell])).unwrap();
        let output = Command::new(shell)
            .args(arguments)
            .env("HOME", folder.path())
            .stdin(std::fs::File::open(&script).unwrap())
            .output()
            .unwrap();
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let word = out.split_whitespace().next();
        assert_eq!((word, &*err), (Some("--save-session"), ""), "{shell}: {output:?}");
        tried += 1;
    }
    assert!(tried > 0, "no shell is installed");
}

/// Holds (Scripts): The manual page has every flag and every exit code.
#[test]
fn the_manual_page_has_flags_and_exit_codes() {
    let page = String::from_utf8(rat(&["man"])).unwrap().replace("\\-", "-");
    let help = String::from_utf8(rat(&["exec", "--help"])).unwrap();
    let flags: Vec<_> =
        help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 4).collect();
    assert!(flags.len() > 12, "{flags:?}");
    for flag in flags {
        let flag = flag.trim_end_matches([',', '.', ')', ';', ':']);
        assert!(page.contains(flag), "{flag}");
    }
    for code in ["124", "130", "141"] {
        assert!(page.contains(code), "{code}");
    }
}

/// Holds (Scripts): Completions offer only the commands that are listed in the help.
#[test]
fn completions_offer_no_hidden_command() {
    for (shell, _) in SHELLS {
        let script = String::from_utf8(rat(&["completions", shell])).unwrap();
        assert!(script.contains("replay") && !script.contains("watch-group"), "{shell}");
        assert!(!script.contains("check-agents") && !script.contains("check__agents"), "{shell}");
    }
}
