//! What is published: the schema, and the example's job file.

use batchyard::Job;

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/job.schema.json");

#[test]
fn the_published_schema_is_that_of_the_code() {
    let published = std::fs::read_to_string(SCHEMA).unwrap_or_default();
    let current = Job::json_schema();
    let at = concat!(env!("CARGO_TARGET_TMPDIR"), "/job.schema.json");
    std::fs::write(at, &current).unwrap();
    assert!(
        published == current,
        "{SCHEMA} is out of date: copy {at} over it"
    );
}

#[test]
fn the_job_file_of_the_example_is_sound() {
    let job = Job::from_toml(include_str!("../../examples/job_file/report.toml")).unwrap();
    assert_eq!(
        Job::from_json(&job.to_json().unwrap()).unwrap().len(),
        job.len()
    );
}
