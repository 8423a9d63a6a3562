#!/usr/bin/env bash
# Asks PyPI which packages of the lock files have known vulnerabilities.
# Needs pip-audit on the PATH and a network: `make audit`.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
for file in requirements/{workflow,test,oldest,audit}.txt; do
    echo "$file"
    answer=$(pip-audit --strict --require-hashes --disable-pip --progress-spinner off \
        --requirement "$file" 2>&1) || status=1
    if grep -qE "could not be audited|ConnectionError|Max retries" <<< "$answer"; then
        answer="Not audited: no service that knows vulnerabilities answers (is there a network?)"
    fi
    echo "$answer"
done
exit $status
