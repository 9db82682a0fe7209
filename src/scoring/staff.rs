//! The workers of a run: made, lent to one task after another, and sent home.

use super::fault::ScoringError;
use super::output::Encoder;
use super::report::Warning;
use super::scorer::{AnyScorer, Hand, Place, Stop, Worker};
use super::settings::Settings;
use crate::sync::lock;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Workers belong to a run and not to threads of the pool: a task takes one that is idle, whichever thread it runs on, so
/// that each keeps its number, its process and its GPU.
pub(super) struct Staff {
    scorer: AnyScorer,
    settings: Arc<Settings>,
    encoder: Encoder,
    logs: PathBuf,
    size: u32,
    roster: Mutex<Roster>,
}

#[derive(Default)]
struct Roster {
    idle: Vec<Member>,
    /// Numbers of workers that are gone.
    vacant: Vec<u32>,
    /// The first number that nobody has had.
    fresh: u32,
    failures: BTreeMap<String, u64>,
    /// What workers had to say, and how their ends went wrong.
    notes: BTreeSet<String>,
    ends: Vec<String>,
}

/// A worker and its number.
pub(super) struct Member {
    pub(super) number: u32,
    pub(super) hand: Box<dyn Hand>,
}

impl Staff {
    pub(super) fn new(
        scorer: AnyScorer,
        settings: Arc<Settings>,
        encoder: Encoder,
        logs: PathBuf,
        size: u32,
    ) -> Self {
        Staff {
            scorer,
            settings,
            encoder,
            logs,
            size,
            roster: Mutex::default(),
        }
    }

    /// Makes one worker more.
    ///
    /// # Errors
    /// If `init` failed as often as a mini-batch may be tried.
    pub(super) fn hire(&self, stop: Stop<'_>) -> Result<Option<Member>, ScoringError> {
        let number = self.vacancy();
        let place = Place {
            worker: Worker {
                number,
                of: self.size,
            },
            settings: self.settings.clone(),
            encoder: self.encoder.clone(),
            logs: self.logs.clone(),
        };
        for _ in 0..self.settings.tries {
            if stop() {
                return Ok(None);
            }
            match self.scorer.0.start(&place, stop) {
                Ok(mut hand) => {
                    lock(&self.roster).notes.extend(hand.notes());
                    return Ok(Some(Member { number, hand }));
                }
                Err(fault) => {
                    *lock(&self.roster)
                        .failures
                        .entry(fault.error.to_string())
                        .or_default() += 1
                }
            }
        }
        Err(self.init_failed())
    }

    fn vacancy(&self) -> u32 {
        let roster = &mut *lock(&self.roster);
        roster.vacant.pop().unwrap_or_else(|| {
            roster.fresh += 1;
            roster.fresh - 1
        })
    }

    fn init_failed(&self) -> ScoringError {
        let failures = &lock(&self.roster).failures;
        let most = failures.iter().max_by_key(|(_, times)| **times);
        ScoringError::InitFailed {
            times: failures.values().sum(),
            most_common: most.map(|(error, _)| error.clone()).unwrap_or_default(),
        }
    }

    /// An idle worker; a new one if there is none.
    pub(super) fn take(&self, stop: Stop<'_>) -> Result<Option<Member>, ScoringError> {
        let idle = lock(&self.roster).idle.pop();
        match idle {
            Some(member) => Ok(Some(member)),
            None => self.hire(stop),
        }
    }

    pub(super) fn give_back(&self, member: Member) {
        lock(&self.roster).idle.push(member);
    }

    /// The worker is of no more use. Its place is taken when a task needs it.
    pub(super) fn dismiss(&self, member: Member) {
        let Member { number, hand } = member;
        drop(hand);
        lock(&self.roster).vacant.push(number);
    }

    /// The worker has worked long enough: it ends in good order, and its place is taken when a task needs it.
    pub(super) fn retire(&self, member: Member) {
        let Member { number, hand } = member;
        let ended = hand.shut_down();
        let mut roster = lock(&self.roster);
        roster.vacant.push(number);
        roster
            .ends
            .extend(ended.err().map(|error| error.to_string()));
    }

    /// Ends all workers in good order, at the same time. Tells what went wrong with that, and what they had to say.
    pub(super) fn send_home(&self) -> Vec<Warning> {
        let members = std::mem::take(&mut lock(&self.roster).idle);
        std::thread::scope(|scope| {
            for member in members {
                scope.spawn(|| self.retire(member));
            }
        });
        let mut roster = lock(&self.roster);
        let notes = std::mem::take(&mut roster.notes);
        let ends = std::mem::take(&mut roster.ends);
        notes
            .into_iter()
            .map(Warning::Scorer)
            .chain(ends.into_iter().map(Warning::Shutdown))
            .collect()
    }
}

impl Drop for Staff {
    /// Of a run that was cancelled.
    fn drop(&mut self) {
        self.send_home();
    }
}
