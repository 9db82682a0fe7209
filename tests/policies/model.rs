//! All policies together against a model that can be read: where nothing competes for room, every task's end, its attempts
//! and the time of each follow from the job alone. Whatever the seed of the pool, they are as the model says.
//!
//! `PROPTEST_CASES` says how many jobs are tried.

use batchyard::executor::NodeSpec;
use batchyard::testing::{Event, TestPool};
use batchyard::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;
use std::time::Duration;

type Time = Duration;

#[derive(Clone, Debug)]
struct Plan {
    nodes: Vec<Node>,
    policy: FailurePolicy,
    limit: Option<Time>,
}

#[derive(Clone, Debug)]
struct Node {
    /// `None` for a single task.
    len: Option<usize>,
    /// Nodes that must have succeeded as a whole.
    after: Vec<usize>,
    /// The array whose element of the same index must have succeeded.
    each: Option<usize>,
    retries: u32,
    backoff: Time,
    time_limit: Option<Time>,
    total_time_limit: Option<Time>,
    start_after: Time,
    deadline: Option<Time>,
    /// What the attempts do, by turns: elements begin at different ones.
    fates: Vec<(Fate, Time)>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Fate {
    Succeeds,
    Fails,
    Panics,
}

impl Node {
    fn tasks(&self) -> usize {
        self.len.unwrap_or(1)
    }

    /// What an attempt does, and how long it takes: no two take as long, so that nothing happens at the same time.
    fn fate(&self, index: usize, attempt: u32) -> (Fate, Time) {
        let turn = index * 3 + attempt as usize;
        let (fate, takes) = self.fates[turn % self.fates.len()];
        (fate, takes + Time::from_nanos(turn as u64 * 7 + 1))
    }
}

/// How a task ends, when, and when its attempts began.
#[derive(Clone, PartialEq, Debug)]
struct End {
    state: TaskState,
    at: Time,
    begun: Vec<Time>,
}

// ---------------------------------------------------------------------------------------------------- the model

fn model(plan: &Plan) -> Vec<Vec<End>> {
    let mut ends: Vec<Vec<End>> = Vec::new();
    for node in &plan.nodes {
        let tasks = (0..node.tasks()).map(|index| end_of(node, index, &ends));
        let tasks = tasks.collect();
        ends.push(tasks);
    }
    if let Some(limit) = plan.limit {
        cut(&mut ends, limit);
    }
    if let Some(last) = last_borne(plan, &ends) {
        cut(&mut ends, last);
    }
    ends
}

/// How a task ends if the run goes on.
fn end_of(node: &Node, index: usize, ends: &[Vec<End>]) -> End {
    let whole = node.after.iter().flat_map(|&before| &ends[before]);
    let before = whole.chain(node.each.map(|each| &ends[each][index]));
    let before: Vec<_> = before.collect();
    let lost = before
        .iter()
        .filter(|end| end.state != TaskState::Succeeded);
    let mut end = match lost.map(|end| end.at).min() {
        Some(at) => End {
            state: TaskState::Skipped,
            at,
            begun: Vec::new(),
        },
        None => {
            let ready = before.iter().map(|end| end.at).max().unwrap_or_default();
            run(node, index, ready.max(node.start_after))
        }
    };
    if let Some(deadline) = node.deadline.filter(|&deadline| deadline < end.at) {
        end.state = TaskState::Failed;
        end.at = deadline;
        end.begun.retain(|&begun| begun < deadline);
    }
    end
}

/// One attempt after another.
fn run(node: &Node, index: usize, start: Time) -> End {
    let (mut now, mut begun) = (start, Vec::new());
    for attempt in 1.. {
        begun.push(now);
        let (mut fate, mut takes) = node.fate(index, attempt);
        if let Some(limit) = node.time_limit.filter(|&limit| limit < takes) {
            (fate, takes) = (Fate::Fails, limit);
        }
        let at = now + takes;
        now = at + node.backoff;
        let in_time = node
            .total_time_limit
            .is_none_or(|limit| now < start + limit);
        let state = match fate {
            Fate::Succeeds => TaskState::Succeeded,
            _ if attempt <= node.retries && in_time => continue,
            _ => TaskState::Failed,
        };
        return End { state, at, begun };
    }
    unreachable!("retries are bounded")
}

/// When the failure comes that the job's policy doesn't bear.
fn last_borne(plan: &Plan, ends: &[Vec<End>]) -> Option<Time> {
    let bears = match plan.policy {
        FailurePolicy::FailFast => 0,
        FailurePolicy::MaxFailures(most) => most as usize,
        _ => return None,
    };
    let failed = ends.iter().flatten();
    let failed = failed.filter(|end| end.state == TaskState::Failed);
    let mut times: Vec<_> = failed.map(|end| end.at).collect();
    times.sort_unstable();
    times.get(bears).copied()
}

/// The run ends then.
fn cut(ends: &mut [Vec<End>], time: Time) {
    for end in ends.iter_mut().flatten().filter(|end| end.at > time) {
        end.state = TaskState::Cancelled;
        end.at = time;
        end.begun.retain(|&begun| begun < time);
    }
}

// --------------------------------------------------------------------------------------------------- the real run

fn job_of(plan: &Plan, pool: &TestPool) -> Job {
    let mut job = Job::new("job");
    job.failure_policy(plan.policy);
    plan.limit
        .into_iter()
        .for_each(|limit| job.time_limit(limit));
    let mut arrays: Vec<Option<Array<usize>>> = Vec::new();
    let mut added: Vec<TaskRef> = Vec::new();
    for (number, node) in plan.nodes.iter().enumerate() {
        let name = format!("n{number}");
        let array = match (node.len, node.each) {
            (None, _) => None,
            (Some(_), Some(each)) => {
                let each = arrays[each].expect("an array by its plan");
                Some(job.each(name.clone(), &each, |number: &usize| *number))
            }
            (Some(len), None) => Some(job.array(name.clone(), len, |index: &usize| *index)),
        };
        let task = match array {
            Some(array) => array.into(),
            None => job.task(name, (), || ()).into(),
        };
        node.after
            .iter()
            .for_each(|&before| job.order(added[before], task));
        job.configure(task, settings_of(node));
        (0..node.tasks()).for_each(|index| arrange(pool, node, &label(plan, number, index), index));
        arrays.push(array);
        added.push(task);
    }
    job
}

fn settings_of(node: &Node) -> TaskSettings {
    let mut settings = TaskSettings::new()
        .max_retries(node.retries)
        .backoff(Backoff::constant(node.backoff));
    if let Some(limit) = node.time_limit {
        settings = settings.time_limit(limit);
    }
    if let Some(limit) = node.total_time_limit {
        settings = settings.total_time_limit(limit);
    }
    if node.start_after > Time::ZERO {
        settings = settings.start_after(node.start_after);
    }
    match node.deadline {
        Some(deadline) => settings.deadline(deadline),
        None => settings,
    }
}

/// Has a task do what the plan says.
fn arrange(pool: &TestPool, node: &Node, label: &str, index: usize) {
    for attempt in 1..=node.retries + 1 {
        let (fate, takes) = node.fate(index, attempt);
        let when = || pool.when(label).attempt(attempt);
        when().takes(takes);
        match fate {
            Fate::Succeeds => {}
            Fate::Fails => when().fails("as planned"),
            Fate::Panics => when().panics("as planned"),
        }
    }
}

fn label(plan: &Plan, node: usize, index: usize) -> String {
    match plan.nodes[node].len {
        Some(_) => format!("n{node}[{index}]"),
        None => format!("n{node}"),
    }
}

fn check(plan: &Plan, seed: u64) {
    let pool = TestPool::with_nodes(seed, [NodeSpec::new(1000)]);
    let run = pool.submit(job_of(plan, &pool)).expect("a valid job");
    let _ = run.wait();
    let (ends, trace) = (model(plan), pool.trace());
    for (node, tasks) in ends.iter().enumerate() {
        for (index, end) in tasks.iter().enumerate() {
            let label = label(plan, node, index);
            assert_eq!(pool.state(&label), end.state, "{label}: {end:?}\n{trace}");
            let entries = trace.entries().iter();
            let begun = entries.filter(|entry| entry.task == label && entry.event == Event::Began);
            let begun: Vec<_> = begun.map(|entry| entry.time).collect();
            assert_eq!(begun, end.begun, "{label}: {end:?}\n{trace}");
        }
    }
    let last = ends.iter().flatten().map(|end| end.at).max();
    assert_eq!(Some(pool.now()), last, "the run's end\n{trace}");
}

// ------------------------------------------------------------------------------------------------- random plans

fn time(most: u64) -> impl Strategy<Value = Time> {
    (1..most * 1_000_000).prop_map(Time::from_micros)
}

fn fates() -> impl Strategy<Value = Vec<(Fate, Time)>> {
    let fate = prop_oneof![
        3 => Just(Fate::Succeeds),
        1 => Just(Fate::Fails),
        1 => Just(Fate::Panics),
    ];
    vec((fate, time(10)), 1..6)
}

/// A node, and what it may depend on of those before it.
fn node() -> impl Strategy<Value = (Node, Vec<Index>, Option<Index>)> {
    let backoff = prop_oneof![Just(Time::ZERO), time(5)];
    let start = prop_oneof![3 => Just(Time::ZERO), 1 => time(30)];
    let limits = (
        option::weighted(0.3, time(10)),
        option::weighted(0.2, time(30)),
        option::weighted(0.1, time(60)),
    );
    let edges = (vec(any::<Index>(), 0..3), option::of(any::<Index>()));
    let own = (option::of(1..5usize), 0..3u32, backoff, start, fates());
    (own, limits, edges).prop_map(|(own, limits, (after, each))| {
        let (len, retries, backoff, start_after, fates) = own;
        let (time_limit, total_time_limit, deadline) = limits;
        let node = Node {
            len,
            retries,
            backoff,
            start_after,
            fates,
            time_limit,
            total_time_limit,
            deadline,
            after: Vec::new(),
            each: None,
        };
        (node, after, each)
    })
}

fn plans() -> impl Strategy<Value = Plan> {
    let policy = prop_oneof![
        2 => Just(FailurePolicy::Continue),
        1 => Just(FailurePolicy::FailFast),
        1 => (0..3u64).prop_map(FailurePolicy::MaxFailures),
    ];
    let limit = option::weighted(0.2, time(60));
    (vec(node(), 1..9), policy, limit).prop_map(|(seeds, policy, limit)| {
        let mut nodes: Vec<Node> = Vec::new();
        for (node, after, each) in seeds {
            let node = connect(node, &after, each, &nodes);
            nodes.push(node);
        }
        if policy != FailurePolicy::Continue {
            nodes.iter_mut().for_each(fail_one_by_one);
        }
        let limit = limit.filter(|_| policy == FailurePolicy::Continue);
        Plan {
            nodes,
            policy,
            limit,
        }
    })
}

fn connect(mut node: Node, after: &[Index], each: Option<Index>, before: &[Node]) -> Node {
    if before.is_empty() {
        return node;
    }
    node.after = after
        .iter()
        .map(|index| index.index(before.len()))
        .collect();
    node.after.sort_unstable();
    node.after.dedup();
    let arrays = (0..before.len()).filter(|&at| before[at].len.is_some());
    let arrays: Vec<_> = arrays.collect();
    if let Some(each) = each.filter(|_| node.len.is_some() && !arrays.is_empty()) {
        let each = *each.get(&arrays);
        (node.each, node.len) = (Some(each), before[each].len);
    }
    node
}

/// Elements with one limit fail at one time, and which of them are the last that a policy bears is not determined.
fn fail_one_by_one(node: &mut Node) {
    (node.time_limit, node.deadline) = (None, None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_task_ends_when_and_as_the_model_says(plan in plans(), seed in any::<u64>()) {
        check(&plan, seed);
    }
}
