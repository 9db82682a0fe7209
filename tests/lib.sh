# shellcheck shell=bash
# What the test scripts share: installing what the tests need, and running them in sections.

# Debian packages, by name. Those that are installed already cost nothing.
need_debian() {
    local package missing=()
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok' || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    local sudo=()
    [ "$(id -u)" -eq 0 ] || sudo=(sudo)
    "${sudo[@]}" apt-get update -qq
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# Python packages (`name==version`), in a virtual environment that comes first on PATH from then on.
need_python() {
    [ $# -gt 0 ] || return 0
    local venv="$target/venv"
    [ -x "$venv/bin/python3" ] || python3 -m venv "$venv"
    "$venv/bin/python3" -m pip install --quiet --disable-pip-version-check "$@"
    export PATH="$venv/bin:$PATH"
}

# npm packages (`name@version`), with their commands on PATH.
need_npm() {
    [ $# -gt 0 ] || return 0
    npm install --silent --no-audit --no-fund --prefix "$target/npm" "$@"
    export PATH="$target/npm/node_modules/.bin:$PATH"
}

# Programs from crates (`name@version`), with their commands on PATH.
need_cargo() {
    [ $# -gt 0 ] || return 0
    cargo install --quiet --locked --root "$target/tools" "$@"
    export PATH="$target/tools/bin:$PATH"
}

# Programs that must be there: a missing one is a failure, never a reason to test less.
need_program() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || { echo "missing program: $program" >&2; return 1; }
    done
}

# Evaluates a Python expression over `package`, the crate's entry in cargo's metadata, and `metadata`, all of it.
# A list is printed one item a line.
metadata() {
    cargo metadata --no-deps --format-version 1 | python3 -c '
import json, sys
metadata = json.load(sys.stdin)
package = next(p for p in metadata["packages"] if p["name"] == "batchyard")
answer = eval(sys.argv[1])
print("\n".join(answer) if isinstance(answer, list) else answer)
' "$1"
}

# Runs a command within a number of minutes, so that what hangs fails instead.
within() {
    local minutes="$1" status=0
    shift
    timeout --kill-after=10s "${minutes}m" "$@" || status=$?
    [ "$status" -ne 124 ] || echo "no end within $minutes minutes: $*" >&2
    return "$status"
}

# Runs a test command, shows what it prints, and fails if it ran no test: a filter that matches nothing passes in cargo.
some_tests() {
    local log="$target/some-tests.log"
    "$@" 2>&1 | tee "$log"
    grep -Eq '^test result: ok\. [1-9][0-9]* passed' "$log" || { echo "no test ran: $*" >&2; return 1; }
}

failed=()
times=()

# Runs one section (a function) in a shell of its own; the next one runs whether or not this one passes.
section() {
    local name="$1" begun=$SECONDS status=0 verdict=ok
    printf '\n==== %s ====\n' "$name"
    set +e
    (
        set -e
        "section_$name"
    )
    status=$?
    set -e
    if [ "$status" -ne 0 ]; then
        verdict=FAILED
        failed+=("$name")
    fi
    times+=("$(printf '%-10s %5d s  %s' "$name" $((SECONDS - begun)) "$verdict")")
    printf '==== %s: %s, %d s ====\n' "$name" "$verdict" $((SECONDS - begun))
}

# Installs what the tests need, runs the named sections, and ends with the times of all and the names of those that failed.
run_sections() {
    local name
    for name in "$@"; do
        declare -F "section_$name" >/dev/null || { echo "no such section: $name" >&2; exit 2; }
    done
    printf '==== install ====\n'
    install
    for name in "$@"; do section "$name"; done
    printf '\n==== summary (%d s) ====\n' "$SECONDS"
    printf '%s\n' "${times[@]}"
    [ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
}

need_program cargo git python3
target="$(metadata 'metadata["target_directory"]')"
mkdir -p "$target"
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-never}" CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"
