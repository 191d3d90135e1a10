//! When the tool calls of running turns ran, and what that says of a change on disk: one within the time of a call is that call's,
//! one between two calls may be anybody's. Reads no file.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use crate::core::messages::files::CallState;
use crate::session::author::{Author, SessionKey};
use crate::session::ids::ToolCallId;

/// By so much a tool call may have begun before its message has been seen, on a busy machine, and a file system's clock may lag.
const SLACK: Duration = Duration::from_millis(250);

/// When the tool calls of running turns ran, by session.
#[derive(Debug, Default)]
pub(super) struct CallTimes(Mutex<HashMap<SessionKey, TurnTimes>>);

#[derive(Debug)]
struct TurnTimes {
    turn: u64,
    began: SystemTime,
    spans: Vec<Span>,
}

/// A time in which a tool call ran: it does not while it waits for the user.
#[derive(Debug)]
struct Span {
    call: ToolCallId,
    from: SystemTime,
    to: Option<SystemTime>,
    is_command: bool,
}

/// What the time of a change says of it.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// A tool call did it.
    Call(ToolCallId),
    /// No tool call ran.
    NoCall,
    Unknown,
}

impl CallTimes {
    /// A turn of a session begins.
    pub(super) fn begin(&self, session: &SessionKey, turn: u64, now: SystemTime) {
        let times = TurnTimes { turn, began: now, spans: Vec::new() };
        self.0.lock().insert(session.clone(), times);
    }

    /// A tool call runs from now on, or no more.
    pub(super) fn is(&self, by: &Author, state: CallState, is_command: bool, now: SystemTime) {
        let Some(call) = &by.tool_call else { return };
        let mut turns = self.0.lock();
        let Some(times) = turns.get_mut(&by.session).filter(|it| it.turn == by.turn) else {
            return;
        };
        let is_known = times.spans.iter().any(|it| it.call == *call);
        let open = times.spans.iter_mut().rev().find(|it| it.call == *call && it.to.is_none());
        match (open, state) {
            // An agent may tell the kind later than the call itself.
            (Some(span), CallState::Runs) => span.is_command = is_command,
            (None, CallState::Waits) => {}
            (Some(span), CallState::Waits | CallState::Ended) => span.to = Some(now),
            (None, CallState::Runs) => {
                let call = call.clone();
                times.spans.push(Span { call, from: now, to: None, is_command });
            }
            (None, CallState::Ended) if is_known => {}
            (None, CallState::Ended) => {
                // It is told of once it is done, so it may have begun when the one before ended.
                let ends = times.spans.iter().filter_map(|it| it.to);
                let from = ends.max().unwrap_or(times.began);
                let (call, to) = (call.clone(), Some(now));
                times.spans.push(Span { call, from, to, is_command });
            }
        }
    }

    pub(super) fn forget(&self, session: &SessionKey) {
        self.0.lock().remove(session);
    }

    fn verdict(&self, by: &Author, changed: SystemTime, now: SystemTime) -> Verdict {
        let turns = self.0.lock();
        let Some(times) = turns.get(&by.session).filter(|it| it.turn == by.turn) else {
            return Verdict::Unknown;
        };
        let is_told = |call: &ToolCallId| times.spans.iter().any(|span| span.call == *call);
        if by.tool_call.as_ref().is_some_and(|call| !is_told(call)) {
            return Verdict::Unknown;
        }
        // A change from before the turn may have got its time otherwise, as a file that is renamed keeps its own.
        if changed < times.began || now < changed {
            return Verdict::Unknown;
        }
        let ran = |slack: Duration| {
            let mut spans = times.spans.iter().rev().filter(move |span| {
                span.from <= changed + slack && span.to.is_none_or(|to| changed <= to)
            });
            let noticed = spans.clone().find(|span| Some(&span.call) == by.tool_call.as_ref());
            noticed.or_else(|| spans.next()).map(|span| span.call.clone())
        };
        match ran(Duration::ZERO).or_else(|| ran(SLACK)) {
            Some(call) => Verdict::Call(call),
            None => Verdict::NoCall,
        }
    }

    /// Returns when the command began that changed a file at that time: it knows what was on disk then. `None` for every other tool
    /// call, which may write what its agent read long ago.
    pub(super) fn command_began(&self, by: &Author, changed: SystemTime) -> Option<SystemTime> {
        let turns = self.0.lock();
        let times = turns.get(&by.session).filter(|it| it.turn == by.turn)?;
        let mut spans = times.spans.iter().rev();
        let last = spans.find(|span| Some(&span.call) == by.tool_call.as_ref())?;
        let has_run = last.from <= changed + SLACK && last.to.is_none_or(|to| changed <= to);
        (last.is_command && has_run).then_some(last.from)
    }

    /// Decides who has changed a file at that time, which was noticed as a change by `by`.
    pub(super) fn decide(&self, by: &Author, changed: Option<SystemTime>) -> Author {
        let verdict = changed.map(|changed| self.verdict(by, changed, SystemTime::now()));
        let tool_call = match verdict.unwrap_or(Verdict::Unknown) {
            Verdict::Call(call) => Some(call),
            Verdict::NoCall => None,
            Verdict::Unknown => by.tool_call.clone(),
        };
        Author { tool_call, ..by.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::author::ChatId;
    use CallState::{Ended, Runs, Waits};

    fn by(call: Option<&str>) -> Author {
        let session = SessionKey { chat: ChatId(1), session: "s".into() };
        Author { session, turn: 2, tool_call: call.map(Into::into) }
    }

    fn at(milliseconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000 + milliseconds)
    }

    /// A turn from 0 on: call `a` ran from 1,000 to 2,000, `b` from 2,010 to 3,000, `c` waited from 5,000 to 6,000 and ran to 7,000,
    /// `d` was told of at 8,000 once it was done, and `e` has run since 9,000.
    fn times() -> CallTimes {
        let times = CallTimes::default();
        times.begin(&by(None).session, 2, at(0));
        for (call, state, time) in [
            ("a", Runs, 1_000),
            ("a", Ended, 2_000),
            ("b", Runs, 2_010),
            ("b", Ended, 3_000),
            ("c", Runs, 4_000),
            ("c", Waits, 5_000),
            ("c", Runs, 6_000),
            ("c", Ended, 7_000),
            ("d", Ended, 8_000),
            ("e", Runs, 9_000),
        ] {
            times.is(&by(Some(call)), state, call < "c", at(time));
        }
        times
    }

    /// Holds (Review): A change on disk is that of the tool call that ran when it was made, whenever it is noticed; if none ran, it may be the user's.
    #[test]
    fn the_time_of_a_change_says_whose_it_is() {
        let times = times();
        for (time, call) in [
            (500, None),
            (900, Some("a")),
            (1_000, Some("a")),
            (2_000, Some("a")),
            (2_001, Some("b")),
            (2_500, Some("b")),
            (3_001, None),
            (5_001, None),
            (5_800, Some("c")),
            (7_001, Some("d")),
            (8_001, None),
            (8_900, Some("e")),
            (9_999, Some("e")),
        ] {
            let expected = call.map_or(Verdict::NoCall, |call| Verdict::Call(call.into()));
            for noticed in [None, Some("b"), Some("e")] {
                let verdict = times.verdict(&by(noticed), at(time), at(10_000));
                assert_eq!(verdict, expected, "at {time}, noticed with {noticed:?}");
            }
        }
    }

    #[test]
    fn a_command_knows_what_was_on_disk_when_it_began() {
        let times = times();
        let began = |by: &Author, time| times.command_began(by, at(time));
        assert_eq!(began(&by(Some("a")), 1_500), Some(at(1_000)));
        assert_eq!(began(&by(Some("a")), 2_001), None, "it has ended");
        for call in [Some("c"), Some("z"), None] {
            assert_eq!(began(&by(call), 6_500), None, "{call:?}");
        }
        let other = Author { turn: 1, ..by(Some("a")) };
        assert_eq!(began(&other, 1_500), None);
        times.is(&by(Some("a")), Runs, true, at(9_000));
        assert_eq!(began(&by(Some("a")), 9_100), Some(at(9_000)));
        // An agent may tell the kind later.
        assert_eq!(began(&by(Some("e")), 9_200), None);
        times.is(&by(Some("e")), Runs, true, at(9_300));
        assert_eq!(began(&by(Some("e")), 9_400), Some(at(9_000)));
    }

    #[test]
    fn of_calls_that_ran_at_once_it_is_the_one_it_was_noticed_with() {
        let times = times();
        times.is(&by(Some("f")), Runs, false, at(9_500));
        for (noticed, call) in [(Some("e"), "e"), (Some("f"), "f"), (Some("a"), "f"), (None, "f")] {
            let verdict = times.verdict(&by(noticed), at(9_600), at(10_000));
            assert_eq!(verdict, Verdict::Call(call.into()), "{noticed:?}");
        }
    }

    #[test]
    fn a_time_outside_of_the_turn_says_nothing() {
        let times = times();
        let other = Author { turn: 1, ..by(Some("a")) };
        assert_eq!(times.verdict(&other, at(1_500), at(10_000)), Verdict::Unknown);
        let earlier = SystemTime::UNIX_EPOCH;
        assert_eq!(times.verdict(&by(Some("a")), earlier, at(10_000)), Verdict::Unknown);
        assert_eq!(times.verdict(&by(Some("a")), at(10_001), at(10_000)), Verdict::Unknown);
        assert_eq!(times.decide(&by(Some("a")), None), by(Some("a")));
        let untold = times.verdict(&by(Some("z")), at(3_500), at(10_000));
        assert_eq!(untold, Verdict::Unknown);
    }
}
