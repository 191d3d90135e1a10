//! Addresses: shown whole, opened on consent, done when the agent says so.

use crate::Talk;
use serde_json::json;

const PLAIN: &str = "https://login.example.com/device?code=ABCD-EFGH&state=0123456789abcdef0123456789abcdef0123456789abcdef";

/// ACP 125, 128, 129.
#[test]
fn an_address_is_shown_whole_and_opened_on_consent_only() {
    let mut talk = Talk::start();
    let pending = talk.address("e1", PLAIN);
    for text in [
        "Fake agent asks you to open an address",
        "Log in there.",
        "leads to login.example.com",
        "Nothing is opened before you say so.",
        "ga open · gr decline · gh later · q cancel",
    ] {
        talk.nvim.poll_screen(text);
    }
    let line = talk.nvim.lua("return vim.fn.search(..., 'cw')", json!(["^https:"]));
    let shown = talk.nvim.lua("return vim.fn.getline(...)", json!([line]));
    assert_eq!(shown, json!(PLAIN), "on a line of its own");
    assert!(talk.transcript().contains(&format!("\n{PLAIN}\n")), "{}", talk.transcript());
    assert!(!talk.nvim.screen().contains("! "), "nothing to beware of");
    assert_eq!(talk.browsed(), json!([]));
    talk.nvim.input("<CR>");
    talk.nvim.input("ga");
    assert_eq!(talk.answer(pending), json!({"action": "accept"}));
    talk.poll_transcript("the agent waits until it is done there");
    talk.nvim
        .poll("the browser", |nvim| nvim.lua("return _G.browsed", json!([])) == json!([PLAIN]));
    talk.agent.notify("elicitation/complete", json!({"elicitationId": "unknown"}));
    talk.agent.notify("elicitation/complete", json!({"elicitationId": "e1"}));
    talk.poll_transcript("\ndone");
    talk.agent.notify("elicitation/complete", json!({"elicitationId": "e1"}));
    talk.agent.notify("elicitation/complete", json!({}));
    let session = talk.session.clone();
    talk.agent.say(&session, "Thank you.");
    talk.poll_transcript("Thank you.");
    assert_eq!(talk.browsed(), json!([PLAIN]), "once");
}

/// ACP 128, 132.
#[test]
fn what_is_declined_or_closed_is_never_opened() {
    for (keys, action) in [("gr", "decline"), ("q", "cancel"), (":q<CR>", "cancel")] {
        let mut talk = Talk::start();
        let pending = talk.address("e1", PLAIN);
        talk.nvim.poll_screen("ga open");
        talk.nvim.input(keys);
        assert_eq!(talk.answer(pending), json!({"action": action}), "{keys}");
        talk.agent.notify("elicitation/complete", json!({"elicitationId": "e1"}));
        talk.nvim.poll_state("running");
        assert_eq!(talk.browsed(), json!([]), "{keys}");
    }
}

/// ACP 128.
#[test]
fn an_address_that_may_deceive_is_warned_of() {
    let cases = [
        ("https://\u{430}pple.com/", "leads to xn--pple-43d.com", "may imitate another"),
        (
            "https://xn--pple-43d.com/",
            "leads to xn--pple-43d.com",
            "looks like \"\u{430}pple.com\"",
        ),
        ("https://example.com@evil.test/", "leads to evil.test", "is a user name"),
        ("http://example.com/", "leads to example.com", "others can read and change"),
    ];
    let mut talk = Talk::start();
    for (url, host, warning) in cases {
        let pending = talk.address("e", url);
        talk.nvim.poll_screen("ga open");
        talk.nvim.poll_screen(host);
        talk.nvim.poll_screen(warning);
        talk.poll_transcript(warning);
        talk.nvim.input("gr");
        assert_eq!(talk.answer(pending), json!({"action": "decline"}));
        talk.poll_gone("ga open");
    }
}

#[test]
fn an_address_that_cannot_be_opened_is_told_and_stays_in_the_chat() {
    let mut talk = Talk::start();
    talk.nvim.lua("vim.ui.open = function() return nil, 'no browser' end", json!([]));
    let pending = talk.address("e1", PLAIN);
    talk.nvim.poll_screen("ga open");
    talk.nvim.input("ga");
    assert_eq!(talk.answer(pending), json!({"action": "accept"}));
    talk.nvim.poll_screen("could not be opened");
    assert!(talk.transcript().contains(PLAIN));
}
