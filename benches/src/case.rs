//! One thing to measure, and what came of it.

use crate::memory::Mark;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// One contender on one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What the tasks look like, by the name it is printed with.
    pub shape: String,
    /// Who runs them.
    pub contender: String,
    /// How many there are.
    pub tasks: usize,
    /// How many turns the body of each task spins; none is an empty body.
    pub spins: u64,
}

impl Case {
    /// A case with empty bodies.
    pub fn new(shape: &str, contender: &str, tasks: usize) -> Self {
        Self {
            shape: shape.into(),
            contender: contender.into(),
            tasks,
            spins: 0,
        }
    }

    /// The case as arguments for a child; see [`Case::from_args`].
    pub fn to_args(&self) -> [String; 4] {
        [
            self.shape.clone(),
            self.contender.clone(),
            self.tasks.to_string(),
            self.spins.to_string(),
        ]
    }

    /// The case that [`Case::to_args`] wrote.
    pub fn from_args(args: &[String]) -> Option<Self> {
        let [shape, contender, tasks, spins] = args else {
            return None;
        };
        Some(Self {
            spins: spins.parse().ok()?,
            ..Self::new(shape, contender, tasks.parse().ok()?)
        })
    }
}

/// What one round of a case took, for all its tasks together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// From nothing to a job that can be run.
    pub build: Duration,
    /// From handing it over until all of it was done.
    pub run: Duration,
    /// Peak memory above what was there before the build.
    pub bytes: u64,
}

impl Sample {
    /// Times `build` and `run` and watches their memory. What they return is never freed: the process ends soon.
    pub fn take<B, R>(build: impl FnOnce() -> B, run: impl FnOnce(&mut B) -> R) -> Self {
        let mark = Mark::now();
        let start = Instant::now();
        let mut built = build();
        let build = start.elapsed();
        let start = Instant::now();
        let result = run(&mut built);
        let run = start.elapsed();
        let bytes = mark.peak_growth();
        std::mem::forget((built, result));
        Self { build, run, bytes }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {}",
            self.build.as_nanos(),
            self.run.as_nanos(),
            self.bytes
        )
    }
}

impl FromStr for Sample {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let numbers: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[build, run, bytes]) => Ok(Self {
                build: Duration::from_nanos(build),
                run: Duration::from_nanos(run),
                bytes,
            }),
            _ => Err(format!("not a sample: {line:?}")),
        }
    }
}

/// Why a contender can't take part on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(pub String);

/// What measuring a case came to.
pub type Outcome = Result<Sample, Missing>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_survives_being_printed() {
        let line = "100 250 4096";
        assert_eq!(
            line.parse::<Sample>().map(|sample| sample.to_string()),
            Ok(line.into())
        );
        assert!("100 250".parse::<Sample>().is_err());
    }
}
