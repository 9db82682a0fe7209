//! Patterns of paths, and the partition keys in them.

use super::files::is_hidden;
use crate::model::{Error, ErrorKind, Result};
use std::path::{Component, Path, PathBuf};

const OPTIONS: glob::MatchOptions = glob::MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// A pattern, cut into what it begins with literally and the parts after that.
pub(super) struct Pattern {
    root: PathBuf,
    parts: Vec<Part>,
    whole: glob::Pattern,
}

/// One component of a pattern.
struct Part {
    /// `None` is `**`.
    pattern: Option<glob::Pattern>,
    key: Option<Key>,
}

/// A key, and what stands around its value in the component.
#[derive(Clone, Debug)]
struct Key {
    name: String,
    before: String,
    after: String,
}

/// Where in a path the values of its partition keys stand.
#[derive(Clone, Default, Debug)]
pub(super) struct Keys(Vec<(usize, Key)>);

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self> {
        let path = Path::new(text);
        let components: Vec<_> = path.components().collect();
        let last = components.len().saturating_sub(1);
        let literal =
            |component: &Component<'_>| !has_wildcard(&component.as_os_str().to_string_lossy());
        let fixed = components
            .iter()
            .take(last)
            .take_while(|c| literal(c))
            .count();
        let mut root: PathBuf = components[..fixed].iter().collect();
        if root.as_os_str().is_empty() {
            root.push(".");
        }
        let parts: Vec<Part> = components[fixed..]
            .iter()
            .map(|component| Part::new(&component.as_os_str().to_string_lossy()))
            .collect::<Result<_>>()?;
        if parts.is_empty() {
            return Err(invalid(text, "it names no file"));
        }
        let rest: Vec<_> = parts.iter().map(Part::text).collect();
        let whole = glob::Pattern::new(&rest.join("/")).map_err(|error| invalid(text, error))?;
        Ok(Pattern { root, parts, whole })
    }

    /// The folder that everything it matches is in.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn max_depth(&self) -> usize {
        let any = self.parts.iter().any(|part| part.pattern.is_none());
        if any { usize::MAX } else { self.parts.len() }
    }

    /// Whether something in this folder, or this file, can match: other folders aren't walked.
    pub(super) fn may_lead_to(&self, entry: &walkdir::DirEntry) -> bool {
        if entry.depth() == 0 {
            return true;
        }
        let before_any = self
            .parts
            .iter()
            .take_while(|part| part.pattern.is_some())
            .count();
        match self.parts.get(entry.depth() - 1) {
            Some(part) if entry.depth() <= before_any => {
                part.matches(&entry.file_name().to_string_lossy())
            }
            _ => !is_hidden(entry),
        }
    }

    pub(super) fn matches(&self, path: &Path) -> bool {
        let rest = path.strip_prefix(&self.root).unwrap_or(path);
        self.whole.matches_path_with(rest, OPTIONS)
    }

    pub(super) fn keys(&self) -> Keys {
        let from_end = |at: usize| self.parts.len() - 1 - at;
        let keys = self.parts.iter().enumerate();
        Keys(
            keys.filter_map(|(at, part)| Some((from_end(at), part.key.clone()?)))
                .collect(),
        )
    }
}

impl Part {
    fn new(text: &str) -> Result<Self> {
        if text == "**" {
            return Ok(Part {
                pattern: None,
                key: None,
            });
        }
        let key = Key::new(text)?;
        let pattern = key.as_ref().map_or(text.to_owned(), Key::as_pattern);
        let pattern = glob::Pattern::new(&pattern).map_err(|error| invalid(text, error))?;
        Ok(Part {
            pattern: Some(pattern),
            key,
        })
    }

    fn text(&self) -> &str {
        self.pattern.as_ref().map_or("**", glob::Pattern::as_str)
    }

    fn matches(&self, name: &str) -> bool {
        self.pattern
            .as_ref()
            .is_none_or(|pattern| pattern.matches_with(name, OPTIONS))
    }
}

impl Key {
    fn new(text: &str) -> Result<Option<Self>> {
        let Some((before, rest)) = text.split_once('{') else {
            return Ok(None);
        };
        let (name, after) = rest
            .split_once('}')
            .ok_or_else(|| invalid(text, "a `{` without a `}`"))?;
        if name.is_empty()
            || [before, after]
                .iter()
                .any(|part| part.contains(['{', '}', '*', '?', '[']))
        {
            return Err(invalid(
                text,
                "beside a partition key a name may only have literal text",
            ));
        }
        Ok(Some(Key {
            name: name.into(),
            before: before.into(),
            after: after.into(),
        }))
    }

    fn as_pattern(&self) -> String {
        let literal = glob::Pattern::escape;
        format!("{}*{}", literal(&self.before), literal(&self.after))
    }

    fn value(&self, component: &str) -> Option<String> {
        let value = component
            .strip_prefix(&self.before)?
            .strip_suffix(&self.after)?;
        Some(value.to_owned())
    }
}

impl Keys {
    /// The positions of these keys.
    ///
    /// # Errors
    /// For a name that is no key.
    pub(super) fn choose(&self, names: &[String]) -> Result<Keys> {
        let find = |name: &String| {
            let found = self.0.iter().find(|(_, key)| key.name == *name).cloned();
            found.ok_or_else(|| {
                let known: Vec<_> = self.0.iter().map(|(_, key)| format!("`{}`", key.name)).collect();
                let message = format!(
                    "the input has no partition key `{name}`, only: {}; put {{{name}}} into the pattern of the files",
                    if known.is_empty() { "none".into() } else { known.join(", ") }
                );
                Error::new(ErrorKind::InvalidSetting, message)
            })
        };
        names.iter().map(find).collect::<Result<_>>().map(Keys)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each key with its value in a path.
    pub(super) fn of(&self, path: &Path) -> Vec<(String, String)> {
        let from_end: Vec<_> = path
            .iter()
            .rev()
            .map(|part| part.to_string_lossy())
            .collect();
        let value =
            |&(at, ref key): &(usize, Key)| Some((key.name.clone(), key.value(from_end.get(at)?)?));
        self.0.iter().filter_map(value).collect()
    }
}

fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

fn invalid(pattern: &str, why: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::InvalidSetting,
        format!("`{pattern}` is no pattern of files: {why}"),
    )
}
