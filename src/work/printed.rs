//! What functions wrote to standard output and error in other processes, for as long as there is room.

use crate::model::{Printed, TaskId};
use std::collections::{HashMap, VecDeque};

/// How much one run keeps. What was written first goes first.
const MOST: usize = 64 << 20;

/// Of all tasks of a run.
#[derive(Default)]
pub(super) struct PrintedByAll {
    by_task: HashMap<TaskId, Vec<Printed>>,
    /// In the order in which they were added.
    order: VecDeque<TaskId>,
    size: usize,
}

impl PrintedByAll {
    pub(super) fn add(&mut self, task: TaskId, attempt: u32, [stdout, stderr]: [Vec<u8>; 2]) {
        let printed = Printed {
            attempt,
            stdout,
            stderr,
        };
        self.size += size_of(&printed);
        self.by_task.entry(task).or_default().push(printed);
        self.order.push_back(task);
        while self.size > MOST {
            self.drop_oldest();
        }
    }

    pub(super) fn of(&self, task: TaskId) -> Vec<Printed> {
        self.by_task.get(&task).cloned().unwrap_or_default()
    }

    fn drop_oldest(&mut self) {
        let oldest = self.order.pop_front();
        let kept = oldest.and_then(|task| self.by_task.get_mut(&task));
        match kept.filter(|kept| !kept.is_empty()) {
            Some(kept) => self.size -= size_of(&kept.remove(0)),
            None => self.size = 0,
        }
    }
}

/// With what it takes to find it.
fn size_of(printed: &Printed) -> usize {
    printed.stdout.len() + printed.stderr.len() + 128
}
