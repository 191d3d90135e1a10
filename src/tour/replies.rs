//! Chooses the reply to a prompt: the tour, a slash command, or a description of what arrived.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::story;
use super::turn::{Stopped, Turn};

/// The number of chunks that `/stress` sends.
const CHUNKS: usize = 5000;

/// Returns the update with the tour's slash commands. Source: ACP v1, slash commands.
pub(super) fn commands() -> Value {
    json!({"sessionUpdate": "available_commands_update", "availableCommands": [
        {"name": "tour", "description": "Play the tour from the start"},
        {"name": "plan", "description": "Work through a plan", "input": {"hint": "steps, separated by commas"}},
        {"name": "stress", "description": "Stream 5,000 pieces of text as fast as possible"},
    ]})
}

/// Replies to a prompt. The first one that is not a command plays the tour.
pub(super) fn reply(turn: &mut Turn, prompt: &[Value]) -> Result<(), Stopped> {
    let text = prompt.iter().find_map(|block| block["text"].as_str()).unwrap_or_default().trim();
    let (command, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match command {
        "/tour" => story::play(turn),
        "/plan" => plan(turn, rest),
        "/stress" => stress(turn),
        _ if turn.session.toured.load(Ordering::Relaxed) => describe(turn, prompt),
        _ => story::play(turn),
    }
}

/// Works through the steps that the user named.
fn plan(turn: &mut Turn, steps: &str) -> Result<(), Stopped> {
    let named: Vec<&str> =
        steps.split(',').map(str::trim).filter(|step| !step.is_empty()).collect();
    let steps = if named.is_empty() { vec!["Think", "Do", "Rest"] } else { named };
    turn.say("Here is a plan; `:RatPlan` shows it in a window of its own.\n")?;
    for done in 0..=steps.len() {
        turn.plan(&steps, done);
        turn.pause(Duration::from_millis(800))?;
    }
    turn.say("All done.\n")
}

/// Sends many chunks at once, to show that the editor stays responsive.
fn stress(turn: &mut Turn) -> Result<(), Stopped> {
    turn.begin_message();
    for chunk in 1..=CHUNKS {
        let end = if chunk % 10 == 0 { "\n" } else { " " };
        turn.say_at_once(&format!("`{chunk}` of *{CHUNKS}*{end}"))?;
    }
    Ok(())
}

/// Describes to the user what the prompt contains.
fn describe(turn: &mut Turn, prompt: &[Value]) -> Result<(), Stopped> {
    turn.say("This is what arrived:\n\n")?;
    for block in prompt {
        turn.say(&format!("- {}\n", description(block)))?;
    }
    turn.say("\nI only have a script, so I cannot say more. `/tour` plays it again.\n")?;
    turn.usage();
    Ok(())
}

fn description(block: &Value) -> String {
    let lines = |text: &str| match text.lines().count() {
        1 => "one line".to_owned(),
        count => format!("{count} lines"),
    };
    match block["type"].as_str().unwrap_or_default() {
        "text" => {
            let text = block["text"].as_str().unwrap_or_default();
            format!("a text of {}: {}", lines(text), text.lines().next().unwrap_or_default())
        }
        "resource" => {
            let resource = &block["resource"];
            let text = resource["text"].as_str().unwrap_or_default();
            format!("{} of `{}`", lines(text), resource["uri"].as_str().unwrap_or_default())
        }
        "resource_link" => format!("a link to `{}`", block["uri"].as_str().unwrap_or_default()),
        other => format!("something of type `{other}`"),
    }
}
