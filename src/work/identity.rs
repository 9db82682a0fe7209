//! By what a body is known again in another process, or in the same one started anew.

use super::function::AnyFunction;
use crate::model::Fingerprint;
use serde::{Deserialize, Serialize};

/// What a body is. Public only in name, since `Body` mentions it.
#[doc(hidden)]
#[allow(unreachable_pub, reason = "a trait of the public `Body` mentions it")]
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub enum Identity {
    /// Nothing tells it from another: it is a closure, say.
    Unknown,
    Function(Fingerprint),
    /// The parts of a command, each as a hash.
    Command(CommandParts),
    /// A closure whose user says when it changes; it goes by the name of its task.
    Closure(ClosureIdentity),
}

/// A command, in parts: so that it can be said which has changed.
#[doc(hidden)]
#[allow(unreachable_pub, reason = "a trait of the public `Body` mentions it")]
#[derive(Serialize, Deserialize, Clone, Default, PartialEq, Eq, Debug)]
pub struct CommandParts {
    pub program: String,
    pub arguments: u64,
    pub environment: u64,
    pub files: u64,
    pub stdin: u64,
    pub outputs: u64,
}

#[doc(hidden)]
#[allow(unreachable_pub, reason = "a trait of the public `Body` mentions it")]
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct ClosureIdentity {
    pub version: u32,
    pub output: String,
}

/// What an element reads that is no other task's output.
pub(crate) enum Item {
    None,
    Encoded,
    /// There is something, beside outputs of other tasks: they can't be told apart.
    Mixed,
}

impl Identity {
    pub(super) fn of_function(function: Option<&'static dyn AnyFunction>) -> Self {
        function.map_or(Identity::Unknown, |function| {
            Identity::Function(function.fingerprint())
        })
    }
}

#[cfg(feature = "command")]
mod of_commands {
    use super::CommandParts;
    use crate::model::{Command, Content, FileSource, Parameter, Stdin, Sweep};
    use std::ffi::OsStr;
    use std::io::Read;
    use std::path::Path;
    use xxhash_rust::xxh3::Xxh3;

    impl CommandParts {
        /// Reads the files that go with it: what is in them counts, and not where they lie.
        pub(crate) fn of(command: &Command) -> Self {
            let mut parts = CommandParts {
                program: command.program.to_string_lossy().into_owned(),
                ..CommandParts::default()
            };
            if let Some(container) = &command.settings.container {
                parts.program.push_str(&format!(" in {}", container.image));
            }
            let mut hash = Hash::default();
            command.args.iter().for_each(|arg| hash.text(arg));
            parts.arguments = hash.end();
            parts.environment = environment(command.settings.variables());
            for file in &command.files {
                hash.text(file.name.as_os_str());
                hash.source(&file.source);
            }
            parts.files = hash.end();
            match &command.stdin {
                Stdin::Empty => (),
                Stdin::Bytes(bytes) => hash.bytes(bytes),
                Stdin::File(path) => hash.file(path),
            }
            parts.stdin = hash.end();
            for output in &command.outputs {
                hash.text(OsStr::new(&output.pattern));
                hash.text(output.to.as_deref().unwrap_or(Path::new("")).as_os_str());
            }
            parts.outputs = hash.end();
            parts
        }

        /// Of a command for each combination of these parameters.
        pub(crate) fn of_sweep(template: &Command, sweep: &Sweep) -> Self {
            let mut parts = CommandParts::of(template);
            let mut hash = Hash::default();
            hash.bytes(&parts.arguments.to_le_bytes());
            for parameter in &sweep.parameters {
                match parameter {
                    Parameter::Values(values) => {
                        values.iter().for_each(|value| hash.text(OsStr::new(value)));
                    }
                    Parameter::Range { start, end, step } => {
                        for number in [start, end, step] {
                            hash.bytes(&number.to_le_bytes());
                        }
                    }
                }
                hash.bytes(&[]);
            }
            parts.arguments = hash.end();
            parts
        }

        /// The job sets these for all its commands.
        pub(crate) fn under(mut self, common: u64) -> Self {
            self.environment ^= common.rotate_left(1);
            self
        }
    }

    /// Of variables that are set; those that are inherited don't count.
    pub(crate) fn environment<'a>(variables: impl Iterator<Item = (&'a OsStr, &'a OsStr)>) -> u64 {
        let mut hash = Hash::default();
        for (name, value) in variables {
            hash.text(name);
            hash.text(value);
        }
        hash.end()
    }

    /// Of several things, each with its length. Of none, it is 0.
    #[derive(Default)]
    struct Hash(Option<Box<Xxh3>>);

    impl Hash {
        fn text(&mut self, text: &OsStr) {
            self.bytes(text.as_encoded_bytes());
        }

        fn bytes(&mut self, bytes: &[u8]) {
            let hasher = self.0.get_or_insert_default();
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        }

        fn source(&mut self, source: &FileSource) {
            match &source.content {
                Content::Bytes(bytes) => self.bytes(bytes),
                Content::Path(path) => self.file(path),
            }
            self.bytes(&[u8::from(source.executable)]);
        }

        /// One that can't be read is not the same as any that can.
        fn file(&mut self, path: &Path) {
            let hasher = self.0.get_or_insert_default();
            let mut read = || -> std::io::Result<u64> {
                let (mut file, mut buffer) = (std::fs::File::open(path)?, [0; 1 << 14]);
                let mut len = 0;
                loop {
                    match file.read(&mut buffer)? {
                        0 => return Ok(len),
                        read => hasher.update(&buffer[..read]),
                    }
                    len += 1;
                }
            };
            let end = read().map_or(u64::MAX, |_| 0);
            hasher.update(&end.to_le_bytes());
        }

        fn end(&mut self) -> u64 {
            self.0.take().map_or(0, |hasher| hasher.digest())
        }
    }
}

#[cfg(feature = "command")]
pub(crate) use of_commands::environment;
