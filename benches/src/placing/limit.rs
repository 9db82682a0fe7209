//! What the machine can do: buckets by priority, counters of what is free, and nothing else.

use super::{NODES, PRIORITIES, SLOTS, class, priority, slots};
use crate::case::Sample;
use crate::memory::Mark;
use crate::{THREADS, body};
use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Ready tasks, the most urgent first.
struct Buckets(Vec<VecDeque<u32>>);

impl Buckets {
    fn of(tasks: usize) -> Self {
        let mut buckets = vec![VecDeque::new(); PRIORITIES as usize];
        for task in 0..tasks as u32 {
            buckets[priority(task) as usize].push_back(task);
        }
        Buckets(buckets)
    }

    fn first(&self) -> Option<u32> {
        self.0
            .iter()
            .rev()
            .find_map(|bucket| bucket.front().copied())
    }

    fn pop(&mut self) -> Option<u32> {
        self.0.iter_mut().rev().find_map(VecDeque::pop_front)
    }
}

type Boxed = Box<dyn Fn() + Send + Sync>;

/// Two threads share the buckets under a lock.
pub fn queued(tasks: usize) -> Sample {
    Sample::take(
        || {
            (0..tasks as u32)
                .map(|task| Box::new(body::empty(task)) as Boxed)
                .collect()
        },
        |bodies: &mut Vec<Boxed>| {
            let (bodies, ready) = (&*bodies, Mutex::new(Buckets::of(tasks)));
            let next = || ready.lock().ok().and_then(|mut ready| ready.pop());
            std::thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| {
                        while let Some(task) = next() {
                            bodies[task as usize]()
                        }
                    });
                }
            });
        },
    )
}

/// One thread takes the first task as soon as the next node has room for it.
pub fn decisions(tasks: usize) -> Sample {
    Sample::take(
        || (),
        |()| {
            let mut nodes = Nodes {
                ready: Buckets::of(tasks),
                running: VecDeque::new(),
            };
            let mut free = vec![SLOTS; NODES as usize];
            (0..NODES as usize).for_each(|node| nodes.fill(node, &mut free[node]));
            while let Some((node, task)) = nodes.running.pop_front() {
                free[node] += slots(class(task));
                nodes.fill(node, &mut free[node]);
            }
        },
    )
}

struct Nodes {
    ready: Buckets,
    running: VecDeque<(usize, u32)>,
}

impl Nodes {
    fn fill(&mut self, node: usize, free: &mut u32) {
        while let Some(task) = self
            .ready
            .first()
            .filter(|&task| slots(class(task)) <= *free)
        {
            self.ready.pop();
            *free -= slots(class(task));
            self.running.push_back((node, black_box(task)));
        }
    }
}

/// The buckets alone.
pub fn memory(tasks: usize) -> Sample {
    let (start, mark) = (Instant::now(), Mark::now());
    let ready = Buckets::of(tasks);
    let sample = Sample {
        build: Duration::ZERO,
        run: start.elapsed(),
        bytes: mark.growth(),
    };
    std::mem::forget(ready);
    sample
}
