//! The suite that every executor passes: ours, and yours.
//!
//! It drives an executor through the public API only, with a [`Pool`](crate::Pool) around it, and looks at what comes
//! out. Each case is one promise of the [contract](crate::executor), or a few that belong together; a case that fails
//! says which rule was broken, and one that hangs is failed after half a minute with the rule that it waited for.
//!
//! Which cases apply follows from the executor's [`Offer`]. Cases about values run with closures, with
//! [`Function`](crate::Function)s, or with both one after the other; an executor that runs these elsewhere registers
//! [`functions`] there. Cases that hold bodies back, to see what happens meanwhile, need closures.
//!
//! One test for each case, in a test target of yours:
//!
//! ```
//! # fn main() {}
//! mod my_executor {
//!     use batchyard::ThreadExecutor; // yours
//!
//!     batchyard::executor_conformance!(|slots| ThreadExecutor::new(slots).unwrap());
//! }
//! ```
//!
//! All cases in one call:
//!
//! ```
//! use batchyard::ThreadExecutor;
//! use batchyard::executor::conformance::{self, Options};
//!
//! conformance::check(|slots| ThreadExecutor::new(slots).unwrap());
//! let options = Options::default().slots(4).resizes(true);
//! conformance::run("resize", options, |slots| ThreadExecutor::new(slots).unwrap());
//! ```

mod arrays;
mod asynchronous;
mod cancellation;
mod closing;
mod failures;
mod functions;
mod outcomes;
mod runs;
mod sharing;
mod tally;
mod trial;

use super::{Executor, Offer};
use crate::work::AnyFunction;
use trial::{Bodies, Trial};

/// What the suite can't see from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How many slots the executor is made with in most cases, and how many bodies must run at once then.
    pub slots: usize,
    /// Whether it carries out [`Order::Resize`](super::Order::Resize).
    pub resizes: bool,
}

impl Default for Options {
    /// Two slots, and a fixed size.
    fn default() -> Self {
        Options {
            slots: 2,
            resizes: false,
        }
    }
}

impl Options {
    /// How many slots the executor is made with: at least one. Default 2.
    pub fn slots(mut self, slots: usize) -> Self {
        self.slots = slots.max(1);
        self
    }

    /// Whether the executor changes its size when it is asked to. Default no.
    pub fn resizes(mut self, resizes: bool) -> Self {
        self.resizes = resizes;
        self
    }
}

/// Runs every case that applies on executors that `make` makes, each with the number of slots that it is given.
/// Returns the names of these cases.
///
/// # Panics
/// When the executor breaks a rule, with the case, the rule, and what was seen.
pub fn check<E: Executor>(make: impl Fn(usize) -> E + Send + Sync + 'static) -> Vec<&'static str> {
    check_with(Options::default(), make)
}

/// As [`check`], with options.
///
/// # Panics
/// As [`check`].
pub fn check_with<E: Executor>(
    options: Options,
    make: impl Fn(usize) -> E + Send + Sync + 'static,
) -> Vec<&'static str> {
    let trial = Trial::new(options, make);
    let applying = CASES.iter().filter(|case| case.run(&trial));
    applying.map(|case| case.name).collect()
}

/// Runs one case, by name: see [`names`]. Returns whether it applies; one that doesn't has passed.
///
/// # Panics
/// As [`check`], and if there is no such case.
pub fn run<E: Executor>(
    name: &str,
    options: Options,
    make: impl Fn(usize) -> E + Send + Sync + 'static,
) -> bool {
    match CASES.iter().find(|case| case.name == name) {
        Some(case) => case.run(&Trial::new(options, make)),
        None => panic!("the conformance suite has no case `{name}`"),
    }
}

/// The names of all cases.
pub fn names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|case| case.name)
}

/// The functions that the suite runs, for the registry of executors that run them in other processes.
pub fn functions() -> impl Iterator<Item = &'static dyn AnyFunction> {
    functions::ALL.into_iter()
}

struct Case {
    name: &'static str,
    needs: Needs,
    body: fn(&Trial),
}

/// What a case needs of the executor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// Bodies of any form; it runs once with each form that is offered.
    Values,
    Closures,
    Asynchronous,
    Resizing,
}

impl Case {
    /// Whether the case applies; if so, it has been run.
    fn run(&self, trial: &Trial) -> bool {
        let forms = self.forms(trial.offer(), trial.options());
        for &form in &forms {
            trial.with(form).run(self.name, self.body);
        }
        !forms.is_empty()
    }

    /// The forms of bodies that it runs with.
    fn forms(&self, offer: Offer, options: Options) -> Vec<Bodies> {
        let closures = offer.closures.then_some(Bodies::Closures);
        let functions = offer.functions.then_some(Bodies::Functions);
        match self.needs {
            Needs::Values => closures.into_iter().chain(functions).collect(),
            Needs::Closures => closures.into_iter().collect(),
            Needs::Asynchronous if !offer.asynchronous => Vec::new(),
            Needs::Resizing if !options.resizes => Vec::new(),
            Needs::Asynchronous | Needs::Resizing => closures.into_iter().collect(),
        }
    }
}

macro_rules! cases {
    ($($module:ident::$name:ident: $needs:ident,)*) => {
        const CASES: &[Case] = &[$(Case {
            name: stringify!($name),
            needs: Needs::$needs,
            body: $module::$name,
        }),*];
    };
}

// The macro below lists the names once more.
cases! {
    outcomes::success: Values,
    outcomes::failure: Values,
    outcomes::panic_message: Values,
    outcomes::panic_isolation: Values,
    outcomes::context: Closures,
    arrays::values_along_edges: Values,
    arrays::empty_array: Values,
    arrays::empty_job: Values,
    arrays::diamond: Values,
    arrays::many_small_tasks: Values,
    arrays::many_single_tasks: Closures,
    failures::skip_of_dependents: Values,
    failures::policy_continue: Values,
    failures::policy_fail_fast: Values,
    failures::policy_max_failures: Values,
    runs::run_again: Values,
    runs::run_concurrently: Values,
    runs::several_jobs: Values,
    runs::many_small_jobs: Values,
    runs::dropped_run_goes_on: Closures,
    runs::cancel_on_drop: Closures,
    runs::ended_run_is_let_go: Closures,
    runs::worker_local_state: Closures,
    sharing::all_slots_are_used: Closures,
    sharing::dependents_use_all_slots: Closures,
    sharing::elements_use_all_slots: Closures,
    sharing::no_more_than_slots: Closures,
    sharing::priority_overtakes: Closures,
    sharing::resize: Resizing,
    cancellation::cancel_while_running: Closures,
    cancellation::cancel_is_seen: Closures,
    cancellation::cancel_races_success: Closures,
    cancellation::late_outcome: Closures,
    cancellation::cancel_task: Closures,
    cancellation::cancel_subtree: Closures,
    cancellation::cancel_after_end: Values,
    asynchronous::asynchronous_bodies: Asynchronous,
    asynchronous::asynchronous_failures: Asynchronous,
    asynchronous::asynchronous_cancel: Asynchronous,
    closing::closed_pool_refuses: Values,
    closing::unsupported_bodies: Values,
    closing::close_drains: Values,
    closing::close_cancels: Closures,
    closing::close_names_stuck_bodies: Closures,
    closing::drain_ends_at_its_deadline: Closures,
    closing::drop_with_work_running: Closures,
    closing::serve_ends: Values,
}

/// Makes a `#[test]` of each case of the [conformance suite](crate::executor::conformance): give it a module of its
/// own.
///
/// The first argument makes the executor with so many slots. The second is the suite's
/// [`Options`](crate::executor::conformance::Options), if the default is not meant.
///
/// ```
/// # fn main() {}
/// mod two_threads {
///     use batchyard::ThreadExecutor;
///     use batchyard::executor::conformance::Options;
///
///     batchyard::executor_conformance!(|slots| ThreadExecutor::new(slots).unwrap(), Options::default().resizes(true));
/// }
/// ```
#[macro_export]
macro_rules! executor_conformance {
    ($make:expr $(,)?) => {
        $crate::executor_conformance!($make, $crate::executor::conformance::Options::default());
    };
    ($make:expr, $options:expr $(,)?) => {
        $crate::executor_conformance! { @cases tests [$make, $options] }
    };
    (@cases $then:ident $arguments:tt) => {
        $crate::executor_conformance! { @$then $arguments
            success failure panic_message panic_isolation context
            values_along_edges empty_array empty_job diamond many_small_tasks many_single_tasks
            skip_of_dependents policy_continue policy_fail_fast policy_max_failures
            run_again run_concurrently several_jobs many_small_jobs dropped_run_goes_on cancel_on_drop
            ended_run_is_let_go worker_local_state
            all_slots_are_used dependents_use_all_slots elements_use_all_slots no_more_than_slots
            priority_overtakes resize
            cancel_while_running cancel_is_seen cancel_races_success late_outcome cancel_task cancel_subtree
            cancel_after_end
            asynchronous_bodies asynchronous_failures asynchronous_cancel
            closed_pool_refuses unsupported_bodies close_drains close_cancels close_names_stuck_bodies
            drain_ends_at_its_deadline drop_with_work_running serve_ends
        }
    };
    (@tests [$make:expr, $options:expr] $($name:ident)*) => {
        $(#[test]
        fn $name() {
            $crate::executor::conformance::run(stringify!($name), $options, $make);
        })*
    };
    (@names [] $($name:ident)*) => {
        [$(stringify!($name)),*]
    };
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_macro_makes_a_test_of_every_case() {
        let listed = executor_conformance! { @cases names [] };
        assert!(names().eq(listed));
    }
}
