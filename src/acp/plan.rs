//! Decodes the entries of a plan.

use super::fields::{Fields, cut, first};
use crate::session::signs::ELLIPSIS;
use crate::session::update::{PlanEntry, PlanPriority, PlanStatus, Update};

/// How many entries are kept.
const MAX_ENTRIES: usize = 500;
/// The maximum size of an entry, in bytes.
const MAX_ENTRY_BYTES: usize = 4096;

/// Decodes a plan; `None` if it has no list of entries. Where some are left out, a last entry says how many.
pub(super) fn decode(fields: &mut Fields) -> Option<Update> {
    let (mut entries, others) =
        first(fields.objects("entries")?.filter_map(plan_entry), MAX_ENTRIES);
    entries.extend((others > 0).then(|| PlanEntry {
        content: format!("{ELLIPSIS} {others} more steps"),
        priority: PlanPriority::Medium,
        status: PlanStatus::Pending,
    }));
    Some(Update::Plan(entries))
}

fn plan_entry(mut fields: Fields) -> Option<PlanEntry> {
    Some(PlanEntry {
        content: cut(fields.text("content")?, MAX_ENTRY_BYTES),
        priority: match fields.text("priority").as_deref() {
            Some("high") => PlanPriority::High,
            Some("low") => PlanPriority::Low,
            _ => PlanPriority::Medium,
        },
        status: match fields.text("status").as_deref() {
            Some("in_progress") => PlanStatus::InProgress,
            Some("completed") => PlanStatus::Completed,
            Some("cancelled" | "canceled") => PlanStatus::Cancelled,
            _ => PlanStatus::Pending,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn entries(list: Value) -> Vec<PlanEntry> {
        match decode(&mut Fields::of(json!({"entries": list})).unwrap()) {
            Some(Update::Plan(entries)) => entries,
            other => panic!("{other:?}"),
        }
    }

    /// Holds (Hostile agents): Of lists that are too long, the beginning is kept, and how much is missing is shown.
    #[test]
    fn a_plan_that_is_too_long_says_how_much_is_missing() {
        let all: Vec<_> = (0..700).map(|number| json!({"content": format!("{number}")})).collect();
        let kept = entries(all.into());
        assert_eq!(kept.len(), MAX_ENTRIES + 1);
        assert_eq!(kept[MAX_ENTRIES - 1].content, "499");
        assert_eq!(kept[MAX_ENTRIES].content, "… 200 more steps");
        let long = entries(json!([{"content": "é".repeat(MAX_ENTRY_BYTES)}]));
        assert_eq!(long[0].content, format!("{}… (4096 more bytes)", "é".repeat(2048)));
    }
}
