//! Documents that are refused: where, why, and what to do.

use crate::{refused, with};
use batchyard::{DefectKind, ErrorKind, Job};

#[test]
fn every_refusal_names_the_place_and_the_line() {
    let task = |text: &str| with("", text);
    let command = |text: &str| task(&format!("command = {{ {text} }}"));
    let cases = [
        (task(""), "tasks[0]", 4, "missing field `command`"),
        (task("comand = ['x']"), "tasks[0]", 6, "expected one of"),
        (
            task("command = []"),
            "tasks[0].command",
            6,
            "a list of the program and its arguments",
        ),
        (
            task("command = 'ls -l'"),
            "tasks[0].command",
            6,
            "a list of the program and its arguments",
        ),
        (
            task("command = ['x', 1]"),
            "tasks[0].command[1]",
            6,
            "expected a string",
        ),
        (
            command("args = ['x']"),
            "tasks[0].command",
            6,
            "give it a `program`",
        ),
        (
            command("program = ''"),
            "tasks[0].command.program",
            6,
            "name a program",
        ),
        (
            command("program = 'x', shell = 'y'"),
            "tasks[0].command",
            6,
            "remove one",
        ),
        (
            command("program = 'x', stdin = '', stdin_file = 'y'"),
            "tasks[0].command",
            6,
            "remove one",
        ),
        (
            command("program = 'x', files = [{ name = '../y', text = '' }]"),
            "tasks[0].command.files[0].name",
            6,
            "leave out",
        ),
        (
            command("program = 'x', files = [{ name = 'y' }]"),
            "tasks[0].command.files[0]",
            6,
            "give it a `path`",
        ),
        (
            command("program = 'x', output_files = [{ pattern = 'y', when = 'never' }]"),
            "tasks[0].command.output_files[0].when",
            6,
            "on_failure",
        ),
        (
            task("command = ['x']\nsettings = { retries = 3 }"),
            "tasks[0].settings",
            7,
            "max_retries",
        ),
        (
            task("command = ['x']\nsettings.resources.slots = 0"),
            "tasks[0].settings.resources.slots",
            7,
            "at least one",
        ),
        (
            task("command = ['x']\nsettings.max_parallel = 0"),
            "tasks[0].settings.max_parallel",
            7,
            "nonzero",
        ),
        (
            task("command = ['x']\nsettings.exit_conditions.ranges = [{ start = 2, end = 1 }]"),
            "tasks[0].settings.exit_conditions.ranges",
            7,
            "smaller one first",
        ),
        (
            task("command = ['x']\nsweep = [[]]"),
            "tasks[0].sweep",
            7,
            "give it some",
        ),
        (
            task("command = ['x']\nsweep = [{ start = 1, end = 2, step = 0 }]"),
            "tasks[0].sweep[0].step",
            7,
            "leave it out",
        ),
        (
            task("command = ['x']\nsweep = ['abc']"),
            "tasks[0].sweep[0]",
            7,
            "a list of texts",
        ),
        (
            task("sweep = [['a']]\ncommand = ['x', '{1}']"),
            "tasks[0].command",
            7,
            "{{1}}",
        ),
        (
            task("command = ['x']\ndepends_on = ['t', 'y']"),
            "tasks[0].depends_on[1]",
            7,
            "is it spelt so?",
        ),
        (
            task("command = ['x']\nafter_any_outcome = ['y']"),
            "tasks[0].after_any_outcome[0]",
            7,
            "is it spelt so?",
        ),
        (
            task("command = ['x']\n[[tasks]]\ncommand = ['x']\nname = 't'"),
            "tasks[1].name",
            9,
            "names are unique",
        ),
        (
            task("command = ['x']\n[[tasks]]\nname = ''\ncommand = ['x']"),
            "tasks[1].name",
            8,
            "leave it out",
        ),
        (
            task("command = ['x']\ncommand_settings.secret_env = ['BATCHYARD_NOT_SET']"),
            "tasks[0].command_settings.secret_env",
            7,
            "set it before",
        ),
        (
            with("failure_policy = 'never'", "command = ['x']"),
            "failure_policy",
            3,
            "fail_fast",
        ),
        (
            with("time_limit = 30", "command = ['x']"),
            "time_limit",
            3,
            "1h 30m",
        ),
        (
            with("max_parallel_tasks = 0", "command = ['x']"),
            "max_parallel_tasks",
            3,
            "nonzero",
        ),
    ];
    for (toml, place, line, what) in cases {
        let error = refused(&toml).to_string();
        let expected = format!("the job's document, at `{place}");
        assert!(error.starts_with(&expected), "{toml}\n{error}");
        assert!(error.contains(&format!("line {line}:")), "{toml}\n{error}");
        assert!(error.contains(what), "{toml}\n{error}");
    }
}

#[test]
fn broken_toml_is_told_with_its_line() {
    let error = refused("version = 1\nname = \n").to_string();
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn broken_json_is_told_with_its_line() {
    let error = Job::from_json("{\n \"version\": 1,\n \"name\" }").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("line 3 column"), "{error}");
    let error = Job::from_json(r#"{ "version": 1, "name": "x" } extra"#).unwrap_err();
    assert!(error.to_string().contains("trailing characters"), "{error}");
}

#[test]
fn a_place_in_json_is_named_as_in_toml() {
    let text = r#"{ "version": 1, "name": "j", "tasks": [{ "command": { "program": "x", "args": [1] } }] }"#;
    let error = Job::from_json(text).unwrap_err().to_string();
    assert!(error.contains("at `tasks[0].command.args[0]`"), "{error}");
    let text =
        r#"{ "version": 1, "name": "j", "tasks": [{ "command": ["x"], "depends_on": ["y"] }] }"#;
    let error = Job::from_json(text).unwrap_err().to_string();
    assert!(error.contains("at `tasks[0].depends_on[0]`"), "{error}");
}

#[test]
fn another_version_is_told_before_what_it_brings() {
    let later = "version = 2\nname = 'j'\ncolour = 'red'";
    let error = refused(later).to_string();
    assert!(
        error.contains("version 2") && error.contains("update batchyard"),
        "{error}"
    );
    let error = Job::from_json(r#"{ "version": 3, "name": "j", "colour": "red" }"#).unwrap_err();
    assert!(error.to_string().contains("version 3"), "{error}");
    let error = refused("version = 0\nname = 'j'").to_string();
    assert!(error.contains("write version 1"), "{error}");
    let error = refused("name = 'j'").to_string();
    assert!(error.contains("missing field `version`"), "{error}");
}

#[test]
fn tasks_that_wait_for_each_other_are_named() {
    let toml = with(
        "",
        "command = ['x']\ndepends_on = ['u']\n[[tasks]]\nname = 'u'\ndepends_on = ['t']\ncommand = ['x']",
    );
    let error = Job::from_toml(&toml).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidJob);
    assert!(
        matches!(error.defects()[0].kind(), DefectKind::Cycle(names) if names.len() == 3),
        "{error}"
    );
    let own = Job::from_toml(&with("", "command = ['x']\ndepends_on = ['t']")).unwrap_err();
    assert_eq!(own.kind(), ErrorKind::InvalidJob, "{own}");
}

#[test]
fn a_job_action_that_is_not_carried_out_is_refused() {
    let toml = with(
        "azure_defaults = true",
        "command = ['x']\nsettings.exit_conditions.otherwise.job_action = 'disable'",
    );
    let error = Job::from_toml(&toml).unwrap_err();
    assert!(
        matches!(error.defects()[0].kind(), DefectKind::JobActionNotPerformed),
        "{error}"
    );
}

#[test]
fn a_document_may_be_only_so_long() {
    let long = format!("version = 1\nname = '{}'", "x".repeat(16 << 20));
    let error = refused(&long).to_string();
    assert!(error.contains("split it"), "{error}");
    assert!(error.len() < 300);
    assert!(
        Job::from_json(&long)
            .unwrap_err()
            .to_string()
            .contains("split it")
    );
}

#[test]
fn a_document_may_have_only_so_many_tasks() {
    let sweep = |last: i64| {
        with(
            "",
            &format!(
                "command = ['x']\nsweep = [{{ start = 1, end = {last} }}, {{ start = 1, end = 1000 }}]"
            ),
        )
    };
    assert_eq!(Job::from_toml(&sweep(1000)).unwrap().len(), 1_000_000);
    for last in [1001, i64::MAX] {
        let error = refused(&sweep(last)).to_string();
        assert!(
            error.contains("at `tasks[0]`, line 4") && error.contains("a million"),
            "{error}"
        );
    }
    let both = sweep(1000) + "[[tasks]]\ncommand = ['x']";
    assert!(refused(&both).to_string().contains("at `tasks[1]`"));
}

#[test]
fn a_document_may_be_only_so_deep() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    for levels in [200, 1_000_000] {
        let json = format!(
            r#"{{ "version": 1, "name": "j", "tasks": {} }}"#,
            deep(levels)
        );
        assert_eq!(
            Job::from_json(&json).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
        refused(&format!(
            "version = 1\nname = 'j'\ntasks = {}",
            deep(levels)
        ));
        let keys = vec!["a"; levels].join(".");
        refused(&format!("version = 1\nname = 'j'\n{keys} = 1"));
    }
}

#[test]
fn a_long_word_does_not_make_a_long_error() {
    let word = "x".repeat(1 << 20);
    let long = [
        format!("{word} = 1"),
        with("", &format!("command = ['x']\ndepends_on = ['{word}']")),
        with(
            "",
            &format!("command_settings.env.{word} = 1\ncommand = ['x']"),
        ),
    ];
    for toml in long {
        assert!(refused(&toml).to_string().len() < 1000);
    }
}
