//! The script in a prompt: `[[name argument]]`, `\n` in an argument is a newline. Knows nothing of the protocol.

/// One of its steps.
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) argument: String,
}

impl Step {
    /// Whether it is a tool's.
    pub(crate) fn is_call(&self) -> bool {
        ["read", "write", "edit", "shell"].contains(&self.name.as_str())
    }
}

/// The steps of a prompt; those of one group, between which is `&&`, are made at once.
pub(crate) fn parse(prompt: &str) -> Vec<Vec<Step>> {
    let mut groups: Vec<Vec<Step>> = Vec::new();
    let mut rest = prompt;
    while let Some(begin) = rest.find("[[") {
        let between = rest[..begin].trim_end();
        let inside = &rest[begin + 2..];
        let Some(mut end) = inside.find("]]") else { break };
        while inside[end + 2..].starts_with(']') {
            end += 1;
        }
        let (name, argument) = inside[..end].split_once(' ').unwrap_or((&inside[..end], ""));
        let step = Step { name: name.to_owned(), argument: argument.replace("\\n", "\n") };
        match groups.last_mut() {
            Some(group) if between.ends_with("&&") && step.is_call() => group.push(step),
            _ => groups.push(vec![step]),
        }
        rest = &inside[end + 2..];
    }
    groups
}
