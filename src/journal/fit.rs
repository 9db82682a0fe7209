//! Which tasks of a job are those of a journal.

use super::submission::{ArrayRecord, Key, Submission, hash_at};
use crate::model::ELEMENT;
use crate::work::{CommandParts, Identity};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// For each task of a new submission, the one of the old that it is.
pub(super) enum Fit {
    /// All are as they were.
    Same,
    Changed(Map),
}

#[derive(Default)]
pub(super) struct Map {
    /// By new node.
    nodes: Vec<Option<u32>>,
    arrays: Vec<ArrayMap>,
}

/// Of an array of the new submission, which elements are which of the old one.
struct ArrayMap {
    first: u32,
    len: u32,
    /// The old array's first element, and its length.
    old_first: u32,
    old_len: u32,
    /// By index; without, each is the one of its own index.
    moved: Option<Vec<Option<u32>>>,
}

impl Fit {
    pub(super) fn of(old: &Submission, new: &Submission) -> Self {
        match old.is_same(new) {
            true => Fit::Same,
            false => Fit::Changed(Map::of(old, new)),
        }
    }

    pub(super) fn is_same(&self) -> bool {
        matches!(self, Fit::Same)
    }

    /// The old number of a node.
    pub(super) fn node(&self, node: u32) -> Option<u32> {
        match self {
            Fit::Same => Some(node),
            Fit::Changed(map) => map.nodes.get(node as usize).copied().flatten(),
        }
    }

    /// The old id of a task.
    pub(super) fn task(&self, id: u32) -> Option<u32> {
        match self {
            Fit::Same => Some(id),
            Fit::Changed(_) if id & ELEMENT == 0 => self.node(id),
            Fit::Changed(map) => map.element(id & !ELEMENT).map(|number| number | ELEMENT),
        }
    }

    /// Whether no task is one of the old ones.
    pub(super) fn is_foreign(&self) -> bool {
        match self {
            Fit::Same => false,
            Fit::Changed(map) => map.nodes.iter().all(Option::is_none),
        }
    }
}

impl Map {
    fn of(old: &Submission, new: &Submission) -> Self {
        let mut known: FxHashMap<Key, VecDeque<u32>> = FxHashMap::default();
        for (key, node) in old.keys().into_iter().zip(0..) {
            known.entry(key).or_default().push_back(node);
        }
        let new_keys = new.keys().into_iter();
        let nodes: Vec<_> = new_keys
            .map(|key| known.get_mut(&key)?.pop_front())
            .collect();
        let mut map = Map {
            nodes,
            arrays: Vec::new(),
        };
        let mut first = 0;
        for array in &new.arrays {
            let was = map.nodes.get(array.node as usize).copied().flatten();
            let found = was.and_then(|was| old_array(old, was));
            if let Some((old_first, old_array)) = found {
                map.arrays
                    .push(ArrayMap::of(first, array, old_first, old_array));
            } else if let Some(node) = map.nodes.get_mut(array.node as usize) {
                *node = None;
            }
            first += array.len;
        }
        map
    }

    fn element(&self, number: u32) -> Option<u32> {
        let after = self.arrays.partition_point(|array| array.first <= number);
        let array = self.arrays.get(after.checked_sub(1)?)?;
        let index = number - array.first;
        if index >= array.len {
            return None;
        }
        let old = match &array.moved {
            None => index,
            Some(moved) => moved.get(index as usize).copied().flatten()?,
        };
        (old < array.old_len).then_some(array.old_first + old)
    }
}

impl ArrayMap {
    fn of(first: u32, new: &ArrayRecord, old_first: u32, old: &ArrayRecord) -> Self {
        let prefix = new.items.0.len().min(old.items.0.len());
        let alike = new.items.0[..prefix] == old.items.0[..prefix];
        ArrayMap {
            first,
            len: new.len,
            old_first,
            old_len: old.len,
            moved: (!alike).then(|| moved(new, old)),
        }
    }
}

/// Elements by their items, wherever they stand; equal ones in order.
fn moved(new: &ArrayRecord, old: &ArrayRecord) -> Vec<Option<u32>> {
    let mut known: FxHashMap<u64, VecDeque<u32>> = FxHashMap::default();
    for index in 0..old.len {
        let item = hash_at(&old.items, index);
        known.entry(item).or_default().push_back(index);
    }
    let find = |index| known.get_mut(&hash_at(&new.items, index))?.pop_front();
    (0..new.len).map(find).collect()
}

/// An array by its node, and its first element.
fn old_array(old: &Submission, node: u32) -> Option<(u32, &ArrayRecord)> {
    let mut first = 0;
    for array in &old.arrays {
        if array.node == node {
            return Some((first, array));
        }
        first += array.len;
    }
    None
}

/// What is different about a node that was not in the journal, if one of its name was, or one with its body.
pub(super) struct Differences<'a> {
    old: &'a Submission,
    new: &'a Submission,
    old_keys: Vec<Key>,
    new_keys: Vec<Key>,
    by_name: FxHashMap<&'a str, u32>,
    bodies: FxHashMap<u64, u32>,
}

impl<'a> Differences<'a> {
    pub(super) fn new(old: &'a Submission, new: &'a Submission) -> Self {
        let old_keys = old.keys();
        let by_name = old.labels.iter();
        let bodies = old_keys.iter().zip(0..);
        Differences {
            by_name: by_name.map(|(node, name)| (&**name, *node)).collect(),
            bodies: bodies.map(|(key, node)| (key.body, node)).collect(),
            new_keys: new.keys(),
            old,
            new,
            old_keys,
        }
    }

    /// In words, behind "is run again, since".
    pub(super) fn of(&self, node: u32, name: Option<&str>) -> String {
        let Some(key) = self.new_keys.get(node as usize) else {
            return "it is new".to_owned();
        };
        let was = name.and_then(|name| self.by_name.get(name));
        let Some(&was) = was.or_else(|| self.bodies.get(&key.body)) else {
            return "it is new".to_owned();
        };
        let before = self.old_keys.get(was as usize);
        let same_body = before.is_some_and(|before| before.body == key.body);
        if same_body {
            return "changed: what it waits for".to_owned();
        }
        let bodies = self.old.identity(was).zip(self.new.identity(node));
        let what = bodies.map_or("body", |(old, new)| difference(old, new));
        format!("changed: {what}")
    }
}

/// What of two bodies is different.
fn difference(old: &Identity, new: &Identity) -> &'static str {
    match (old, new) {
        (Identity::Function(old), Identity::Function(new)) => match () {
            () if old.name != new.name => "function",
            () if old.version != new.version => "version of the function",
            () => "types of the function",
        },
        (Identity::Closure(old), Identity::Closure(new)) => match old.version != new.version {
            true => "version of the closure",
            false => "type of the closure's output",
        },
        (Identity::Command(old), Identity::Command(new)) => of_commands(old, new),
        _ => "kind of body",
    }
}

fn of_commands(old: &CommandParts, new: &CommandParts) -> &'static str {
    match () {
        () if old.program != new.program => "program",
        () if old.arguments != new.arguments => "arguments",
        () if old.environment != new.environment => "environment",
        () if old.files != new.files => "files",
        () if old.stdin != new.stdin => "standard input",
        () => "output files",
    }
}
