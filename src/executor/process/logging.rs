//! What bodies log in a child, through the crate `tracing`, is logged in the parent, inside the attempt's span.

#[cfg(not(feature = "tracing"))]
pub(super) use nothing::{forward, level, log};
#[cfg(feature = "tracing")]
pub(super) use through_tracing::{forward, level, log};

#[cfg(feature = "tracing")]
mod through_tracing {
    use crate::executor::process::line::Line;
    use crate::executor::process::protocol::Said;
    use std::fmt::{Debug, Write};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use tracing::field::{Field, Visit};
    use tracing::level_filters::LevelFilter;
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Level, Metadata, Subscriber};

    /// The levels, the gravest first. What is numbered 0 is nothing.
    const LEVELS: [Level; 5] = [
        Level::ERROR,
        Level::WARN,
        Level::INFO,
        Level::DEBUG,
        Level::TRACE,
    ];

    /// Up to which level somebody listens here.
    pub(in crate::executor::process) fn level() -> u8 {
        let current = LevelFilter::current();
        let heard = LEVELS.iter().filter(|level| **level <= current);
        u8::try_from(heard.count()).unwrap_or_default()
    }

    /// Has what this child logs, up to a level, sent to its parent, unless its program has a subscriber of its own.
    pub(in crate::executor::process) fn forward(line: &Arc<Line>, level: u8) {
        if let Some(most) = usize::from(level)
            .checked_sub(1)
            .and_then(|at| LEVELS.get(at))
        {
            let forward = Forward {
                line: line.clone(),
                most: *most,
                spans: AtomicU64::new(1),
            };
            let _ = tracing::subscriber::set_global_default(forward);
        }
    }

    /// Logs what a body in a child has logged. A target has to be known when this is compiled: the body's own is a field.
    pub(in crate::executor::process) fn log(level: u8, from: &str, message: &str) {
        match level {
            1 => tracing::error!(target: "batchyard::child", from, "{message}"),
            2 => tracing::warn!(target: "batchyard::child", from, "{message}"),
            3 => tracing::info!(target: "batchyard::child", from, "{message}"),
            4 => tracing::debug!(target: "batchyard::child", from, "{message}"),
            _ => tracing::trace!(target: "batchyard::child", from, "{message}"),
        }
    }

    /// A subscriber that sends lines away. Of spans it knows nothing.
    struct Forward {
        line: Arc<Line>,
        most: Level,
        spans: AtomicU64,
    }

    impl Subscriber for Forward {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.is_event() && *metadata.level() <= self.most
        }

        fn max_level_hint(&self) -> Option<LevelFilter> {
            Some(LevelFilter::from_level(self.most))
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed))
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            let mut text = Text(String::new());
            event.record(&mut text);
            let metadata = event.metadata();
            let level = LEVELS.iter().position(|level| level == metadata.level());
            let said = Said::Logged {
                item: self.line.current().item,
                level: level.map_or(0, |at| at as u8 + 1),
                target: metadata.target().to_owned(),
                message: text.0,
            };
            let _ = self.line.say(&said, &[]);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    /// The message first, then the other fields.
    struct Text(String);

    impl Visit for Text {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            let _ = match field.name() {
                "message" => {
                    let rest = std::mem::take(&mut self.0);
                    write!(self.0, "{value:?}{rest}")
                }
                name => write!(self.0, " {name}={value:?}"),
            };
        }
    }
}

/// Without the crate `tracing` nobody logs, and nobody listens.
#[cfg(not(feature = "tracing"))]
mod nothing {
    use crate::executor::process::line::Line;
    use std::sync::Arc;

    pub(in crate::executor::process) fn level() -> u8 {
        0
    }

    pub(in crate::executor::process) fn forward(_: &Arc<Line>, _: u8) {}

    pub(in crate::executor::process) fn log(_: u8, _: &str, _: &str) {}
}
