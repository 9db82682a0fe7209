#!/usr/bin/env bash
# The long searches, for the days between releases: the same tests as in tests/all.sh with many more cases.
#
#   bash tests/long.sh                all of it
#   bash tests/long.sh models         only this section
#
# PROPTEST_CASES, BATCHYARD_SEEDS, BATCHYARD_CHAOS (in seconds) and LOOM_MAX_PREEMPTIONS choose how long. A failing case is printed, and kept by proptest
# for the next run; of a failing seed the command that shows it again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tests/lib.sh
source tests/lib.sh

export PROPTEST_CASES="${PROPTEST_CASES:-20000}"
export BATCHYARD_SEEDS="${BATCHYARD_SEEDS:-50000}"
export BATCHYARD_CHAOS="${BATCHYARD_CHAOS:-60}"
export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-3}"

install() {
    need_debian gcc libc6-dev
    cargo --version
}

# Random jobs, failures and cancellations against a simple model: tests with `model` in their path.
section_models() {
    some_tests within 120 cargo test --release --all-features model
}

# Engine, feed and nodes under one seeded clock: tests/simulation.
section_simulation() {
    # With the engine's own checks, which only debug builds make.
    some_tests within 120 cargo test --all-features --test simulation
}

# A program that is killed at random instants, and journals that end anywhere.
section_durable() {
    BATCHYARD_KILLS=200 some_tests within 120 cargo test --release --all-features --test durable
    some_tests within 120 cargo test --release --lib --features journal journal::
}

# Children are killed at random, under load: tests/process/chaos.rs.
section_chaos() {
    some_tests within 30 cargo test --release --all-features --test process chaos
}

section_loom() {
    RUSTFLAGS="--cfg loom" some_tests within 120 cargo test --release --lib --target-dir "$target/loom" loom_
}

if [ $# -eq 0 ]; then
    set -- models simulation durable chaos loom
fi
run_sections "$@"
