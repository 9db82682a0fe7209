//! What scripts do, and what they find.

use crate::place::Place;
use crate::{cause, on_two, run, script};
use batchyard::scoring::{Append, Category, MiniBatch, ParallelRun, ScoringError, Warning};
use std::fs;

/// The lines of the output, sorted, without the directories of paths.
fn rows(place: &Place) -> Vec<String> {
    let mut lines = place.lines("out.csv");
    lines.drain(..1);
    lines
}

#[test]
fn a_list_of_strings_is_a_column_and_what_is_printed_is_in_the_logs() {
    let place = Place::new(5);
    let report = on_two(run(&place, script("list_of_str.py"))).unwrap();
    let expected: Vec<_> = (0..5).map(|n| format!("{n:04}: model")).collect();
    assert_eq!(rows(&place), expected);
    assert_eq!(place.lines("out.csv")[0], "result");
    assert_eq!(
        (
            report.items.failed,
            report.mini_batches.total,
            report.workers
        ),
        (0, 3, 2)
    );
    let printed: String = (0..2)
        .map(|worker| {
            fs::read_to_string(place.path(&format!("logs/user/stdout/0/{worker}.stdout.txt")))
                .unwrap()
        })
        .collect();
    assert_eq!(printed.matches("scoring [").count(), 3);
    assert!(printed.contains('😀'));
}

#[test]
fn a_script_may_return_its_input_and_name_its_parameter_as_it_likes() {
    let place = Place::new(3);
    on_two(run(&place, script("returns_input.py"))).unwrap();
    let expected: Vec<_> = (0..3)
        .map(|n| place.path(&format!("in/{n:04}")).display().to_string())
        .collect();
    assert_eq!(rows(&place), expected);
}

#[test]
fn what_is_no_rows_is_refused_by_name_and_not_tried_again() {
    for (kind, told) in [
        ("none", "returned None"),
        ("str", "returned a str"),
        ("dict", "returned a dict"),
        ("set", "returned a set"),
        ("generator", "returned a generator"),
    ] {
        for append in [true, false] {
            let place = Place::new(2);
            let run = run(&place, script("wrong_type.py").args([kind]));
            let report = on_two(if append { run } else { run.summary_only() }).unwrap();
            let batch = &report.table[0];
            let failure = batch.failure.as_ref().unwrap();
            assert_eq!((failure.category, batch.picked), (Category::WrongResult, 1));
            for part in [
                "wrong_type.py:4",
                told,
                "a list, a tuple or a pandas DataFrame",
            ] {
                assert!(failure.message.contains(part), "{}", failure.message);
            }
        }
    }
    let place = Place::new(2);
    assert_eq!(
        on_two(run(&place, script("wrong_type.py").args(["tuple"])))
            .unwrap()
            .rows,
        2
    );
    assert_eq!(
        on_two(run(&place, script("wrong_type.py").args(["[]"])))
            .unwrap()
            .items
            .failed,
        2
    );
}

#[test]
fn a_context_is_passed_to_those_who_take_one_and_shutdown_is_called_once_a_worker() {
    let place = Place::new(9);
    let scorer = script("context_and_shutdown.py").env("MARKER", place.path("marker"));
    on_two(run(&place, scorer)).unwrap();
    assert_eq!(rows(&place).join(""), "001122334");
    let mut done = place.lines("marker");
    done.sort();
    assert_eq!(done.join(""), "01234");
}

#[test]
fn init_may_be_missing_which_is_noted_with_what_may_have_been_meant() {
    let place = Place::new(1);
    let report = on_two(run(&place, script("no_init.py"))).unwrap();
    assert_eq!(
        place.read("out.csv"),
        "result_1,result_2\nloaded at import,\n"
    );
    let Warning::Scorer(note) = &report.warnings[0] else {
        panic!("{:?}", report.warnings);
    };
    assert!(
        note.contains("no `init()`") && note.contains("`initialize`"),
        "{note}"
    );
}

#[test]
fn init_may_be_called_by_the_script_too() {
    let place = Place::new(1);
    on_two(run(&place, script("init_twice.py"))).unwrap();
    assert_eq!(rows(&place), ["2"]);
}

#[test]
fn arguments_are_there_at_import_and_the_model_is_where_azure_puts_it() {
    let place = Place::new(1);
    place.write("model/model.txt", "m");
    let scorer = script("argparse_at_import.py")
        .args(["--threshold", "0.5"])
        .model_dir(place.path("model"));
    on_two(run(&place, scorer)).unwrap();
    assert_eq!(place.read("out.csv"), "file,model,threshold\n0000,m,0.5\n");
}

#[test]
fn a_script_finds_its_neighbours_its_files_and_the_standard_library() {
    let place = Place::new(2);
    on_two(run(&place, script("project/queue.py"))).unwrap();
    assert_eq!(rows(&place), ["a model 0000", "a model 0001"]);
}

#[test]
fn files_of_its_own_are_published_once_and_those_of_one_name_put_together() {
    let place = Place::new(20);
    let report = on_two(run(
        &place,
        script("own_files.py").output_dir(place.path("own")),
    ))
    .unwrap();
    assert_eq!((report.items.failed, report.mini_batches.total), (0, 10));
    assert!(report.reruns >= 10);
    let names: Vec<_> = (0..20).map(|n| format!("{n:04}")).collect();
    let sorted = |name: &str| {
        let mut lines = place.lines(name);
        lines.sort();
        lines
    };
    assert_eq!(sorted("own/shared.txt"), names);
    assert_eq!(sorted("own/same_name.txt"), names);
    let mut single: Vec<_> = fs::read_dir(place.path("own"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "one"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    single.sort();
    assert_eq!(single, names);
    assert_eq!(fs::read_dir(place.path("own")).unwrap().count(), 22);
    assert!(
        place
            .read("logs/user/entry_script_log/0/0.log.txt")
            .contains("|INFO|")
    );
}

#[test]
fn values_are_written_by_a_fixed_table() {
    let place = Place::new(1);
    let scorer = || script("awkward_values.py");
    on_two(run(&place, scorer())).unwrap();
    assert_eq!(
        place.read("out.csv"),
        "text,nan,inf,none,large,true,tenth,decimal,date,bytes\n\
         \"a, \"\"b\"\"\nc\",nan,-inf,,1180591620717411303424,True,0.1,1.10,2026-01-02,b'\\x00\\xff'\n"
    );
    on_two(run(&place, scorer()).append_rows_to(place.path("out.jsonl"))).unwrap();
    assert_eq!(
        place.read("out.jsonl"),
        "{\"text\": \"a, \\\"b\\\"\\nc\", \"nan\": null, \"inf\": null, \"none\": null, \
         \"large\": 1180591620717411303424, \"true\": true, \"tenth\": 0.1, \"decimal\": \"1.10\", \
         \"date\": \"2026-01-02\", \"bytes\": \"AP8=\"}\n"
    );
    on_two(run(&place, script("no_init.py")).append_rows_to(Append::text(place.path("out.txt"))))
        .unwrap();
    assert_eq!(place.read("out.txt"), "('loaded at import', None)\n");
}

#[test]
fn a_value_that_can_not_be_written_fails_its_mini_batch_by_its_column() {
    let place = Place::new(1);
    let report =
        on_two(run(&place, script("unwritable_value.py")).append_rows_to(place.path("out.jsonl")))
            .unwrap();
    let failure = report.table[0].failure.as_ref().unwrap();
    assert!(
        failure.message.contains("row 0") && failure.message.contains("['bad']"),
        "{}",
        failure.message
    );
}

#[test]
fn each_worker_has_one_gpu_and_those_too_many_none() {
    let place = Place::new(40);
    let scorer = script("gpu.py").gpus([3]).env("EXTRA", "x");
    on_two(run(&place, scorer).mini_batch_size(MiniBatch::files(1))).unwrap();
    assert!(rows(&place).iter().all(|row| row == "3|x" || row == "|x"));
}

#[test]
fn an_init_that_fails_shows_the_most_common_traceback() {
    for (name, parts) in [
        ("init_fails.py", ["no such model: resnet.onnx", "in init"]),
        ("init_needs_argument.py", ["TypeError", "model"]),
        ("exits_at_import.py", ["SystemExit", "usage: pass a model"]),
        ("no_run.py", ["no function `run(mini_batch)`", "`score`"]),
        ("missing.py", ["there is no entry script", "missing.py"]),
    ] {
        let place = Place::new(100);
        let error = cause(on_two(run(&place, script(name))));
        let ScoringError::InitFailed { most_common, times } = &error else {
            panic!("{name}: {error}");
        };
        assert!((3..=6).contains(times), "{name}: {times} times");
        for part in parts {
            assert!(most_common.contains(part), "{name}: {most_common}");
        }
        assert!(
            !most_common.contains("in begin"),
            "our own frames are left out: {most_common}"
        );
    }
    let place = Place::new(2);
    let error = cause(on_two(run(
        &place,
        script("no_init.py").python("no-such-python"),
    )));
    assert!(error.to_string().contains("no-such-python"), "{error}");
}

#[test]
fn an_error_that_init_swallowed_is_seen_in_run() {
    let place = Place::new(10);
    let error = cause(on_two(
        run(&place, script("swallows_init.py")).error_threshold(1),
    ));
    assert!(
        error
            .to_string()
            .contains("'NoneType' object has no attribute 'predict'"),
        "{error}"
    );
}

#[test]
fn no_input_starts_no_process() {
    let place = Place::new(0);
    let report = on_two(ParallelRun::new(script("missing.py")).input(place.files())).unwrap();
    assert_eq!(report.items.total, 0);
}
