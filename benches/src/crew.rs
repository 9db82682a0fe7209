//! Threads, deques and a shared cursor: a scheduler with nothing in it that isn't needed.

use crate::THREADS;
use crate::csr::Csr;
use crossbeam_deque::{Steal, Stealer, Worker};
use std::hint::spin_loop;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// The most sources or elements a thread claims at a time.
const CHUNK: usize = 1024;

/// Threads that claim chunks of `0..len` until none is left.
pub fn in_chunks(len: usize, work: impl Fn(Range<usize>) + Sync) {
    let claims = Claims::new(len);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| std::iter::from_fn(|| claims.next()).for_each(&work));
        }
    });
}

/// What of `0..len` is still to be claimed.
struct Claims {
    next: AtomicUsize,
    chunk: usize,
    len: usize,
}

impl Claims {
    fn new(len: usize) -> Self {
        Self {
            next: AtomicUsize::new(0),
            chunk: (len / 256).clamp(1, CHUNK),
            len,
        }
    }

    fn next(&self) -> Option<Range<usize>> {
        if self.next.load(Relaxed) >= self.len {
            return None; // without writing, which would slow the others
        }
        let start = self.next.fetch_add(self.chunk, Relaxed);
        (start < self.len).then(|| start..(start + self.chunk).min(self.len))
    }
}

/// Runs every task of the graph once, on two threads.
pub fn drive(csr: &Csr, call: &(impl Fn(u32) + Sync)) {
    let deques: Vec<Worker<u32>> = (0..THREADS).map(|_| Worker::new_lifo()).collect();
    let crew = Crew {
        csr,
        call,
        stealers: deques.iter().map(Worker::stealer).collect(),
        claims: Claims::new(csr.sources.len()),
        done: AtomicUsize::new(0),
    };
    let crew = &crew;
    std::thread::scope(|scope| {
        for (me, deque) in deques.into_iter().enumerate() {
            scope.spawn(move || crew.work(me, &deque));
        }
    });
}

struct Crew<'a, F> {
    csr: &'a Csr,
    call: &'a F,
    stealers: Vec<Stealer<u32>>,
    claims: Claims,
    done: AtomicUsize,
}

impl<F: Fn(u32)> Crew<'_, F> {
    fn work(&self, me: usize, deque: &Worker<u32>) {
        let (mut done, mut claimed) = (0, 0..0);
        loop {
            let next = deque.pop();
            let next = next
                .or_else(|| self.source(&mut claimed))
                .or_else(|| self.steal(me, deque));
            match next {
                Some(task) => done += self.follow(task, deque),
                None if self.all_done(std::mem::take(&mut done)) => return,
                None => spin_loop(),
            }
        }
    }

    /// Adds what one thread has done, and says whether that was the rest.
    fn all_done(&self, more: usize) -> bool {
        if more > 0 {
            self.done.fetch_add(more, Relaxed);
        }
        self.done.load(Relaxed) == self.csr.len()
    }

    /// Runs a task, then the first that becomes ready by it, and so on; says how many those were.
    #[inline]
    fn follow(&self, first: u32, deque: &Worker<u32>) -> usize {
        let (mut done, mut next) = (0, Some(first));
        while let Some(task) = next {
            (self.call)(task);
            done += 1;
            next = self
                .csr
                .complete_and_follow(task, |other| deque.push(other));
        }
        done
    }

    fn source(&self, claimed: &mut Range<usize>) -> Option<u32> {
        let next = claimed.next().or_else(|| {
            *claimed = self.claims.next()?;
            claimed.next()
        });
        next.map(|at| self.csr.sources[at])
    }

    fn steal(&self, me: usize, deque: &Worker<u32>) -> Option<u32> {
        loop {
            match self.stealers[(me + 1) % THREADS].steal_batch_and_pop(deque) {
                Steal::Success(task) => return Some(task),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }
}
