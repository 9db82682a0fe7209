//! A program's arguments, output and end.

use crate::yard::{Yard, chatter, ending};
use batchyard::{Command, Ending};

#[test]
fn a_program_gets_its_arguments_as_they_are() {
    let yard = Yard::new();
    let output = yard
        .run(Command::new("printf").args(["%s|", "a b", "$HOME", "*", ""]))
        .unwrap();
    assert_eq!(output.stdout().text().unwrap(), "a b|$HOME|*||");
    assert!(output.stderr().is_empty());
}

#[test]
fn a_shell_runs_scripts_that_get_arguments() {
    let yard = Yard::new();
    let output = yard
        .run(Command::shell("echo \"$1\" | tr a-z A-Z; echo no >&2").arg("loud"))
        .unwrap();
    assert_eq!(output.stdout().text().unwrap(), "LOUD\n");
    assert_eq!(output.stderr().text().unwrap(), "no\n");
}

#[test]
fn exit_codes_and_signals_are_told_apart() {
    let yard = Yard::new();
    assert_eq!(
        ending(&yard.fails(chatter(&["exit", "137"]))),
        Ending::Code(137)
    );
    assert_eq!(
        ending(&yard.fails(chatter(&["exit", "255"]))),
        Ending::Code(255)
    );
    assert_eq!(
        ending(&yard.fails(chatter(&["signal", "9"]))),
        Ending::Signal(9)
    );
    assert!(yard.run(chatter(&["exit", "256"])).is_ok());
}
