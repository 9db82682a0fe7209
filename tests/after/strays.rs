//! Bodies that go on although their attempt is over.

use crate::watchdog::within_30s;
use batchyard::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::time::Duration;

static FREED: AtomicBool = AtomicBool::new(false);

struct Input;

impl Drop for Input {
    fn drop(&mut self) {
        FREED.store(true, SeqCst);
    }
}

#[test]
fn a_body_past_its_limit_keeps_its_inputs_until_it_returns() {
    within_30s(|| {
        let (go_on, goes_on) = channel::<()>();
        let goes_on = Mutex::new(goes_on);
        let (tell, told) = channel();
        let tell = Mutex::new(tell);
        let mut job = Job::new("stray");
        let input = job.task("input", (), || Input);
        let settings = TaskSettings::new()
            .time_limit(Duration::from_millis(20))
            .max_retries(MaxRetries::Unlimited)
            .backoff(Backoff::none());
        let read = Task::new("read", &input, move |cx: &Context, _: &Input| {
            if cx.attempt() == 1 {
                let _ = goes_on.lock().unwrap().recv();
                tell.lock().unwrap().send(FREED.load(SeqCst)).unwrap();
            }
        });
        let read = job.add(read.settings(settings));
        let pool = Pool::new(ThreadExecutor::new(2).expect("threads"));
        let run = pool.submit(job).expect("submitted");
        run.output(&read).wait().expect("the second attempt");
        drop(go_on);
        assert!(
            !told.recv().unwrap(),
            "freed while the first attempt reads it"
        );
        pool.close(Close::Drain, Duration::from_secs(20));
        let freed = run.output(&input).wait().map(drop);
        assert_eq!(
            freed.expect_err("no one reads it").kind(),
            ErrorKind::OutputFreed
        );
        assert!(FREED.load(SeqCst));
    });
}
