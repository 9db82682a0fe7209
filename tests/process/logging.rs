//! What bodies log in a child is heard in the parent.

use crate::children;
use crate::functions::LOGS;
use batchyard::{Job, Pool};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// What was logged in children, with the level.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<(Level, String)>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!("{}={value:?};", field.name());
    }
}

impl Subscriber for Heard {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "batchyard::child" && *metadata.level() <= Level::INFO
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(tracing::level_filters::LevelFilter::INFO)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0
            .lock()
            .unwrap()
            .push((*event.metadata().level(), text.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn lines_of_a_body_are_logged_in_the_parent_up_to_the_level_that_is_heard() {
    let heard = Heard::default();
    tracing::subscriber::set_global_default(heard.clone()).unwrap();
    let pool = Pool::new(children(1));
    let mut job = Job::new("logs");
    job.map("logs", [7u64], &LOGS);
    pool.submit(job).unwrap().wait().unwrap();
    let heard = heard.0.lock().unwrap();
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert_eq!(heard[0].0, Level::WARN);
    assert!(
        heard[0].1.contains("careful") && heard[0].1.contains("number=7"),
        "{heard:?}"
    );
    assert_eq!(heard[1].0, Level::INFO);
}
