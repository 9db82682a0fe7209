//! How a process becomes a child, and how a program says that it can be one.

use super::protocol::VARIABLE;
use super::serve;
use crate::model::{Error, ErrorKind, Result};
use crate::work::Registry;
use rustix::fs::{FileType, fstat};
use std::ffi::OsString;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a child exits with that was not to be one.
const NO_CHILD: i32 = 70;

static ENTRY: OnceLock<Entry> = OnceLock::new();
static SERVING: AtomicBool = AtomicBool::new(false);

/// How this program is started as a child.
pub(super) struct Entry {
    pub(super) registry: Registry,
    pub(super) args: Vec<OsString>,
}

/// Makes this program one that [`ProcessExecutor`](crate::ProcessExecutor) can start again as a child: call it first in
/// `main`, with the functions that children are to know. In a child it does not return; whatever comes before it happens in
/// each child too.
///
/// ```no_run
/// use batchyard::{Function, ProcessExecutor, registry};
///
/// static SQUARE: Function<u64, u64> = Function::new("square", |n| n * n);
///
/// fn main() -> batchyard::Result<()> {
///     batchyard::init(registry![SQUARE])?;
///     let executor = ProcessExecutor::new(8)?;
///     // ..
///     # Ok(())
/// }
/// ```
///
/// It may stand in an `async fn main` as well. In tests, whose `main` is not yours, use
/// [`process_tests!`](crate::process_tests).
///
/// # Errors
/// Those of the registry; [`ErrorKind::InvalidSetting`] if it was called before.
pub fn init(registry: Result<Registry>) -> Result<()> {
    let entry = Entry {
        registry: registry?,
        args: Vec::new(),
    };
    if is_child() {
        become_child(entry);
    }
    ENTRY.set(entry).map_err(|_| {
        let message = "`batchyard::init` was called before; pass all functions in one call";
        Error::new(ErrorKind::InvalidSetting, message)
    })
}

/// As [`init`], for a test program, in which the test `path` is the children's entry.
#[doc(hidden)]
pub fn init_tests(path: &str, registry: Result<Registry>) -> Result<()> {
    // What the test harness calls a test begins after the crate's name.
    let test = path.split_once("::").map_or(path, |(_, test)| test);
    let args = ["--exact", test, "--nocapture", "--test-threads=1"];
    let entry = Entry {
        registry: registry?,
        args: args.map(OsString::from).to_vec(),
    };
    if is_child() {
        become_child(entry);
    }
    ENTRY.get_or_init(|| entry);
    Ok(())
}

/// How children are started, if this program said that it can be one. In a child that did not, and that would do what its
/// parent does, it does not return.
pub(super) fn entry() -> Option<&'static Entry> {
    if is_child() && !SERVING.load(Ordering::Relaxed) {
        eprintln!(
            "batchyard: this process was started as a child of a `ProcessExecutor`; call `batchyard::init` first in `main`"
        );
        std::process::exit(NO_CHILD);
    }
    ENTRY.get()
}

/// Whether this process was started as a child. The variable alone does not say it: the child's own children have it too.
fn is_child() -> bool {
    let is_socket =
        || fstat(io::stdin()).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_socket());
    std::env::var_os(VARIABLE).is_some() && is_socket()
}

/// Bodies may have children of their own.
fn become_child(entry: Entry) -> ! {
    SERVING.store(true, Ordering::Relaxed);
    let entry = ENTRY.get_or_init(|| entry);
    let code = match serve::serve(&entry.registry) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("batchyard: this child can't serve its parent: {error}");
            NO_CHILD
        }
    };
    std::process::exit(code)
}

/// Lets tests run functions in child processes: makes a function that makes a
/// [`ProcessExecutor`](crate::ProcessExecutor), and a hidden test that is the children's entry.
///
/// The program that runs tests has a `main` of its own, so that [`init`](crate::init) has no place there; without an entry
/// each child would run all tests again. Once in a test program, whose tests call the function:
///
/// ```
/// use batchyard::{Function, registry};
///
/// static SQUARE: Function<u64, u64> = Function::new("square", |n| n * n);
///
/// batchyard::process_tests!(children, registry![SQUARE]);
///
/// // A test:
/// fn squares() -> batchyard::Result<()> {
///     let pool = batchyard::Pool::new(children(2)?);
///     // ..
///     # Ok(())
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! process_tests {
    ($name:ident, $registry:expr $(,)?) => {
        /// An executor with so many child processes.
        fn $name(children: usize) -> $crate::Result<$crate::ProcessExecutor> {
            let path = concat!(module_path!(), "::batchyard_children");
            $crate::executor::init_tests(path, $registry)?;
            $crate::ProcessExecutor::new(children)
        }

        #[test]
        fn batchyard_children() -> $crate::Result<()> {
            let path = concat!(module_path!(), "::batchyard_children");
            $crate::executor::init_tests(path, $registry)
        }
    };
}
