//! Decodes the entries of a plan.

use super::fields::Fields;
use crate::session::update::{PlanEntry, PlanPriority, PlanStatus, Update};

/// Decodes a plan; `None` if it has no list of entries.
pub(super) fn decode(fields: &mut Fields) -> Option<Update> {
    Some(Update::Plan(fields.objects("entries")?.filter_map(plan_entry).collect()))
}

fn plan_entry(mut fields: Fields) -> Option<PlanEntry> {
    Some(PlanEntry {
        content: fields.text("content")?,
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
