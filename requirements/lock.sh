#!/usr/bin/env bash
# Rewrites the lock files from pyproject.toml: every version and hash, no index address.
# Needs uv on the PATH (`pip install uv`). Run with --upgrade to move to newer versions.
set -euo pipefail
cd "$(dirname "$0")/.."
upgrade=${1:-}
lock() { # lock OUTPUT OPTION...
    local output=$1; shift
    uv pip compile "$@" --universal --python-version 3.11 \
        --generate-hashes --no-emit-index-url --no-emit-find-links --no-emit-package adakern \
        --custom-compile-command "requirements/lock.sh" --output-file "$output" \
        --quiet $upgrade
}
lock requirements/workflow.txt requirements/build.in workflow/pyproject.toml
lock requirements/test.txt requirements/build.in workflow/pyproject.toml pyproject.toml \
    --extra=test
lock requirements/audit.txt requirements/audit.in

# The library alone with the oldest versions that it declares, and what its tests need
# as new as these allow.
oldest=$(mktemp)
trap 'rm -f "$oldest"' EXIT
uv pip compile pyproject.toml --universal --python-version 3.11 --quiet --no-header \
    --resolution lowest-direct --output-file "$oldest"
lock requirements/oldest.txt requirements/build.in requirements/oldest.in pyproject.toml --no-annotate \
    --constraint "$oldest"
