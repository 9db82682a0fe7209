//! One command for each combination of parameters.

use super::{Command, Content};
use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The parameters of an array of commands, one element for each combination of them: see
/// [`Job::sweep`](crate::Job::sweep). (Azure Batch: the task factory `parametricSweep`.)
///
/// The command's texts have placeholders: `{0}` for the first parameter, `{1}` for the second. `{0:4}` is a number of at
/// least four digits, zeros before it; `{{0}}` stands for `{0}` itself, and all other braces for themselves. The last
/// parameter changes from one element to the next.
///
/// ```
/// use batchyard::Sweep;
///
/// let sweep = Sweep::new().values(["red", "blue"]).range(1..=3);
/// assert_eq!(sweep.len(), 6);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sweep {
    pub(crate) parameters: Vec<Parameter>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Parameter {
    /// From `start` by `step`, which is not 0, up or down to `end`.
    Range {
        start: i64,
        end: i64,
        step: i64,
    },
    Values(Arc<[String]>),
}

impl Sweep {
    /// No parameters: one element.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a parameter with these values, one by one.
    pub fn range(self, values: RangeInclusive<i64>) -> Self {
        self.range_by(*values.start(), *values.end(), 1)
    }

    /// Adds a parameter that goes from `start` by `step` as far as `end`, which it may hit. A negative step goes down; 0
    /// counts as 1.
    pub fn range_by(mut self, start: i64, end: i64, step: i64) -> Self {
        let step = if step == 0 { 1 } else { step };
        let range = Parameter::Range { start, end, step };
        self.parameters.push(range);
        self
    }

    /// Adds a parameter with these values. They are put in as they are: quote the placeholder in a script for a shell.
    pub fn values<V: Into<String>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        self.parameters.push(Parameter::Values(values));
        self
    }

    /// How many combinations there are; `usize::MAX` also stands for more.
    pub fn len(&self) -> usize {
        let lens = self.parameters.iter().map(Parameter::len);
        lens.fold(1, |all, len| all.saturating_mul(len))
    }

    /// Whether there are none, since a parameter has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The command of one element.
    pub(crate) fn command(&self, template: &Command, element: usize) -> Command {
        let values = self.values_of(element);
        template.map_texts(&|text| {
            fill(text, &|index, width| {
                values.get(index).map(|value| value.padded(width))
            })
        })
    }

    /// A placeholder of the command for which there is no parameter.
    pub(crate) fn unknown_placeholder(&self, template: &Command) -> Option<usize> {
        let unknown = Cell::new(None);
        template.map_texts(&|text| {
            fill(text, &|index, _| {
                let known = index < self.parameters.len();
                unknown.set(unknown.get().or((!known).then_some(index)));
                None
            })
        });
        unknown.get()
    }

    fn values_of(&self, mut element: usize) -> Vec<Value<'_>> {
        let last_first = self.parameters.iter().rev().map(|parameter| {
            let len = parameter.len().max(1);
            let at = element % len;
            element /= len;
            parameter.at(at)
        });
        let mut values: Vec<_> = last_first.collect();
        values.reverse();
        values
    }
}

impl Parameter {
    fn len(&self) -> usize {
        match self {
            Parameter::Values(values) => values.len(),
            Parameter::Range { start, end, step } => {
                let steps = (i128::from(*end) - i128::from(*start)) / i128::from(*step);
                let ahead = (*step > 0) == (start <= end) || start == end;
                let len = if ahead { steps + 1 } else { 0 };
                usize::try_from(len).unwrap_or(usize::MAX)
            }
        }
    }

    fn at(&self, index: usize) -> Value<'_> {
        match self {
            Parameter::Values(values) => Value::Text(&values[index]),
            Parameter::Range { start, step, .. } => {
                Value::Number(start.wrapping_add(step.wrapping_mul(index as i64)))
            }
        }
    }
}

/// What a placeholder stands for.
enum Value<'a> {
    Number(i64),
    Text(&'a str),
}

impl Value<'_> {
    fn padded(&self, width: usize) -> String {
        match self {
            Value::Number(number) => format!("{number:0width$}"),
            Value::Text(text) => (*text).to_owned(),
        }
    }
}

/// A text with its placeholders filled. One that `value` knows nothing for stays.
fn fill(text: &str, value: &dyn Fn(usize, usize) -> Option<String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let doubled = rest[1..].starts_with('{');
        let inner = &rest[usize::from(doubled)..];
        let (piece, len) = match placeholder(inner) {
            Some((_, _, len)) if doubled && inner[len..].starts_with('}') => {
                (inner[..len].to_owned(), len + 2)
            }
            Some((index, width, len)) if !doubled => {
                let filled = value(index, width);
                (filled.unwrap_or_else(|| rest[..len].to_owned()), len)
            }
            _ => ("{".to_owned(), 1),
        };
        filled.push_str(&piece);
        rest = &rest[len..];
    }
    filled + rest
}

/// The length of `{00:00}`.
const LONGEST: usize = 7;

/// The placeholder that a text begins with: its number, its width, and how long it is. Both have at most two digits.
fn placeholder(text: &str) -> Option<(usize, usize, usize)> {
    let end = text.bytes().take(LONGEST).position(|byte| byte == b'}')?;
    let inner = &text[1..end];
    let (index, width) = inner.split_once(':').unwrap_or((inner, "0"));
    Some((small(index)?, small(width)?, inner.len() + 2))
}

fn small(digits: &str) -> Option<usize> {
    let is_small = digits.len() <= 2 && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_small.then(|| digits.parse().ok()).flatten()
}

impl Command {
    /// With every text changed that is one: arguments, names of files, variables, patterns. The contents of files are left.
    fn map_texts(&self, change: &dyn Fn(&str) -> String) -> Command {
        let os = |text: &OsStr| match text.to_str() {
            Some(text) => OsString::from(change(text)),
            None => text.to_owned(),
        };
        let path = |path: &Path| PathBuf::from(os(path.as_os_str()));
        let mut command = self.clone();
        command.program = os(&self.program);
        command.args = self.args.iter().map(|arg| os(arg)).collect();
        if let super::Stdin::File(file) = &mut command.stdin {
            *file = path(file);
        }
        for file in &mut command.files {
            file.name = path(&file.name);
            if let Content::Path(source) = &mut file.source.content {
                *source = path(source);
            }
        }
        for output in &mut command.outputs {
            output.pattern = change(&output.pattern);
            output.to = output.to.as_deref().map(path);
        }
        command.settings.map_values(&os);
        command
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn args(sweep: &Sweep, arg: &str) -> Vec<String> {
        let template = Command::new("x").arg(arg);
        let commands = (0..sweep.len()).map(|element| sweep.command(&template, element));
        let texts = commands.map(|command| command.args[0].to_string_lossy().into_owned());
        texts.collect()
    }

    #[test]
    fn the_last_parameter_changes_first() {
        let sweep = Sweep::new().values(["a", "b"]).range(1..=2);
        assert_eq!(args(&sweep, "{0}{1}"), ["a1", "a2", "b1", "b2"]);
    }

    #[test]
    fn ranges_go_up_and_down_and_may_miss_their_end() {
        assert_eq!(
            args(&Sweep::new().range_by(1, 6, 2), "{0}"),
            ["1", "3", "5"]
        );
        assert_eq!(
            args(&Sweep::new().range_by(6, 1, -2), "{0}"),
            ["6", "4", "2"]
        );
        assert_eq!(args(&Sweep::new().range_by(3, 3, -2), "{0}"), ["3"]);
        assert_eq!(Sweep::new().range_by(1, 6, -1).len(), 0);
        assert_eq!(Sweep::new().range_by(6, 1, 4).len(), 0);
        assert_eq!(Sweep::new().range(i64::MIN..=i64::MAX).len(), usize::MAX);
    }

    #[test]
    fn numbers_are_padded_and_words_are_not() {
        let sweep = Sweep::new().range(-7..=-7).values(["x"]);
        assert_eq!(args(&sweep, "{0:4} {1:4}"), ["-007 x"]);
    }

    #[test]
    fn doubled_braces_and_all_others_are_left() {
        let sweep = Sweep::new().range(5..=5);
        let text = "{{0}} {{{0}}} ${0} {a} {} {0x} {100} {0:100} {-1} { {0";
        let filled = "{0} {{0}} $5 {a} {} {0x} {100} {0:100} {-1} { {0";
        assert_eq!(args(&sweep, text), [filled]);
    }

    #[test]
    fn a_placeholder_without_a_parameter_is_found() {
        let sweep = Sweep::new().range(1..=2);
        let unknown = |arg: &str| sweep.unknown_placeholder(&Command::new("x").arg(arg));
        assert_eq!(unknown("{0} {3:2}"), Some(3));
        assert_eq!(unknown("{0} {{3}}"), None);
    }
}
