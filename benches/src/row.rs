//! The rounds of a case, and what they come to.

use crate::case::{Case, Missing, Outcome, Sample};

/// A case and its rounds so far.
#[derive(Clone, Debug)]
pub struct Row {
    /// What is measured.
    pub case: Case,
    samples: Vec<Sample>,
    missing: Option<Missing>,
    failure: Option<String>,
}

impl Row {
    /// A case without a round.
    pub fn new(case: Case) -> Self {
        Self {
            case,
            samples: Vec::new(),
            missing: None,
            failure: None,
        }
    }

    /// Whether another round makes sense.
    pub fn is_open(&self) -> bool {
        self.missing.is_none() && self.failure.is_none()
    }

    /// Adds a round.
    pub fn add(&mut self, round: Result<Outcome, String>) {
        match round {
            Ok(Ok(sample)) => self.samples.push(sample),
            Ok(Err(missing)) => self.missing = Some(missing),
            Err(failure) => self.failure = Some(failure),
        }
    }

    /// The figures, if every round went well.
    pub fn figures(&self) -> Option<Figures> {
        (self.is_open() && !self.samples.is_empty())
            .then(|| Figures::of(&self.samples, self.case.tasks as f64))
    }

    /// Whether a round failed.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// What to say about a case that has no figures.
    pub fn note(&self) -> Option<String> {
        let Case {
            shape, contender, ..
        } = &self.case;
        match (&self.missing, &self.failure) {
            (Some(Missing(reason)), _) => Some(format!("{contender} left out: {reason}")),
            (_, Some(failure)) => Some(format!("{contender} FAILED on {shape}: {failure}")),
            _ => None,
        }
    }
}

/// All rounds of a case, per task.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// The median time to run.
    pub ns: f64,
    /// The shortest time to run.
    pub ns_min: f64,
    /// The median time to build.
    pub build_ns: f64,
    /// The median of the memory.
    pub bytes: f64,
}

impl Figures {
    fn of(samples: &[Sample], tasks: f64) -> Self {
        let per_task =
            |of: fn(&Sample) -> f64| samples.iter().map(|sample| of(sample) / tasks).collect();
        let run: Vec<f64> = per_task(|sample| sample.run.as_nanos() as f64);
        Self {
            ns_min: run.iter().copied().fold(f64::INFINITY, f64::min),
            ns: median(run),
            build_ns: median(per_task(|sample| sample.build.as_nanos() as f64)),
            bytes: median(per_task(|sample| sample.bytes as f64)),
        }
    }
}

/// The middle value, or the mean of the two middle ones.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(vec![]), 0.0);
    }
}
