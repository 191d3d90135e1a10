//! How fast texts are compared and merged, beside parsing them.

use super::compare;
use rat_nvim::edit::{Text, diff, merge};

#[test]
fn of_a_megabyte() {
    let line = |number: usize| format!("{number:>51}\n");
    let content: String = (0..20_000).map(line).collect();
    let old = Text::parse(&content);
    let new = Text::parse(&content.replacen("  10000\n", "changed\n", 1));
    let parse = || Text::parse(&content);
    compare("diff of one line in 1 MB", "parsing it", || diff(&old, &new), parse);
    compare("merge of one line in 1 MB", "parsing it", || merge(&old, &new, &old), parse);
    for kinds in [2_usize, 10, 1_000, 1_000_000] {
        let text = |seed: usize| {
            let kind = |i: usize| (i * 2_654_435_761 + seed * i * i + i / 7) % kinds;
            let lines: Vec<String> = (0..20_000).map(|i| kind(i).to_string()).collect();
            lines.join("\n")
        };
        let (one, other) = (text(2), text(77));
        let (old, new) = (Text::parse(&one), Text::parse(&other));
        let parse = || (Text::parse(&one), Text::parse(&other));
        let what = format!("diff of 20,000 lines of {kinds} kinds");
        compare(&what, "parsing both", || diff(&old, &new), parse);
    }
}
