//! Commands that are added to a run.

use crate::watchdog::within_30s;
use batchyard::{
    Command, CommandOutput, Context, DependencyAction, ExitConditions, Job, Pool, Task, TaskState,
    ThreadExecutor,
};

#[test]
fn commands_are_added_behind_a_command_from_inside_and_from_outside() {
    within_30s(|| {
        let directory = tempfile::tempdir().unwrap();
        let executor = ThreadExecutor::new(2).unwrap();
        let pool = Pool::new(executor.work_directory(directory.path()));
        let mut job = Job::open("commands");
        let list = Command::shell("printf 'one\\ntwo\\n'");
        let list = job.add(Task::command("list", list));
        let grown = job.task("grow", &list, |cx: &Context, list: &CommandOutput| {
            let text = list.stdout().text().expect("text").to_owned();
            let tasks: Vec<_> = text
                .lines()
                .map(|name| {
                    let greet = Command::new("printf").args(["hello %s", name]);
                    cx.add(|more| more.add(Task::command(name, greet)))
                        .expect("nobody has sealed the run")
                })
                .collect();
            tasks
        });
        let run = pool.submit(job).unwrap();
        let tasks = run.output(&grown).wait().unwrap();
        let hello = run.output(&tasks[1]).wait().unwrap();
        assert_eq!(hello.stdout().text().unwrap(), "hello two");

        let fails = Command::shell("exit 3");
        let satisfy = ExitConditions::new().code(3, DependencyAction::Satisfy);
        let fails = Task::command("fails", fails).exit_conditions(satisfy);
        let fails = run.add(|more| more.add(fails.after(tasks[0]))).unwrap();
        run.output(&fails).wait().unwrap_err();
        let next = Task::command("next", Command::new("true")).after(fails);
        let next = run.add(|more| more.add(next)).unwrap();
        run.output(&next).wait().unwrap();
        run.seal();
        run.wait().unwrap_err();
        assert_eq!(run.state(next).unwrap(), TaskState::Succeeded);
        assert_eq!(run.counts().total, 6);
    });
}
