//! The command line of every benchmark.

use crate::case::Case;

/// Shown for `--help` and after a mistake.
pub const USAGE: &str = "\
options (after `--`):
  --rounds N             rounds, in which every contender has one turn (7)
  --tasks N              tasks of a job (each benchmark has its own default)
  --shape A,B            only these shapes; a trailing * stands for any ending
  --contender A,B        only these contenders, likewise
  --json                 one JSON object a line instead of the table
  --list                 name the cases and measure nothing
Without the `--bench` that `cargo bench` adds, the defaults are one round and few tasks: a trial.";

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    rounds: Option<usize>,
    tasks: Option<usize>,
    shapes: Vec<String>,
    contenders: Vec<String>,
    bench: bool,
    /// Print JSON.
    pub json: bool,
    /// Only name the cases.
    pub list: bool,
    /// This process is a child that measures one case.
    pub child: Option<Case>,
}

impl Options {
    /// Reads the arguments after the program's name; an error is what to tell the user.
    pub fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--rounds" => options.rounds = Some(count(value()?)?),
                "--tasks" => options.tasks = Some(count(value()?)?),
                "--shape" => options.shapes.extend(names(value()?)),
                "--contender" => options.contenders.extend(names(value()?)),
                "--json" => options.json = true,
                "--list" => options.list = true,
                "--bench" => options.bench = true,
                "--child" => {
                    options.child = Some(Case::from_args(rest.as_slice()).ok_or("not a case")?)
                }
                "--help" => return Err(USAGE.into()),
                other => return Err(format!("unknown option {other}\n{USAGE}")),
            }
            if options.child.is_some() {
                break;
            }
        }
        Ok(options)
    }

    /// How many rounds to make.
    pub fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.bench { 7 } else { 1 })
    }

    /// How many tasks a job gets, where the benchmark itself would take `default`.
    pub fn tasks(&self, default: usize) -> usize {
        self.tasks.unwrap_or(if self.bench {
            default
        } else {
            default.min(1_000)
        })
    }

    /// Whether a case was asked for.
    pub fn wants(&self, case: &Case) -> bool {
        matches_any(&self.shapes, &case.shape) && matches_any(&self.contenders, &case.contender)
    }
}

fn names(list: &str) -> impl Iterator<Item = String> {
    list.split(',').map(str::to_owned)
}

fn count(text: &str) -> Result<usize, String> {
    match text.replace('_', "").parse() {
        Ok(0) | Err(_) => Err(format!("not a count: {text}")),
        Ok(count) => Ok(count),
    }
}

fn matches_any(patterns: &[String], name: &str) -> bool {
    let matches = |pattern: &String| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    };
    patterns.is_empty() || patterns.iter().any(matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn filters_take_exact_names_and_beginnings() -> Result<(), String> {
        let options = parse("--shape grid --shape typed* --contender limit")?;
        assert!(options.wants(&Case::new("grid", "limit", 1)));
        assert!(options.wants(&Case::new("typed-tree", "limit", 1)));
        assert!(!options.wants(&Case::new("wide", "limit", 1)));
        assert!(!options.wants(&Case::new("grid", "limit-indexed", 1)));
        Ok(())
    }

    #[test]
    fn a_child_gets_back_its_case() -> Result<(), String> {
        let case = Case {
            spins: 3,
            ..Case::new("grid", "limit", 100)
        };
        let args: Vec<String> = ["--child".to_owned()]
            .into_iter()
            .chain(case.to_args())
            .collect();
        assert_eq!(Options::parse(&args)?.child, Some(case));
        Ok(())
    }

    #[test]
    fn a_trial_is_small_unless_told_otherwise() -> Result<(), String> {
        assert_eq!(
            (parse("--json")?.rounds(), parse("--json")?.tasks(5_000)),
            (1, 1_000)
        );
        assert_eq!(
            (parse("--bench")?.rounds(), parse("--bench")?.tasks(5_000)),
            (7, 5_000)
        );
        assert_eq!(parse("--tasks 10_000")?.tasks(5), 10_000);
        assert!(parse("--rounds 0").is_err());
        Ok(())
    }
}
