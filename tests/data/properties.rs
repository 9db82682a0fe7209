//! What holds for every job, and for every text.

use batchyard::{
    Backoff, Command, DependencyAction, ExitConditions, Job, JobAction, MaxRetries, OutputFiles,
    PickUp, Resources, Sweep, Task, TaskSettings,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::time::Duration;

fn duration() -> impl Strategy<Value = Duration> {
    (0..100_000_000u64, 0..1_000_000_000u32)
        .prop_map(|(seconds, nanos)| Duration::new(seconds, nanos))
}

fn retries() -> impl Strategy<Value = MaxRetries> {
    prop_oneof![
        any::<u32>().prop_map(MaxRetries::Times),
        Just(MaxRetries::Unlimited)
    ]
}

fn backoff() -> impl Strategy<Value = Backoff> {
    (duration(), duration(), 1.0..9.0f64, 0.0..1.0f64).prop_map(|(initial, max, factor, jitter)| {
        Backoff::exponential(initial, max)
            .factor(factor)
            .jitter(jitter)
    })
}

fn resources() -> impl Strategy<Value = Resources> {
    (1..9u32, 0..100_000u32, any::<u32>(), 0..4u32, 1..4u32).prop_map(
        |(slots, cpus, memory, gpus, instances)| {
            let cpus = f64::from(cpus) / 10_000.0;
            let some = Resources::slots(slots)
                .cpus(cpus)
                .memory(u64::from(memory))
                .gpus(gpus);
            some.custom("licence", cpus).instances(instances)
        },
    )
}

fn conditions() -> impl Strategy<Value = ExitConditions> {
    (
        vec(any::<i32>(), 0..3),
        vec((any::<i32>(), 0..100i32), 0..3),
    )
        .prop_map(|(codes, ranges)| {
            let none = ExitConditions::new().otherwise(JobAction::None);
            let codes = codes
                .into_iter()
                .fold(none, |all, code| all.code(code, DependencyAction::Satisfy));
            ranges.into_iter().fold(codes, |all, (start, len)| {
                all.range(start..=start.saturating_add(len), JobAction::Terminate)
            })
        })
}

prop_compose! {
    fn settings()(
        retries in option::of(retries()),
        backoff in option::of(backoff()),
        times in vec(option::of(duration()), 5),
        priority in option::of(any::<i32>()),
        resources in option::of(resources()),
        parallel in option::of(1..9u32),
        recoveries in option::of(any::<u32>()),
        conditions in option::of(conditions()),
    ) -> TaskSettings {
        let mut settings = TaskSettings::new();
        if let Some(retries) = retries { settings = settings.max_retries(retries) }
        if let Some(backoff) = backoff { settings = settings.backoff(backoff) }
        if let Some(time) = times[0] { settings = settings.time_limit(time) }
        if let Some(time) = times[1] { settings = settings.total_time_limit(time) }
        if let Some(time) = times[2] { settings = settings.start_after(time) }
        if let Some(time) = times[3] { settings = settings.deadline(time) }
        if let Some(time) = times[4] { settings = settings.stalled_after(time) }
        if let Some(priority) = priority { settings = settings.priority(priority) }
        if let Some(resources) = resources { settings = settings.resources(resources) }
        if let Some(parallel) = parallel { settings = settings.max_parallel(parallel) }
        if let Some(recoveries) = recoveries { settings = settings.max_recoveries(recoveries) }
        if let Some(conditions) = conditions { settings = settings.exit_conditions(conditions) }
        settings
    }
}

prop_compose! {
    fn a_command()(
        program in "[^\0]{1,12}",
        args in vec(any::<String>(), 0..4),
        script in any::<bool>(),
        env in vec(("[A-Z]{1,3}", any::<String>(), any::<bool>()), 0..3),
        files in vec(("[a-z]{1,3}/[a-z]{1,3}", any::<String>()), 0..3),
        outputs in vec(any::<String>(), 0..3),
        stdin in option::of(any::<String>()),
    ) -> Command {
        let start = if script { Command::shell(program) } else { Command::new(program) };
        let mut command = start.args(args);
        for (name, value, secret) in env {
            // Only this secret is sure to be there when it is read: cargo sets it.
            command = if secret { command.secret_env("CARGO_PKG_NAME", value) } else { command.env(name, value) };
        }
        for (name, text) in files { command = command.file(name, batchyard::FileSource::bytes(text)) }
        for pattern in outputs { command = command.output_files(OutputFiles::new(pattern).when(PickUp::Always)) }
        match stdin { Some(text) => command.stdin(text), None => command }
    }
}

prop_compose! {
    /// Tasks after some of those before them.
    fn jobs()(
        name in any::<String>(),
        priority in any::<i32>(),
        tasks in vec((a_command(), settings(), option::of(-5..5i64), vec((any::<prop::sample::Index>(), any::<bool>()), 0..3)), 0..6),
    ) -> Job {
        let mut job = Job::new(name);
        job.priority(priority);
        let mut before: Vec<batchyard::TaskRef> = Vec::new();
        for (at, (command, settings, sweep, after)) in tasks.into_iter().enumerate() {
            // A placeholder by chance would be a defect of the sweep.
            let simple = Command::new("x").arg("{0}");
            let task = match sweep {
                Some(end) => job.sweep(format!("{at}"), simple, Sweep::new().range_by(-5, end, 3)).into(),
                None => job.add(Task::command(format!("{at}"), command)).into(),
            };
            job.configure(task, settings);
            for (index, any_outcome) in after.into_iter().filter(|_| !before.is_empty()) {
                match any_outcome {
                    true => job.order_any_outcome(*index.get(&before), task),
                    false => job.order(*index.get(&before), task),
                }
            }
            before.push(task);
        }
        job
    }
}

/// A document with a bit of everything, to be damaged.
const TOML: &str = r#"
version = 1
name = "damaged"
failure_policy = { max_failures = 3 }
defaults = { max_retries = "unlimited", backoff = { initial = "1s" } }
[[tasks]]
name = "fetch"
sweep = [{ start = 1, end = 9 }, ["a", "b"]]
command = { program = "x", args = ["{0:3}"], files = [{ name = "f", text = "t" }], output_files = ["*"] }
settings = { time_limit = "PT30S", exit_conditions = { codes = [{ code = 3 }] } }
[[tasks]]
depends_on = ["fetch"]
command = ["sort"]
"#;

/// Reads a text as anything it could be. What is read can be written, and that read again.
fn read(text: &str) {
    for job in [Job::from_json(text), Job::from_toml(text)]
        .into_iter()
        .flatten()
    {
        let written = job.to_json().unwrap();
        assert_eq!(
            Job::from_json(&written).unwrap().to_json().unwrap(),
            written
        );
    }
    for settings in [TaskSettings::from_json(text), TaskSettings::from_toml(text)]
        .into_iter()
        .flatten()
    {
        assert_eq!(
            TaskSettings::from_json(&settings.to_json().unwrap()).unwrap(),
            settings
        );
    }
}

proptest! {
    #[test]
    fn settings_are_read_back_as_they_were(settings in settings()) {
        let written = settings.to_json().unwrap();
        prop_assert_eq!(TaskSettings::from_json(&written).unwrap(), settings, "{}", written);
    }

    #[test]
    fn jobs_are_read_back_as_they_were(job in jobs()) {
        let written = job.to_json().unwrap();
        let back = Job::from_json(&written).unwrap();
        prop_assert_eq!(back.to_json().unwrap(), written);
        prop_assert_eq!((back.name(), back.len()), (job.name(), job.len()));
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        read(&text);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_damaged_document_is_read_or_refused(
        damages in vec((any::<prop::sample::Index>(), 0..12usize, "[\\[\\]{}=\",.:0-9a-z\n -]{0,6}"), 1..6),
        as_json in any::<bool>(),
    ) {
        let mut text = match as_json {
            true => Job::from_toml(TOML).unwrap().to_json().unwrap(),
            false => TOML.to_owned(),
        };
        for (at, len, with) in damages {
            let at = at.index(text.len());
            let end = (at + len).min(text.len());
            text.replace_range(at..end, &with);
        }
        read(&text);
    }
}
