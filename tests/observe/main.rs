//! What can be seen of runs while they run and afterwards, through the public interface alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

mod attach;
mod events;
mod lag;
mod progress;
#[path = "../common/watchdog.rs"]
mod watchdog;

use batchyard::{Event, EventKind, Pool, TaskId, ThreadExecutor, Update};

fn pool(threads: usize) -> Pool {
    Pool::new(ThreadExecutor::new(threads).expect("at least one thread"))
}

/// The events among what a stream yielded.
fn events(updates: impl IntoIterator<Item = Update>) -> Vec<Event> {
    let event = |update| match update {
        Update::Event(event) => Some(event),
        _ => None,
    };
    updates.into_iter().filter_map(event).collect()
}

/// The first event of that kind that is about the task.
fn first(
    events: &[Event],
    task: impl Into<Option<TaskId>>,
    kind: impl Fn(&EventKind) -> bool,
) -> &Event {
    let task = task.into();
    let is_it = |event: &&Event| {
        kind(&event.kind) && task.is_none_or(|task| event.kind.tasks().any(|is| is == task))
    };
    events.iter().find(is_it).expect("such an event")
}

fn is_ready(kind: &EventKind) -> bool {
    matches!(kind, EventKind::TasksReady { .. })
}

fn is_start(kind: &EventKind) -> bool {
    matches!(kind, EventKind::AttemptStarted { .. })
}

fn is_end(kind: &EventKind) -> bool {
    matches!(kind, EventKind::AttemptEnded { .. })
}

fn is_submission(kind: &EventKind) -> bool {
    matches!(kind, EventKind::RunSubmitted { .. })
}

fn is_run_end(kind: &EventKind) -> bool {
    matches!(kind, EventKind::RunEnded { .. })
}

/// What is asked of every list of events: ids without gaps, times that don't go back, causes before effects.
fn assert_in_order(events: &[Event]) {
    for pair in events.windows(2) {
        assert_eq!(
            number(&pair[1]),
            number(&pair[0]) + 1,
            "{} then {}",
            pair[0],
            pair[1]
        );
        assert!(pair[0].at <= pair[1].at, "{} then {}", pair[0], pair[1]);
    }
    for event in events {
        assert!(event.cause.is_none_or(|cause| cause < event.id), "{event}");
    }
}

fn number(event: &Event) -> u64 {
    let id = serde_json::to_value(event.id).expect("an id is a number");
    id.as_u64().expect("an id is a number")
}
