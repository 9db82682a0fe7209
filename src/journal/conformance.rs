//! The suite that every [`Store`] passes: ours, and yours.
//!
//! It opens a store again and again through a function of yours, as if the program had been started anew each time, and
//! looks at what comes back. A case that fails says which promise was broken.
//!
//! ```
//! use batchyard::journal::{FileStore, conformance};
//!
//! let folder = tempfile::tempdir()?;
//! let number = std::cell::Cell::new(0);
//! let new_place = || {
//!     number.set(number.get() + 1);
//!     folder.path().join(format!("{}.journal", number.get()))
//! };
//! conformance::check(new_place, |place| match place.exists() {
//!     true => FileStore::open(place).map_err(Into::into),
//!     false => FileStore::create(place).map_err(Into::into),
//! });
//! # Ok::<(), std::io::Error>(())
//! ```

use super::Store;
use crate::model::BoxError;

/// A place of an application's for one store, and how it is opened there.
struct Yard<'a, P, S> {
    place: P,
    open: &'a dyn Fn(&P) -> Result<S, BoxError>,
}

/// Runs every case, each in a place of its own that `place` makes; `open` opens the store in a place, or makes it there.
///
/// # Panics
/// When the store breaks a promise, with the case, the promise, and what was seen.
pub fn check<P, S: Store>(place: impl Fn() -> P, open: impl Fn(&P) -> Result<S, BoxError>) {
    for (name, case) in cases() {
        let place = place();
        let yard = Yard { place, open: &open };
        if let Err(broken) = case(&yard) {
            panic!("the case `{name}` fails: {broken}");
        }
    }
}

type Case<P, S> = fn(&Yard<'_, P, S>) -> Result<(), BoxError>;

fn cases<P, S: Store>() -> [(&'static str, Case<P, S>); 7] {
    [
        ("empty", empty),
        ("order", order),
        ("contents", contents),
        ("replaced", replaced),
        ("failed_replacement", failed_replacement),
        ("stopped_reader", stopped_reader),
        ("size", size),
    ]
}

impl<P, S: Store> Yard<'_, P, S> {
    fn open(&self) -> Result<S, BoxError> {
        (self.open)(&self.place)
    }

    /// What is there when the store is opened anew.
    fn reopened(&self, store: S) -> Result<Vec<Vec<u8>>, BoxError> {
        drop(store);
        groups(&mut self.open()?)
    }
}

fn groups(store: &mut impl Store) -> Result<Vec<Vec<u8>>, BoxError> {
    let mut groups = Vec::new();
    store.read(&mut |group| {
        groups.push(group.to_vec());
        Ok(())
    })?;
    Ok(groups)
}

fn must<T: PartialEq + std::fmt::Debug>(promise: &str, seen: T, right: T) -> Result<(), BoxError> {
    match seen == right {
        true => Ok(()),
        false => Err(format!("{promise}: {seen:?}, and not {right:?}").into()),
    }
}

fn empty<P, S: Store>(yard: &Yard<'_, P, S>) -> Result<(), BoxError> {
    let mut store = yard.open()?;
    must("a new store has no groups", groups(&mut store)?, vec![])?;
    must("nor has it later", yard.reopened(store)?, vec![])
}

fn order<P, S: Store>(yard: &Yard<'_, P, S>) -> Result<(), BoxError> {
    let all: Vec<_> = (0..300u32).map(|n| n.to_be_bytes().to_vec()).collect();
    let mut store = yard.open()?;
    for group in &all[..200] {
        store.append(group)?;
    }
    let seen = groups(&mut store)?;
    must("groups are read in order", seen, all[..200].to_vec())?;
    drop(store);
    let mut store = yard.open()?;
    for group in &all[200..] {
        store.append(group)?;
    }
    must("later groups come behind", yard.reopened(store)?, all)
}

fn contents<P, S: Store>(yard: &Yard<'_, P, S>) -> Result<(), BoxError> {
    let every_byte = (0..=255).collect();
    let all = vec![
        vec![],
        every_byte,
        vec![0; 3 << 20],
        vec![],
        b"'; --\n".to_vec(),
    ];
    let mut store = yard.open()?;
    for group in &all {
        store.append(group)?;
    }
    let same = yard.reopened(store)? == all;
    must("groups of any bytes and sizes are kept", same, true)
}

fn replaced<P, S: Store>(yard: &Yard<'_, P, S>) -> Result<(), BoxError> {
    let mut store = yard.open()?;
    for group in [b"a", b"b", b"c"] {
        store.append(group)?;
    }
    store.replace(&mut [b"d".to_vec(), b"e".to_vec()].into_iter())?;
    store.append(b"f")?;
    let right = [b"d", b"e", b"f"].map(|group| group.to_vec()).to_vec();
    must(
        "new groups are in the old ones' place",
        groups(&mut store)?,
        right.clone(),
    )?;
    must("also later", yard.reopened(store)?, right)?;
    let mut store = yard.open()?;
    store.replace(&mut std::iter::empty())?;
    must("all can be removed", yard.reopened(store)?, vec![])
}

/// One that the store can't finish, since what gives it the groups panics, leaves the old ones.
fn failed_replacement<P, S: Store>(yard: &Yard<'_, P, S>) -> Result<(), BoxError> {
    let mut store = yard.open()?;
    store.append(b"old")?;
    let mut groups = (0..3u8).map(|n| match n {
        2 => std::panic::panic_any("this is what the case is about"),
        n => vec![n; 1000],
    });
    let replace = std::panic::AssertUnwindSafe(|| store.replace(&mut groups));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let result = std::panic::catch_unwind(replace);
    std::panic::set_hook(hook);
    must("a panic comes out", result.is_err(), true)?;
    let right = vec![b"old".to_vec()];
    must(
        "what was cut off leaves the old groups",
        yard.reopened(store)?,
        right,
    )
}

fn stopped_reader<P, S: Store>(yard: &Yard<'_, P, S>) -> Result<(), BoxError> {
    let mut store = yard.open()?;
    for group in [b"a", b"b"] {
        store.append(group)?;
    }
    let mut seen = 0;
    let result = store.read(&mut |_| {
        seen += 1;
        Err("enough".into())
    });
    must("reading stops at an error", seen, 1)?;
    let error = result.err().map(|error| error.to_string());
    must("and returns it", error.as_deref(), Some("enough"))?;
    must("all is there as before", groups(&mut store)?.len(), 2)
}

fn size<P, S: Store>(yard: &Yard<'_, P, S>) -> Result<(), BoxError> {
    let mut store = yard.open()?;
    store.append(&[7; 100_000])?;
    let full = store.size();
    must("the size counts the groups", full >= 100_000, true)?;
    store.replace(&mut std::iter::once(vec![7; 100]))?;
    let shorter = store.size();
    must("and follows them", shorter >= 100 && shorter < full, true)
}
