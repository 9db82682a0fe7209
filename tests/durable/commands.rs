//! Commands: what they wrote, and the files that they left, are there when the run goes on.

use crate::yard::Yard;
use batchyard::{Command, Handle, Job, Task};
use std::path::Path;

fn job(script: &str, input: &Path) -> (Job, Handle<batchyard::CommandOutput>) {
    let mut job = Job::new("commands");
    let make = Command::shell(script)
        .file("input", input)
        .env("WORD", "said")
        .output_files("*.txt");
    let make = job.add(Task::command("make", make));
    job.add(Task::shell("after", "true").after(make));
    job.commands("each", ["1", "2"].map(|n| Command::shell("echo $1").arg(n)));
    (job, make)
}

#[test]
fn a_command_that_has_ended_is_not_run_again_unless_it_or_its_files_have_changed() {
    let yard = Yard::new();
    let count = yard.path().with_extension("count");
    let input = yard.path().with_extension("input");
    std::fs::write(&input, "one").unwrap();
    let script = format!(
        "echo x >> {}; echo $WORD; cat input > left.txt",
        count.display()
    );
    let calls = || std::fs::read_to_string(&count).unwrap().lines().count();
    let check = |script: &str, left: &str, reused: u64| {
        let (job, make) = job(script, &input);
        let (_pool, run) = yard.submit(job);
        let output = run.output(&make).wait().unwrap();
        assert_eq!(output.stdout().text().unwrap(), "said\n");
        let file = output.file("left.txt").unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), left);
        assert_eq!(run.wait().unwrap().succeeded, 4);
        assert_eq!(run.reuse().unwrap().reused, reused);
        run.reuse()
            .unwrap()
            .rerun
            .first()
            .map(|rerun| rerun.why.clone())
    };
    check(&script, "one", 0);
    check(&script, "one", 4);
    assert_eq!(calls(), 1);
    std::fs::write(&input, "two").unwrap();
    assert_eq!(check(&script, "two", 2).as_deref(), Some("changed: files"));
    assert_eq!(calls(), 2);
    let other = format!("{script} # other");
    assert_eq!(
        check(&other, "two", 2).as_deref(),
        Some("changed: arguments")
    );
    assert_eq!(calls(), 3);
    // Its files are part of its output.
    std::fs::remove_dir_all(yard.path().with_extension("journal.files")).unwrap();
    assert_eq!(
        check(&other, "two", 0)
            .as_deref()
            .map(|why| why.contains("gone")),
        Some(true)
    );
    assert_eq!(calls(), 4);
}
