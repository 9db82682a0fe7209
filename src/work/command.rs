//! Bodies that are commands: a [`Command`] as it stands, or one that is made from inputs by [`command`].

use super::Context;
use super::body::{Body, Flow, Plain, WithContext};
use super::call::Call;
#[cfg(feature = "journal")]
use super::codec::{CodecError, decode, encode};
#[cfg(feature = "journal")]
use super::identity::{CommandParts, Identity};
#[cfg(feature = "journal")]
use super::inputs::Args;
use super::inputs::Ref;
#[cfg(feature = "journal")]
use super::travel::Wire;
#[cfg(feature = "journal")]
use crate::model::SavedOutput;
use crate::model::{BoxError, Command, CommandOutput, LiveStream, Sweep, TaskId};
use crate::sync::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// What became of a command.
pub(crate) type Launched = Result<CommandOutput, BoxError>;

/// What the running commands of one run have written so far, and what its functions have that ran in other processes.
#[derive(Default)]
pub(crate) struct Live {
    running: Mutex<HashMap<TaskId, LiveStreams>>,
    #[cfg(feature = "process")]
    printed: Mutex<super::printed::PrintedByAll>,
}

/// The standard output and error of a command.
pub(crate) type LiveStreams = [Arc<LiveStream>; 2];

impl Live {
    pub(crate) fn get(&self, task: TaskId) -> Option<LiveStreams> {
        lock(&self.running).get(&task).cloned()
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn begin(&self, task: TaskId, streams: LiveStreams) {
        lock(&self.running).insert(task, streams);
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn end(&self, task: TaskId) {
        lock(&self.running).remove(&task);
    }
}

#[cfg(feature = "process")]
impl Live {
    /// Adds what an attempt wrote.
    pub(crate) fn keep(&self, task: TaskId, attempt: u32, streams: [Vec<u8>; 2]) {
        lock(&self.printed).add(task, attempt, streams);
    }

    /// What a task's attempts wrote.
    pub(crate) fn printed(&self, task: TaskId) -> Vec<crate::model::Printed> {
        lock(&self.printed).of(task)
    }
}

impl Call<'_> {
    fn launch(&self, command: &Command) -> Launched {
        match self.launcher {
            Some(launcher) => launcher.launch(command),
            None => Err("is a command, which its executor can't run".into()),
        }
    }
}

/// A body that is a command, made from its inputs: see [`command`].
#[derive(Clone, Copy, Debug)]
pub struct Commanded<F>(F);

/// Wraps a body that returns a [`Command`], which is then run. So a command's arguments and files come from outputs of
/// other tasks, and each element of an array runs one of its own.
///
/// ```
/// use batchyard::{Command, CommandOutput, Job, command};
///
/// let mut job = Job::new("commands");
/// let made = job.map("make", ["a", "b"], command(|name: &&str| {
///     Command::shell("echo $1 > made.txt").arg(*name).output_files("made.txt")
/// }));
/// let counted = job.each("count", &made, command(|made: &CommandOutput| {
///     Command::new("wc").args(made.files())
/// }));
/// ```
pub fn command<F>(body: F) -> Commanded<F> {
    Commanded(body)
}

/// The form of a body that is a command as it stands.
#[doc(hidden)]
pub struct AsItStands;

impl Body<(), AsItStands> for Command {
    type Output = CommandOutput;
    const COMMAND: bool = true;

    fn start(&self, call: &Call<'_>, (): ()) -> Flow<CommandOutput> {
        call.launch(self).into()
    }

    #[cfg(feature = "data")]
    fn command(&self) -> Option<(&Command, Option<&Sweep>)> {
        Some((self, None))
    }

    #[cfg(feature = "journal")]
    fn identity(&self) -> Identity {
        Identity::Command(CommandParts::of(self))
    }

    #[cfg(feature = "journal")]
    fn wire(&self) -> Option<&dyn Wire<(), CommandOutput>> {
        Some(self)
    }
}

/// The body of an array each of whose items is a command.
pub(crate) struct EachItself;

impl Body<(Ref<Command>,), AsItStands> for EachItself {
    type Output = CommandOutput;
    const COMMAND: bool = true;

    fn start(&self, call: &Call<'_>, (command,): (&Command,)) -> Flow<CommandOutput> {
        call.launch(command).into()
    }

    #[cfg(feature = "journal")]
    fn identity(&self) -> Identity {
        Identity::Command(CommandParts::default())
    }

    #[cfg(feature = "journal")]
    fn wire(&self) -> Option<&dyn Wire<(Ref<Command>,), CommandOutput>> {
        Some(self)
    }
}

/// A command for each combination of parameters, made when it is to run.
pub(crate) struct Swept {
    pub(crate) template: Command,
    pub(crate) sweep: Sweep,
}

impl Body<(Ref<usize>,), AsItStands> for Swept {
    type Output = CommandOutput;
    const COMMAND: bool = true;

    fn start(&self, call: &Call<'_>, (&element,): (&usize,)) -> Flow<CommandOutput> {
        call.launch(&self.sweep.command(&self.template, element))
            .into()
    }

    #[cfg(feature = "data")]
    fn command(&self) -> Option<(&Command, Option<&Sweep>)> {
        Some((&self.template, Some(&self.sweep)))
    }

    #[cfg(feature = "journal")]
    fn identity(&self) -> Identity {
        Identity::Command(CommandParts::of_sweep(&self.template, &self.sweep))
    }

    #[cfg(feature = "journal")]
    fn wire(&self) -> Option<&dyn Wire<(Ref<usize>,), CommandOutput>> {
        Some(self)
    }
}

/// A body that is a command as it stands, and what its elements are known by.
#[cfg(feature = "journal")]
trait CommandAsItStands<A: Args> {
    fn encode_argument(&self, args: A::Refs<'_>, to: &mut Vec<u8>) -> Result<(), CodecError>;
}

#[cfg(feature = "journal")]
impl CommandAsItStands<()> for Command {
    fn encode_argument(&self, (): (), _: &mut Vec<u8>) -> Result<(), CodecError> {
        Ok(())
    }
}

/// An item is known by its parts.
#[cfg(feature = "journal")]
impl CommandAsItStands<(Ref<Command>,)> for EachItself {
    fn encode_argument(&self, (command,): (&Command,), to: &mut Vec<u8>) -> Result<(), CodecError> {
        encode(&CommandParts::of(command), to)
    }
}

/// An element is known by its index, since all parameters are known with the array.
#[cfg(feature = "journal")]
impl CommandAsItStands<(Ref<usize>,)> for Swept {
    fn encode_argument(&self, (element,): (&usize,), to: &mut Vec<u8>) -> Result<(), CodecError> {
        encode(element, to)
    }
}

#[cfg(feature = "journal")]
impl<A: Args, C: CommandAsItStands<A>> Wire<A, CommandOutput> for C {
    fn encode_argument(&self, args: A::Refs<'_>, to: &mut Vec<u8>) -> Result<(), CodecError> {
        CommandAsItStands::encode_argument(self, args, to)
    }

    fn encode_output(&self, output: &CommandOutput, to: &mut Vec<u8>) -> Result<(), CodecError> {
        encode(&SavedOutput::of(output), to)
    }

    fn decode_output(&self, bytes: &[u8]) -> Result<CommandOutput, CodecError> {
        decode(bytes).map(SavedOutput::into_output)
    }
}

macro_rules! commands {
    ($($name:ident $arg:ident),*) => {
        impl<Func, $($name: ?Sized + 'static),*> Body<($(Ref<$name>,)*), Plain> for Commanded<Func>
        where
            Func: Fn($(&$name),*) -> Command + Send + Sync + 'static,
        {
            type Output = CommandOutput;
            const COMMAND: bool = true;

            fn start(&self, call: &Call<'_>, ($($arg,)*): ($(&$name,)*)) -> Flow<CommandOutput> {
                call.launch(&(self.0)($($arg),*)).into()
            }
        }

        impl<Func, $($name: ?Sized + 'static),*> Body<($(Ref<$name>,)*), WithContext> for Commanded<Func>
        where
            Func: Fn(&Context, $(&$name),*) -> Command + Send + Sync + 'static,
        {
            type Output = CommandOutput;
            const COMMAND: bool = true;

            fn start(&self, call: &Call<'_>, ($($arg,)*): ($(&$name,)*)) -> Flow<CommandOutput> {
                call.launch(&(self.0)(&call.context(), $($arg),*)).into()
            }
        }
    };
}

commands!();
commands!(A a);
commands!(A a, B b);
commands!(A a, B b, C c);
commands!(A a, B b, C c, D d);
commands!(A a, B b, C c, D d, E e);
commands!(A a, B b, C c, D d, E e, F f);
commands!(A a, B b, C c, D d, E e, F f, G g);
