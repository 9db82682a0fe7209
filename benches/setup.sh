#!/usr/bin/env bash
# Installs the contenders that cargo doesn't. Each is optional: without it a benchmark leaves it out with a note.
# Taskflow is header-only: where Debian has no package of it, set TASKFLOW_INCLUDE to the folder that holds
# `taskflow/taskflow.hpp`.
set -euo pipefail

run_as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

if ! command -v apt-get >/dev/null; then
  echo "not a Debian system: install g++ and the headers of oneTBB and Taskflow yourself" >&2
  exit 0
fi

run_as_root apt-get update -qq
for package in g++ libtbb-dev libtaskflow-cpp-dev; do
  if [ -n "$(apt-cache madison "$package")" ]; then
    run_as_root apt-get install -y -qq --no-install-recommends "$package"
  else
    echo "no package $package here: the contender that needs it will be left out" >&2
  fi
done
