//! URLs: shown whole, opened on consent, done when the agent says so.

use super::in_turn;
use serde_json::json;

const PLAIN: &str = "https://login.example.com/device?code=ABCD-EFGH&state=0123456789abcdef0123456789abcdef0123456789abcdef";

/// ACP 125, 128, 129.
/// Holds (Forms and URLs): A URL is shown whole with its host, and opened with consent only.
#[test]
fn an_address_is_shown_whole_and_opened_on_consent_only() {
    let mut chat = in_turn();
    let pending = chat.address("e1", PLAIN);
    for text in [
        "Fake agent asks you to open a URL",
        "Log in there.",
        "host: login.example.com",
        "Nothing opens until you press ga.",
        "ga open · gr decline · gc cancel · q later",
    ] {
        chat.nvim.poll_screen(text);
    }
    let line = chat.nvim.lua("return vim.fn.search(..., 'cw')", json!(["^https:"]));
    let shown = chat.nvim.lua("return vim.fn.getline(...)", json!([line]));
    assert_eq!(shown, json!(PLAIN), "on a line of its own");
    let transcript = chat.transcript().join("\n");
    assert!(transcript.contains(&format!("\n    {PLAIN}\n")), "{transcript}");
    assert!(!chat.nvim.screen().contains("! "), "nothing to beware of");
    assert_eq!(chat.browsed(), json!([]));
    chat.nvim.input("<CR>");
    chat.nvim.input("ga");
    assert_eq!(chat.answer(pending), json!({"action": "accept"}));
    chat.poll_transcript("the agent waits for you to finish there");
    chat.nvim.poll("the browser", |nvim| nvim.eval("_G.browsed") == json!([PLAIN]));
    chat.agent.notify("elicitation/complete", json!({"elicitationId": "unknown"}));
    chat.agent.notify("elicitation/complete", json!({"elicitationId": "e1"}));
    chat.poll_transcript("\n    done");
    chat.agent.notify("elicitation/complete", json!({"elicitationId": "e1"}));
    chat.agent.notify("elicitation/complete", json!({}));
    let session = chat.session.clone();
    chat.agent.say(&session, "Thank you.");
    chat.poll_transcript("Thank you.");
    assert_eq!(chat.browsed(), json!([PLAIN]), "once");
}

/// ACP 128, 132.
/// Holds (Forms and URLs): A URL that is declined or cancelled is never opened.
#[test]
fn what_is_declined_or_cancelled_is_never_opened() {
    for (keys, action) in [("gr", "decline"), ("gc", "cancel")] {
        let mut chat = in_turn();
        let pending = chat.address("e1", PLAIN);
        chat.nvim.poll_screen("ga open");
        chat.nvim.input(keys);
        assert_eq!(chat.answer(pending), json!({"action": action}), "{keys}");
        chat.agent.notify("elicitation/complete", json!({"elicitationId": "e1"}));
        chat.nvim.poll_state("running");
        assert_eq!(chat.browsed(), json!([]), "{keys}");
    }
}

/// ACP 128.
/// Holds (Forms and URLs): A URL that may deceive comes with a warning.
#[test]
fn an_address_that_may_deceive_is_warned_of() {
    let cases = [
        ("https://\u{430}pple.com/", "host: xn--pple-43d.com", "may imitate another"),
        ("https://xn--pple-43d.com/", "host: xn--pple-43d.com", "looks like \"\u{430}pple.com\""),
        ("https://example.com@evil.test/", "host: evil.test", "is a user name"),
        ("http://example.com/", "host: example.com", "others can read and change"),
    ];
    let mut chat = in_turn();
    for (url, host, warning) in cases {
        let pending = chat.address("e", url);
        chat.nvim.poll_screen("ga open");
        chat.nvim.poll_screen(host);
        chat.nvim.poll_screen(warning);
        chat.poll_transcript(warning);
        chat.nvim.input("gr");
        assert_eq!(chat.answer(pending), json!({"action": "decline"}));
        chat.nvim.poll_no("ga open");
    }
}

#[test]
fn an_address_that_cannot_be_opened_is_told_and_stays_in_the_chat() {
    let mut chat = in_turn();
    chat.nvim.lua("vim.ui.open = function() return nil, 'no browser' end", json!([]));
    let pending = chat.address("e1", PLAIN);
    chat.nvim.poll_screen("ga open");
    chat.nvim.input("ga");
    assert_eq!(chat.answer(pending), json!({"action": "accept"}));
    chat.nvim.poll_screen("Could not open");
    assert!(chat.transcript().join("\n").contains(PLAIN));
}
