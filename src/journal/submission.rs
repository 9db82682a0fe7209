//! A job as a journal knows it: what tells each task from others, whatever it is called and wherever it stands.
//!
//! A node goes by two numbers: a hash of its body, and one of all that it waits for, which holds theirs in turn. Elements
//! with items of their own go by these as well. Equal ones are told apart by their order.

use super::record::{Bytes, Millis};
use crate::engine::Survey;
use crate::graph::node_of;
use crate::job::Frozen;
use crate::model::{Error, ErrorKind, Panic, Result};
use crate::work::{AnyFunction, Identity, ItemBytes, Unit, encode};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use xxhash_rust::xxh3::xxh3_64;

/// What a journal says of a job.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(super) struct Submission {
    pub(super) job: String,
    /// When it was submitted first.
    pub(super) at: Millis,
    pub(super) bodies: Vec<Identity>,
    /// Of each node, which of the bodies it has.
    pub(super) body_of: Vec<u32>,
    /// Of each node, a hash of what it waits for: eight bytes.
    pub(super) dependencies: Bytes,
    /// In the order of their nodes.
    pub(super) arrays: Vec<ArrayRecord>,
    pub(super) labels: Vec<(u32, String)>,
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(super) struct ArrayRecord {
    pub(super) node: u32,
    pub(super) len: u32,
    /// A hash of each element's item, if they have some: eight bytes.
    pub(super) items: Bytes,
}

/// What a node goes by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Key {
    pub(super) body: u64,
    pub(super) dependencies: u64,
}

impl Submission {
    /// Of a job whose tasks can all be known again; the first that can't is named.
    pub(super) fn of(job: &Frozen, survey: &Survey, at: Millis) -> Result<Self> {
        let mut maker = Maker {
            job,
            bodies: Vec::new(),
            known: FxHashMap::default(),
        };
        let nodes = job.units.iter().zip(0u32..);
        let body_of = nodes.map(|(unit, node)| maker.body(&**unit, node));
        let body_of = body_of.collect::<Result<Vec<_>>>()?;
        let arrays = job
            .arrays
            .iter()
            .map(|part| maker.array(part.node, part.len));
        let mut submission = Submission {
            job: job.name.clone(),
            at,
            arrays: arrays.collect::<Result<_>>()?,
            bodies: maker.bodies,
            body_of,
            dependencies: Bytes::default(),
            labels: labels(job),
        };
        submission.dependencies = submission.hash_dependencies(job, survey);
        Ok(submission)
    }

    pub(super) fn nodes(&self) -> u32 {
        self.body_of.len() as u32
    }

    /// Single tasks and elements, and one for each array.
    pub(super) fn tasks(&self) -> u64 {
        let elements = self.arrays.iter().map(|array| u64::from(array.len));
        u64::from(self.nodes()) + elements.sum::<u64>()
    }

    /// Whether it says of another job the same, tasks' names left aside.
    pub(super) fn is_same(&self, other: &Submission) -> bool {
        self.keys() == other.keys() && self.arrays == other.arrays
    }

    /// What each node goes by.
    pub(super) fn keys(&self) -> Vec<Key> {
        let bodies = self.body_hashes();
        let names = self.names();
        let nodes = self.body_of.iter().zip(0u32..);
        nodes
            .map(|(&body, node)| Key {
                body: self.body_hash(&bodies, body, names.get(&node).copied()),
                dependencies: hash_at(&self.dependencies, node),
            })
            .collect()
    }

    pub(super) fn names(&self) -> FxHashMap<u32, &str> {
        let labels = self.labels.iter();
        labels.map(|(node, label)| (*node, &**label)).collect()
    }

    pub(super) fn identity(&self, node: u32) -> Option<&Identity> {
        let body = *self.body_of.get(node as usize)?;
        self.bodies.get(body as usize)
    }

    fn body_hashes(&self) -> Vec<u64> {
        let mut bytes = Vec::new();
        let hash = |body: &Identity| {
            bytes.clear();
            // What was made into bytes before can be again.
            let _ = encode(body, &mut bytes);
            xxh3_64(&bytes)
        };
        self.bodies.iter().map(hash).collect()
    }

    /// Closures go by the name of their task, too.
    fn body_hash(&self, hashes: &[u64], body: u32, name: Option<&str>) -> u64 {
        let hash = hashes.get(body as usize).copied().unwrap_or(0);
        match self.bodies.get(body as usize) {
            Some(Identity::Closure(_)) => {
                mix(&[hash, xxh3_64(name.unwrap_or_default().as_bytes())])
            }
            _ => hash,
        }
    }

    /// Each node adds what it is to those that wait for it, in whatever order it comes by them; and then what it reads, in
    /// the order in which it does.
    fn hash_dependencies(&self, job: &Frozen, survey: &Survey) -> Bytes {
        let (bodies, names) = (self.body_hashes(), self.names());
        let mut waits = vec![0u64; self.body_of.len()];
        let mut wholes = vec![0u64; self.body_of.len()];
        for node in survey.nodes(job) {
            let at = node as usize;
            if let Some(inputs) = inputs_of(job, node) {
                let inputs = inputs.iter().map(|(_, input)| wholes[*input as usize]);
                waits[at] = inputs.fold(waits[at], |hash, input| mix(&[hash, input]));
            }
            let body = self.body_hash(&bodies, self.body_of[at], names.get(&node).copied());
            let base = mix(&[body, waits[at]]);
            wholes[at] = self.whole(job, node, base, &wholes);
            each_edge(job, node, |next, kind| {
                let what = if kind == EACH { base } else { wholes[at] };
                let sum = &mut waits[next as usize];
                *sum = sum.wrapping_add(mix(&[what, kind]));
            });
        }
        Bytes(waits.iter().flat_map(|hash| hash.to_le_bytes()).collect())
    }

    /// What a node is to those that wait for all of it: of an array, all its elements.
    fn whole(&self, job: &Frozen, node: u32, base: u64, wholes: &[u64]) -> u64 {
        let Some(array) = job.array_of_node(node) else {
            return base;
        };
        let record = &self.arrays[array];
        let each = job.arrays[array].each_from.iter();
        let each = each.map(|&from| wholes[job.arrays[from as usize].node as usize]);
        let each = each.fold(0, u64::wrapping_add);
        let items = xxh3_64(&record.items.0);
        mix(&[base, u64::from(record.len), items, each])
    }
}

/// The kind of an edge that is element by element.
const EACH: u64 = u64::MAX;

/// Where edges lead from a node, and what kind they are of.
fn each_edge(job: &Frozen, node: u32, mut visit: impl FnMut(u32, u64)) {
    for &entry in job.csr.successors(node) {
        let next = node_of(entry);
        let loose = job.loose_edge(node, next);
        visit(
            next,
            loose.map_or(0, |edge| 1 + u64::from(edge.any_outcome)),
        );
    }
    if let Some(array) = job.array_of_node(node) {
        let after = job.arrays[array].each_to.iter();
        after.for_each(|&to| visit(job.arrays[to as usize].node, EACH));
    }
}

/// What a node reads, in order, if that is more than one thing.
fn inputs_of(job: &Frozen, node: u32) -> Option<&[(u32, u32)]> {
    let start = job.inputs.partition_point(|(reader, _)| *reader < node);
    let rest = &job.inputs[start..];
    let own = &rest[..rest.partition_point(|(reader, _)| *reader == node)];
    (!own.is_empty()).then_some(own)
}

/// Takes a job's bodies and items down.
struct Maker<'a> {
    job: &'a Frozen,
    bodies: Vec<Identity>,
    /// Functions that are known already, by where they are.
    known: FxHashMap<*const (), u32>,
}

impl Maker<'_> {
    fn body(&mut self, unit: &dyn Unit, node: u32) -> Result<u32> {
        let function = unit.kind().function.map(|function| {
            let function: *const dyn AnyFunction = function;
            function.cast::<()>()
        });
        if let Some(&body) = function.and_then(|function| self.known.get(&function)) {
            return Ok(body);
        }
        let identity = self.with_common(unit.identity());
        let is_named = self.job.labels.contains_key(&node);
        match &identity {
            Identity::Unknown => return Err(self.refused(node, UNKNOWN)),
            Identity::Closure(_) if !is_named => return Err(self.refused(node, UNNAMED)),
            _ => (),
        }
        let body = self.bodies.len() as u32;
        self.bodies.push(identity);
        self.known.extend(function.map(|function| (function, body)));
        Ok(body)
    }

    /// What the job sets for all its commands is part of each.
    #[cfg(feature = "command")]
    fn with_common(&self, identity: Identity) -> Identity {
        match identity {
            Identity::Command(parts) => {
                let common = self.job.command_settings.variables();
                Identity::Command(parts.under(crate::work::environment(common)))
            }
            other => other,
        }
    }

    #[cfg(not(feature = "command"))]
    fn with_common(&self, identity: Identity) -> Identity {
        identity
    }

    fn array(&self, node: u32, len: u32) -> Result<ArrayRecord> {
        let unit = &self.job.units[node as usize];
        let (mut items, mut bytes) = (Vec::new(), Vec::new());
        for index in 0..len {
            bytes.clear();
            let encode = || unit.encode_item(index, &mut bytes);
            let encoded = catch_unwind(AssertUnwindSafe(encode));
            match encoded {
                Ok(Ok(ItemBytes::None)) => break,
                Ok(Ok(ItemBytes::Mixed)) => return Err(self.refused(node, MIXED)),
                Ok(Ok(ItemBytes::Encoded)) => items.extend(xxh3_64(&bytes).to_le_bytes()),
                Ok(Err(error)) => return Err(self.refused(node, ITEM).caused_by(error)),
                Err(panic) => {
                    let panic = Panic::from_payload(panic);
                    return Err(self.refused(node, ITEM).caused_by(panic));
                }
            }
        }
        let items = Bytes(items);
        Ok(ArrayRecord { node, len, items })
    }

    fn refused(&self, node: u32, why: &str) -> Error {
        Error::new(ErrorKind::Unsupported, why)
            .in_job(&self.job.name)
            .of_task(self.job.node_label(node))
    }
}

const UNKNOWN: &str = "can't be in a journal: its body can't be known again when the program is started anew; use a `Function`, or wrap it in `durable`";
const UNNAMED: &str = "can't be in a journal: a closure goes by the name of its task; give it one";
const MIXED: &str = "can't be in a journal: its elements have items, and read other tasks' outputs beside them; pass the items through an array of their own";
const ITEM: &str = "can't be in a journal: an item of it can't be written down";

fn labels(job: &Frozen) -> Vec<(u32, String)> {
    let labels = job.labels.iter();
    let mut labels: Vec<_> = labels
        .map(|(node, label)| (*node, label.to_string()))
        .collect();
    labels.sort_unstable();
    labels
}

/// The hash of a place in a row of them.
pub(super) fn hash_at(hashes: &Bytes, at: u32) -> u64 {
    let rest = hashes.0.get(at as usize * 8..);
    let eight = rest.and_then(|rest| rest.first_chunk::<8>());
    eight.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn mix(numbers: &[u64]) -> u64 {
    let mut bytes = [0; 32];
    for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    xxh3_64(&bytes[..numbers.len().min(4) * 8])
}
