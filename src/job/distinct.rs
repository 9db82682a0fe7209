//! The settings of a frozen job's tasks, each distinct set once.

use crate::model::TaskSettings;
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

/// What tasks have settings of their own, and which. A number a node, up to the last that has some.
#[derive(Default)]
pub(crate) struct DistinctSettings {
    /// One more than the position in `distinct`; 0 for the job's defaults.
    of: Vec<u32>,
    distinct: Vec<TaskSettings>,
}

impl DistinctSettings {
    pub(super) fn new(settings: HashMap<u32, TaskSettings>) -> Self {
        let last = settings.keys().max().map_or(0, |&last| last as usize + 1);
        let mut table = DistinctSettings {
            of: vec![0; last],
            distinct: Vec::new(),
        };
        let mut known = FxHashMap::default();
        for (node, settings) in settings {
            table.of[node as usize] = table.intern(settings, &mut known);
        }
        table
    }

    fn intern(&mut self, settings: TaskSettings, known: &mut FxHashMap<u64, Vec<u32>>) -> u32 {
        let alike = known.entry(sketch(&settings)).or_default();
        let same = |&&kind: &&u32| self.distinct[kind as usize - 1] == settings;
        if let Some(&kind) = alike.iter().find(same) {
            return kind;
        }
        self.distinct.push(settings);
        alike.push(self.distinct.len() as u32);
        self.distinct.len() as u32
    }

    /// Whether all tasks have the job's defaults.
    pub(super) fn is_empty(&self) -> bool {
        self.distinct.is_empty()
    }

    pub(super) fn get(&self, node: u32) -> Option<&TaskSettings> {
        let position = self.kind(node).checked_sub(1)?;
        self.distinct.get(position as usize)
    }

    /// The same number for nodes with the same settings.
    pub(crate) fn kind(&self, node: u32) -> u32 {
        self.of.get(node as usize).copied().unwrap_or(0)
    }
}

/// Equal for equal settings, and mostly different for others.
fn sketch(settings: &TaskSettings) -> u64 {
    let mut hasher = FxHasher::default();
    settings.priority.hash(&mut hasher);
    settings.resources.hash(&mut hasher);
    settings.max_parallel.hash(&mut hasher);
    settings.time_limit.hash(&mut hasher);
    settings.start_after.hash(&mut hasher);
    settings.deadline.hash(&mut hasher);
    hasher.finish()
}
