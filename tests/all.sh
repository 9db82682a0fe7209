#!/usr/bin/env bash
# Everything that must hold before a change is taken, on a machine that has only a Rust toolchain, git, Python and apt.
#
#   bash tests/all.sh                 all of it
#   bash tests/all.sh lint tests      only these sections
#
# PROPTEST_CASES, BATCHYARD_SEEDS, BATCHYARD_CHAOS (in seconds), BATCHYARD_KILLS and LOOM_MAX_PREEMPTIONS choose how much of
# each search is made; tests/long.sh makes the long ones.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tests/lib.sh
source tests/lib.sh

export PROPTEST_CASES="${PROPTEST_CASES:-256}"
export BATCHYARD_SEEDS="${BATCHYARD_SEEDS:-1000}"
export BATCHYARD_CHAOS="${BATCHYARD_CHAOS:-3}"
export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-2}"

# Where a panic happened is told all the same, and everything compiles sooner.
export CARGO_PROFILE_DEV_DEBUG=line-tables-only
export BATCHYARD_KILLS="${BATCHYARD_KILLS:-12}"

# What the tests need beyond the toolchain, by name: need_debian, need_python, need_npm and need_cargo (tests/lib.sh).
# Only what a test really uses stands here.
install() {
    need_debian gcc libc6-dev chromium tmux podman runc busybox-static
    need_program cargo-fmt cargo-clippy
    need_python pandas==3.1.1
    cargo --version
    cargo metadata --locked --format-version 1 >/dev/null # Cargo.lock agrees with every Cargo.toml
}

section_format() {
    cargo fmt --all --check
}

section_lint() {
    cargo clippy --workspace --all-targets --all-features -- -D warnings
}

section_docs() {
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features
}

section_tests() {
    within 18 cargo test --workspace --all-features
    within 5 cargo test --all-features --test pandas --test chromium --test tmux --test containers
}

# Each feature alone, none, the default and all of them: as a user would build the library.
section_features() {
    local feature features
    features="$(metadata 'sorted(package["features"])')"
    echo "-- no feature"
    cargo clippy --lib --no-default-features -- -D warnings
    for feature in $features; do
        echo "-- feature $feature"
        cargo clippy --lib --no-default-features --features "$feature" -- -D warnings
    done
    echo "-- all features"
    cargo clippy --lib --all-features -- -D warnings
}

# The oldest Rust that is promised. Without that toolchain the lint section's `incompatible_msrv` stands for it.
section_msrv() {
    local oldest
    oldest="$(metadata 'package["rust_version"]')"
    if command -v rustup >/dev/null && rustup toolchain list | grep -q "^$oldest"; then
        cargo "+$oldest" check --lib --all-features --target-dir "$target/msrv"
    else
        echo "Rust $oldest is not installed: clippy checked the library against it by its lint incompatible_msrv"
    fi
}

# Every example runs to its end, as the documentation says it is run.
section_examples() {
    local name names log="$target/example.log"
    names="$(metadata '[t["name"] for t in package["targets"] if "example" in t["kind"]]')"
    [ -n "$names" ] || { echo "no examples" >&2; return 1; }
    # As in a release, but for what takes the compiler longest: all examples together would take it ten minutes.
    export CARGO_PROFILE_RELEASE_OPT_LEVEL=1
    cargo build --release --examples --all-features
    for name in $names; do
        printf '\n-- example %s\n' "$name"
        within 3 cargo run --release --quiet --all-features --example "$name" </dev/null | tee "$log"
        [ "$name" != batch_scoring ] || accurate "$log"
    done
    printf '\n-- example prometheus\n'
    within 3 cargo run --release --quiet -p batchyard-prometheus </dev/null
}

# The main example scores images that its model was not trained on, and must get more than 95 in 100 right.
accurate() {
    awk '/^accuracy:/ { found = $2 > 0.95 } END { exit !found }' "$1" ||
        { echo "batch_scoring: no accuracy above 0.95" >&2; return 1; }
}

# The benchmarks build, and a tiny run of each ends; `dag` prints the figures in the form that scripts read.
section_benches() {
    local name names
    names="$(metadata '[t["name"] for p in metadata["packages"] if p["name"] == "batchyard-benches" for t in p["targets"] if "bench" in t["kind"]]')"
    [ -n "$names" ] || { echo "no benchmarks" >&2; return 1; }
    # Nobody reads these figures, and optimising across crates takes longer than all the rest of the section.
    export CARGO_PROFILE_BENCH_LTO=false CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_BENCH_OPT_LEVEL=1
    cargo bench -p batchyard-benches --no-run
    for name in $names; do
        printf '\n-- bench %s\n' "$name"
        within 3 cargo bench --quiet -p batchyard-benches --bench "$name" -- --tasks 1000 --rounds 1 --json |
            if [ "$name" = dag ]; then figures; else cat; fi
    done
}

# Checks the figures on standard input: one JSON object a line, ours and the limit for every shape.
figures() {
    python3 -c '
import json, sys
fields = {"bench", "shape", "contender", "tasks", "ns_per_task", "ns_min", "bytes_per_task"}
shapes = {}
for line in sys.stdin:
    print(line, end="")
    if line.startswith("{"):
        figure = json.loads(line)
        missing = fields - figure.keys()
        assert not missing, f"missing {sorted(missing)} in {line}"
        shapes.setdefault(figure["shape"], set()).add(figure["contender"])
assert shapes, "no figures"
for shape, contenders in shapes.items():
    assert {"batchyard", "limit"} <= contenders, f"{shape}: only {sorted(contenders)}"
'
}

# Every interleaving, up to a number of preemptions, of the lock-free parts: tests whose names begin with `loom_`.
section_loom() {
    RUSTFLAGS="--cfg loom" some_tests within 10 cargo test --release --lib --target-dir "$target/loom" loom_
}

# The crate can be packed, what is packed builds by itself, and it stays small.
section_package() {
    local crate bytes
    cargo package -p batchyard --allow-dirty
    crate="$target/package/batchyard-$(metadata 'package["version"]').crate"
    bytes="$(wc -c <"$crate")"
    echo "$bytes bytes packed"
    [ "$bytes" -lt 2000000 ] || { echo "$crate: 2 MB or more" >&2; return 1; }
}

if [ $# -eq 0 ]; then
    set -- format lint docs tests features msrv examples benches loom package
fi
run_sections "$@"
