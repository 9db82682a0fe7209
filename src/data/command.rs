//! The forms of commands, and of how they run.

use super::duration::Written;
use super::problem::Problem;
use super::short::{Short, Shorten};
use crate::model::{
    Command, CommandSettings, Container, Content, FileSource, OutputFiles, PickUp, ResourceFile,
    Retention, Stdin, Stragglers, Variable, leaves,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// A program to run, with its arguments and files; or a script for /bin/sh.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Command", extend("oneOf" = [{ "required": ["program"] }, { "required": ["shell"] }]))]
pub(super) struct CommandForm {
    /// A name that is looked for in the command's PATH, or a path. This or `shell` is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    /// A script for /bin/sh. Arguments are its $1, $2 and so on.
    #[serde(skip_serializing_if = "Option::is_none")]
    shell: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    /// What the program reads from its standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    stdin: Option<String>,
    /// A file that the program reads from its standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    stdin_file: Option<String>,
    /// Files that are put into the working directory before the program starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileForm>,
    /// Files that are picked up from the working directory when the command has ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    output_files: Vec<Short<OutputForm>>,
}

/// A file for the working directory.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "File", extend("oneOf" = [{ "required": ["path"] }, { "required": ["text"] }]))]
struct FileForm {
    /// Its name in the working directory; it must not lead out.
    name: String,
    /// A file of this machine that is copied. This or `text` is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// What is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The command may run it as a program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    executable: bool,
}

/// Files that are picked up.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OutputFiles")]
struct OutputForm {
    /// A glob pattern, in which `*` and `?` stop at `/` and `**` does not.
    pattern: String,
    #[serde(default)]
    when: PickUp,
    /// The directory that they are copied to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

/// How a command runs. What is not set is taken from the job's.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "CommandSettings")]
pub(super) struct CommandSettingsForm {
    /// Environment variables.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    /// Environment variables whose values nobody may read: only their names stand here. Values are those that the
    /// environment of the process has when it reads this.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    secret_env: BTreeSet<String>,
    /// Whether the command sees the whole environment of the application. It can be switched on, not off again. Default: no.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    inherit_env: bool,
    /// When the working directory of an attempt is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    retention: Option<Retention>,
    /// How many bytes are kept of the standard output, and as many of the standard error. Default: 64 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_limit: Option<u64>,
    /// How long processes may take to end after SIGTERM. Default 5s.
    #[serde(skip_serializing_if = "Option::is_none")]
    kill_grace: Option<Written>,
    /// What becomes of processes that the program leaves behind. Default: they are ended after a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    stragglers: Option<StragglersForm>,
    /// How many bytes of memory the command's processes may have resident. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_limit: Option<u64>,
    /// How much CPU time each of its processes may use. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_time_limit: Option<Written>,
    /// How many files each of its processes may have open. Default: as many as the application.
    #[serde(skip_serializing_if = "Option::is_none")]
    open_files_limit: Option<u64>,
    /// How willing it is to leave the CPU to others, up to 19. Default: the application's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    niceness: Option<i32>,
    /// The container that it runs in. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<ContainerForm>,
}

/// A container.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Container")]
struct ContainerForm {
    /// A name as podman and docker take it.
    image: String,
    /// The network that it has, such as `none` or `host`. Default: the engine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<String>,
    /// How many CPUs' time it may use. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpus: Option<f64>,
    /// Options for the engine's `run`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    options: Vec<String>,
}

/// What becomes of processes that a command leaves behind.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Stragglers")]
enum StragglersForm {
    /// They may end by themselves within this time; then they are ended.
    Kill(Written),
    /// The task ends with the last of them.
    Await,
}

impl Shorten for CommandForm {
    const EXPECTED: &'static str =
        "a command: a list of the program and its arguments, or a table with `program` or `shell`";
    type Written = Vec<String>;

    fn of_list(texts: Vec<String>) -> Option<Self> {
        let mut texts = texts.into_iter();
        Some(CommandForm {
            program: Some(texts.next()?),
            args: texts.collect(),
            ..CommandForm::default()
        })
    }
}

impl Shorten for OutputForm {
    const EXPECTED: &'static str = "a pattern in quotes, or a table with a `pattern`";
    type Written = String;

    fn of_text(text: &str) -> Option<Self> {
        let pattern = text.to_owned();
        let (when, to) = (PickUp::default(), None);
        Some(OutputForm { pattern, when, to })
    }
}

/// Reading.
impl CommandForm {
    pub(super) fn into_command(self) -> Result<Command, Problem> {
        let command = match (self.program, self.shell) {
            (Some(program), None) => Command::new(program),
            (None, Some(script)) => Command::shell(script),
            (Some(_), Some(_)) => {
                return Err(Problem::new("has a `program` and a `shell`; remove one"));
            }
            (None, None) => {
                return Err(Problem::new(
                    "runs nothing; give it a `program` or a `shell`",
                ));
            }
        };
        if command.program.is_empty() {
            let problem = Problem::new("its name is empty; name a program, or give its path");
            return Err(problem.inside("program"));
        }
        let stdin = match (self.stdin, self.stdin_file) {
            (None, None) => Stdin::Empty,
            (Some(text), None) => Stdin::Bytes(text.into_bytes().into()),
            (None, Some(file)) => Stdin::File(file.into()),
            _ => return Err(Problem::new("has a `stdin` and a `stdin_file`; remove one")),
        };
        let files = self.files.into_iter().enumerate().map(|(at, file)| {
            file.into_file()
                .map_err(|problem| problem.in_item(at).inside("files"))
        });
        let outputs = self.output_files.into_iter();
        Ok(Command {
            stdin,
            files: files.collect::<Result<_, _>>()?,
            outputs: outputs.map(|output| output.0.into()).collect(),
            ..command.args(self.args)
        })
    }
}

impl FileForm {
    fn into_file(self) -> Result<ResourceFile, Problem> {
        if leaves(Path::new(&self.name)) {
            let problem =
                "is no name inside the working directory; leave out `/` at its start, and `..`";
            return Err(Problem::new(problem).inside("name"));
        }
        let content = match (self.path, self.text) {
            (Some(path), None) => Content::Path(path.into()),
            (None, Some(text)) => Content::Bytes(text.into_bytes().into()),
            (Some(_), Some(_)) => {
                return Err(Problem::new("has a `path` and a `text`; remove one"));
            }
            (None, None) => {
                return Err(Problem::new("has no content; give it a `path` or a `text`"));
            }
        };
        let executable = self.executable;
        Ok(ResourceFile {
            name: self.name.into(),
            source: FileSource {
                content,
                executable,
            },
        })
    }
}

impl From<OutputForm> for OutputFiles {
    fn from(form: OutputForm) -> Self {
        OutputFiles {
            pattern: form.pattern,
            when: form.when,
            to: form.to.map(Into::into),
        }
    }
}

impl From<ContainerForm> for Container {
    fn from(form: ContainerForm) -> Self {
        Container {
            image: form.image,
            network: form.network,
            cpus: form.cpus,
            options: form.options,
        }
    }
}

impl From<Container> for ContainerForm {
    fn from(container: Container) -> Self {
        ContainerForm {
            image: container.image,
            network: container.network,
            cpus: container.cpus,
            options: container.options,
        }
    }
}

impl CommandSettingsForm {
    pub(super) fn is_default(&self) -> bool {
        *self == CommandSettingsForm::default()
    }

    pub(super) fn into_settings(self) -> Result<CommandSettings, Problem> {
        let open = self
            .env
            .into_iter()
            .map(|(name, value)| variable(name, value.into(), false));
        let secret = self.secret_env.into_iter().map(secret_variable);
        let secret = secret.collect::<Result<Vec<_>, _>>();
        Ok(CommandSettings {
            env: open
                .chain(secret.map_err(|problem| problem.inside("secret_env"))?)
                .collect(),
            inherit_env: self.inherit_env.then_some(true),
            retention: self.retention,
            output_limit: self.output_limit,
            kill_grace: self.kill_grace.map(Into::into),
            stragglers: self.stragglers.map(Into::into),
            memory_limit: self.memory_limit,
            cpu_time_limit: self.cpu_time_limit.map(Into::into),
            open_files_limit: self.open_files_limit,
            niceness: self.niceness,
            container: self.container.map(Into::into),
        })
    }
}

fn variable(name: String, value: OsString, secret: bool) -> Variable {
    let name = name.into();
    Variable {
        name,
        value,
        secret,
    }
}

/// Names that the system would not take count as unset.
fn secret_variable(name: String) -> Result<Variable, Problem> {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    match is_name.then(|| std::env::var_os(&name)).flatten() {
        Some(value) => Ok(variable(name, value, true)),
        None => Err(Problem::new(format!(
            "`{name}` is not in the environment of this process; set it before the document is read"
        ))),
    }
}

impl From<StragglersForm> for Stragglers {
    fn from(form: StragglersForm) -> Self {
        match form {
            StragglersForm::Kill(after) => Stragglers::Kill(after.into()),
            StragglersForm::Await => Stragglers::Await,
        }
    }
}

/// Writing.
impl CommandForm {
    pub(super) fn of(command: &Command) -> Result<Self, Problem> {
        let args = command.args.iter().map(|arg| text(arg));
        let mut args: Vec<_> = args
            .collect::<Result<_, _>>()
            .map_err(|problem| problem.inside("args"))?;
        let mut program =
            Some(text(&command.program).map_err(|problem| problem.inside("program"))?);
        let shell = is_shell(command).then(|| {
            program = None;
            args.drain(..3).nth(1)
        });
        let (stdin, stdin_file) = stdin(&command.stdin)?;
        let files = command.files.iter().map(FileForm::of);
        let outputs = command.outputs.iter().map(OutputForm::of);
        Ok(CommandForm {
            program,
            shell: shell.flatten(),
            args,
            stdin,
            stdin_file,
            files: files
                .collect::<Result<_, _>>()
                .map_err(|problem| problem.inside("files"))?,
            output_files: outputs
                .collect::<Result<_, _>>()
                .map_err(|problem| problem.inside("output_files"))?,
        })
    }
}

/// Whether it is what [`Command::shell`] makes.
fn is_shell(command: &Command) -> bool {
    let is = |at: usize, text: &str| command.args.get(at).is_some_and(|arg| arg == text);
    command.program == "/bin/sh" && is(0, "-c") && is(2, "/bin/sh")
}

fn stdin(stdin: &Stdin) -> Result<(Option<String>, Option<String>), Problem> {
    match stdin {
        Stdin::Empty => Ok((None, None)),
        Stdin::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok((Some(text.to_owned()), None)),
            Err(_) => Err(no_text("it").inside("stdin")),
        },
        Stdin::File(path) => match path.to_str() {
            Some(path) => Ok((None, Some(path.to_owned()))),
            None => Err(no_text("it").inside("stdin_file")),
        },
    }
}

impl FileForm {
    fn of(file: &ResourceFile) -> Result<Self, Problem> {
        let (path, text) = match &file.source.content {
            Content::Path(path) => (Some(text(path.as_os_str())?), None),
            Content::Bytes(bytes) => {
                let text = std::str::from_utf8(bytes).map_err(|_| no_text("a file's content"))?;
                (None, Some(text.to_owned()))
            }
        };
        Ok(FileForm {
            name: self::text(file.name.as_os_str())?,
            path,
            text,
            executable: file.source.executable,
        })
    }
}

impl OutputForm {
    fn of(files: &OutputFiles) -> Result<Short<Self>, Problem> {
        let to = files.to.as_ref().map(|to| text(to.as_os_str()));
        Ok(Short(OutputForm {
            pattern: files.pattern.clone(),
            when: files.when,
            to: to.transpose()?,
        }))
    }
}

impl CommandSettingsForm {
    pub(super) fn of(settings: &CommandSettings) -> Result<Self, Problem> {
        let mut form = CommandSettingsForm {
            inherit_env: settings.inherit_env == Some(true),
            retention: settings.retention,
            output_limit: settings.output_limit,
            kill_grace: Written::of(settings.kill_grace)
                .map_err(|problem| problem.inside("kill_grace"))?,
            stragglers: settings.stragglers.map(StragglersForm::of).transpose()?,
            memory_limit: settings.memory_limit,
            cpu_time_limit: Written::of(settings.cpu_time_limit)
                .map_err(|problem| problem.inside("cpu_time_limit"))?,
            open_files_limit: settings.open_files_limit,
            niceness: settings.niceness,
            container: settings.container.clone().map(Into::into),
            ..CommandSettingsForm::default()
        };
        for variable in &settings.env {
            form.add(variable)
                .map_err(|problem| problem.inside("env"))?;
        }
        Ok(form)
    }

    /// What was set later counts.
    fn add(&mut self, variable: &Variable) -> Result<(), Problem> {
        let name = text(&variable.name)?;
        self.env.remove(&name);
        self.secret_env.remove(&name);
        match variable.secret {
            true => drop(self.secret_env.insert(name)),
            false => drop(self.env.insert(name, text(&variable.value)?)),
        }
        Ok(())
    }
}

impl StragglersForm {
    fn of(stragglers: Stragglers) -> Result<Self, Problem> {
        match stragglers {
            Stragglers::Kill(after) => Ok(StragglersForm::Kill(Written::new(after)?)),
            Stragglers::Await => Ok(StragglersForm::Await),
        }
        .map_err(|problem: Problem| problem.inside("stragglers"))
    }
}

fn text(text: &OsStr) -> Result<String, Problem> {
    let text = text.to_str().ok_or_else(|| no_text(&format!("{text:?}")));
    text.map(str::to_owned)
}

fn no_text(what: &str) -> Problem {
    Problem::new(format!(
        "{what} is not UTF-8; put it into a file, and give its path"
    ))
}
