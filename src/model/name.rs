//! Names of tasks: optional, and free when absent.

/// The name of a task or task array: a string, or `()` for none.
///
/// Names are for people: they appear in errors, events and drawings, are unique in their job, case-sensitive and
/// of any length. A job of a million tasks is better off without them.
///
/// ```
/// # let mut job = batchyard::Job::new("names");
/// job.task("named", (), || 1);
/// job.task((), (), || 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name(Option<Box<str>>);

impl Name {
    /// The text, if there is a name.
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub(crate) fn into_inner(self) -> Option<Box<str>> {
        self.0
    }
}

impl From<()> for Name {
    fn from((): ()) -> Self {
        Name(None)
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Name(Some(name.into()))
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Name(Some(name.into()))
    }
}

impl From<&String> for Name {
    fn from(name: &String) -> Self {
        name.as_str().into()
    }
}

impl From<Option<String>> for Name {
    fn from(name: Option<String>) -> Self {
        Name(name.map(Into::into))
    }
}
