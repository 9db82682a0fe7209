//! Settings by themselves.

use batchyard::{Backoff, ErrorKind, MaxRetries, Resources, TaskSettings};
use std::time::Duration;

fn time_limit(text: &str) -> Result<TaskSettings, batchyard::Error> {
    TaskSettings::from_json(&format!(r#"{{ "time_limit": {text} }}"#))
}

#[test]
fn durations_have_units_or_are_iso_8601() {
    let texts = [
        ("30s", 30_000),
        ("500ms", 500),
        ("1h 30m", 5_400_000),
        ("1h30m", 5_400_000),
        ("2d", 172_800_000),
        ("1w", 604_800_000),
        ("1.5h", 5_400_000),
        ("5 minutes", 300_000),
        ("PT30S", 30_000),
        ("PT1H30M", 5_400_000),
        ("P1DT1S", 86_401_000),
        ("pt0.25s", 250),
        ("0s", 0),
    ];
    for (text, milliseconds) in texts {
        let expected = TaskSettings::new().time_limit(Duration::from_millis(milliseconds));
        assert_eq!(
            time_limit(&format!("{text:?}")).expect(text),
            expected,
            "{text}"
        );
    }
}

#[test]
fn a_duration_without_unit_or_sense_is_refused_with_an_example() {
    for text in [
        "30",
        "\"30\"",
        "\"\"",
        "\"5 parsecs\"",
        "\"-3s\"",
        "\"P1Y\"",
        "\"1 month\"",
        "null1",
        "[]",
        "1e9",
    ] {
        let error = time_limit(text).expect_err(text);
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let is_syntax = text == "null1";
        assert!(
            is_syntax || error.to_string().contains("\"1h 30m\""),
            "{error}"
        );
        assert!(
            is_syntax || error.to_string().contains("at `time_limit`"),
            "{error}"
        );
    }
}

#[test]
fn what_is_not_set_stays_unset() {
    assert_eq!(TaskSettings::from_toml("").unwrap(), TaskSettings::new());
    assert_eq!(TaskSettings::from_json("{}").unwrap(), TaskSettings::new());
    assert_eq!(TaskSettings::new().to_json().unwrap(), "{}");
}

#[test]
fn retries_are_a_number_or_unlimited() {
    let retries = |text: &str| TaskSettings::from_toml(&format!("max_retries = {text}"));
    assert_eq!(retries("7").unwrap(), TaskSettings::new().max_retries(7));
    let unlimited = TaskSettings::new().max_retries(MaxRetries::Unlimited);
    assert_eq!(retries("\"unlimited\"").unwrap(), unlimited);
    for text in ["-1", "4294967296", "1.5", "\"often\"", "true"] {
        let error = retries(text).expect_err(text).to_string();
        assert!(error.contains("\"unlimited\""), "{error}");
        assert!(error.contains("line 1"), "{error}");
    }
}

#[test]
fn a_backoff_keeps_the_defaults_of_what_it_does_not_set() {
    let settings =
        TaskSettings::from_toml("backoff = { initial = '2s', max = '1h', jitter = 0.0 }").unwrap();
    let backoff =
        Backoff::exponential(Duration::from_secs(2), Duration::from_secs(3600)).jitter(0.0);
    assert_eq!(settings, TaskSettings::new().backoff(backoff));
    for wrong in [
        "factor = nan",
        "factor = 0.5",
        "factor = inf",
        "jitter = 2.0",
        "jitter = nan",
    ] {
        let error = TaskSettings::from_toml(&format!("backoff = {{ {wrong} }}")).expect_err(wrong);
        assert!(error.to_string().contains("at `backoff."), "{error}");
    }
}

#[test]
fn numbers_that_are_no_amounts_are_refused() {
    let right = TaskSettings::from_toml("resources = { cpus = 0.5, gpus = 2 }").unwrap();
    assert_eq!(
        right,
        TaskSettings::new().resources(Resources::slots(1).cpus(0.5).gpus(2))
    );
    for wrong in [
        "slots = 0",
        "cpus = -1",
        "cpus = nan",
        "gpus = 1.5",
        "memory = -1",
        "custom = { licence = inf }",
    ] {
        let error =
            TaskSettings::from_toml(&format!("resources = {{ {wrong} }}")).expect_err(wrong);
        assert!(error.to_string().contains("at `resources."), "{error}");
    }
}

#[test]
fn settings_that_are_code_can_not_be_written() {
    let error = TaskSettings::new()
        .retry_if(|_| true)
        .to_json()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("retry_if"), "{error}");
}

#[test]
fn a_duration_that_could_not_be_read_back_is_not_written() {
    let error = TaskSettings::new()
        .deadline(Duration::MAX)
        .to_json()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("`deadline`"), "{error}");
}
