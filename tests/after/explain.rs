//! What holds a run back, in words.

use crate::watchdog::within_30s;
use batchyard::*;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn what_holds_the_run_back_most_is_told_first() {
    within_30s(|| {
        let (started, starts) = channel();
        let (go_on, goes_on) = channel::<()>();
        let (started, goes_on) = (Mutex::new(started), Mutex::new(goes_on));
        let mut job = Job::new("held");
        job.defaults(TaskSettings::new().priority(1));
        let load = job.add(
            Task::new("load", (), move || {
                started.lock().unwrap().send(()).unwrap();
                let _ = goes_on.lock().unwrap().recv();
            })
            .priority(9),
        );
        job.array_with("parse", 400, &load, |i: &usize, _: &()| *i);
        let ready = job.array("score", 80, |i: &usize| *i);
        let sum = job.reduce("sum", &ready, |all: &[usize]| all.len());
        job.task("report", (&load, &sum), |_: &(), n: &usize| *n);
        let later = TaskSettings::new().start_after(Duration::from_secs(3_600));
        let tomorrow = job.add(Task::new("tomorrow", (), || ()).settings(later));
        let pool = Pool::new(ThreadExecutor::new(1).expect("threads"));
        let run = pool.submit(job).expect("submitted");
        starts.recv().expect("begun");

        let words = run.explain_all().to_string();
        let lines: Vec<_> = words.lines().collect();
        assert!(
            lines[0].starts_with("401 tasks wait for `load` and another; `load` is running"),
            "{words}"
        );
        assert!(
            lines[1].starts_with("80 tasks are ready, the first `score[0]`; asks for 1 slot"),
            "{words}"
        );
        assert!(lines[2].contains("in use"), "{words}");
        assert!(
            words.contains("\n1 task waits for `score`; `score` waits for its elements"),
            "{words}"
        );
        assert!(
            words.contains("\n1 task may not start yet, the first in 3"),
            "{words}"
        );
        assert!(
            lines
                .last()
                .unwrap()
                .starts_with("1 task is running; `load` for "),
            "{words}"
        );
        run.cancel_task(tomorrow).expect("known");
        drop(go_on);
        let _ = run.wait();
        assert!(
            run.explain_all()
                .to_string()
                .starts_with("has ended; 1 task without success")
        );
    });
}

#[test]
fn a_limit_that_is_reached_is_told() {
    within_30s(|| {
        let (started, starts) = channel();
        let (go_on, goes_on) = channel::<()>();
        let (started, goes_on) = (Mutex::new(started), Mutex::new(goes_on));
        let mut job = Job::new("limited");
        job.max_parallel_tasks(1);
        job.array("all", 10, move |_: &usize| {
            started.lock().unwrap().send(()).unwrap();
            let _ = goes_on.lock().unwrap().recv();
        });
        let pool = Pool::new(ThreadExecutor::new(2).expect("threads"));
        let run = pool.submit(job).expect("submitted");
        starts.recv().expect("begun");
        let words = run.explain_all().to_string();
        assert!(words.contains("9 tasks are ready"), "{words}");
        assert!(
            words.contains("its job runs 1 task at once, and does"),
            "{words}"
        );
        drop(go_on);
        run.wait().expect("all");
    });
}
