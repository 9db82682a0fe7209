//! Azure Batch's quick start, line by line: a pool, a job, ten tasks that run a command line, and their results.
//!
//! There, with the command-line tool:
//!
//! ```sh
//! az batch pool create --id my_pool --target-dedicated-nodes 2 …
//! az batch job create --id my_job --pool-id my_pool
//! for i in {1..10}; do
//!     az batch task create --job-id my_job --task-id my_task$i --command-line "/bin/bash -c 'printenv | grep AZ_BATCH; sleep 90s'"
//! done
//! az batch task file download --job-id my_job --task-id my_task1 --file-path stdout.txt …
//! ```

use batchyard::{Job, Pool, Task, ThreadExecutor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A pool of two nodes is two slots of this machine. There is nothing to wait for until it is ready.
    let my_pool = Pool::new(ThreadExecutor::new(2)?);

    // A job, and ten tasks in it. They are started when it is submitted.
    let mut my_job = Job::new("my_job");
    let tasks: Vec<_> = (1..=10)
        .map(|i| {
            my_job.add(Task::shell(
                format!("my_task{i}"),
                "printenv | grep AZ_BATCH; sleep 0.1",
            ))
        })
        .collect();
    let run = my_pool.submit(my_job)?;

    // Their states, as `az batch task show` has them.
    println!("my_task1 is {}", run.state(tasks[0])?);

    // Their results, as soon as each is there.
    for task in &tasks {
        let output = run.output(task).wait()?;
        let text = output.stdout().text()?;
        let id = text
            .lines()
            .find(|line| line.starts_with("AZ_BATCH_TASK_ID="));
        println!(
            "{}, {} bytes, {:?}",
            id.unwrap_or("?"),
            output.stdout().len(),
            output.usage().wall
        );
    }
    let counts = run.wait()?;
    println!("{} tasks succeeded", counts.succeeded);

    // Dropping the pool deletes it.
    Ok(())
}
