#!/usr/bin/env bash
# Rewrites the lock files from pyproject.toml: every version and hash, no index address.
# Needs uv on the PATH (`pip install uv`). Run with --upgrade to move to newer versions.
set -euo pipefail
cd "$(dirname "$0")/.."
lock() { # lock OUTPUT EXTRA...
    local output=$1; shift
    uv pip compile pyproject.toml requirements/build.in --universal --python-version 3.11 \
        "${@/#/--extra=}" --generate-hashes --no-emit-index-url --no-emit-find-links \
        --custom-compile-command "requirements/lock.sh" --output-file "$output" --quiet $upgrade
}
upgrade=${1:-}
lock requirements/workflow.txt workflow
lock requirements/test.txt workflow test
