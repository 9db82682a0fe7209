//! How panics of the user's code are caught, and what is known of them.

use crate::model::Panic;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

impl Panic {
    /// Of what `catch_unwind` returned.
    pub(crate) fn from_payload(payload: Box<dyn Any + Send>) -> Self {
        let message = match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(payload) => {
                let text = payload.downcast_ref::<&str>().copied();
                let message = text
                    .unwrap_or("(the panic's payload is no text)")
                    .to_owned();
                // Its `drop` is the user's code, and may panic again.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
                message
            }
        };
        Panic {
            message,
            place: PLACE.try_with(Cell::take).unwrap_or_default(),
        }
    }

    /// Runs code of the user's, such as a destructor, whose panic is nobody's failure.
    #[inline]
    pub(crate) fn ignore(code: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(code)) {
            Self::from_payload(payload);
        }
    }

    /// Drops each of these, also after one whose destructor panicked.
    pub(crate) fn ignore_dropping<T>(all: Vec<T>) {
        let mut left = all.into_iter();
        while std::mem::needs_drop::<T>() && left.len() > 0 {
            Self::ignore(|| left.by_ref().for_each(drop));
        }
    }

    /// From now on, notes where a body panics. The process's own hook still runs.
    pub(crate) fn note_places() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                // The thread may be past its locals' end; then the place stays unknown.
                let place = info.location().map(ToString::to_string);
                let _ = PLACE.try_with(|last| last.set(place));
                before(info);
            }));
        });
    }
}

thread_local! {
    /// Where this thread panicked last.
    static PLACE: Cell<Option<String>> = const { Cell::new(None) };
}
