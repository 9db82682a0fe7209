//! Every executor passes the conformance suite, and the feed keeps what it promises them.

mod counters;
mod feed;
#[allow(dead_code, reason = "its `main` is the example's")]
#[path = "../../examples/own_executor.rs"]
mod own_executor;

use batchyard::ThreadExecutor;
use batchyard::executor::conformance::Options;

fn threads(number: usize) -> ThreadExecutor {
    ThreadExecutor::new(number).unwrap_or_else(|error| panic!("{error}"))
}

fn own(slots: usize) -> own_executor::OwnExecutor {
    own_executor::OwnExecutor {
        slots: slots as u32,
    }
}

mod one_thread {
    use super::*;
    batchyard::executor_conformance!(threads, Options::default().slots(1).resizes(true));
}

mod two_threads {
    use super::*;
    batchyard::executor_conformance!(threads, Options::default().slots(2).resizes(true));
}

mod four_threads {
    use super::*;
    batchyard::executor_conformance!(threads, Options::default().slots(4).resizes(true));
}

mod own_with_one_slot {
    use super::*;
    batchyard::executor_conformance!(own, Options::default().slots(1));
}

mod own_with_three_slots {
    use super::*;
    batchyard::executor_conformance!(own, Options::default().slots(3));
}
