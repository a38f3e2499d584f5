#!/usr/bin/env bash
# Resolve the requirements*.in files into locks with hashes, good for every platform and Python 3.11 to 3.13.
#
#   scripts/lock.sh [ARGUMENTS OF uv pip compile]        e.g. --upgrade-package idna
#
# What is locked stays as it is unless the .in file or an argument asks for a change.
set -euo pipefail
cd "$(dirname "$0")/.."

# The layers first: the development lock is constrained to their versions, so tests run with what Lambda runs with.
for name in layers/livemem/requirements layers/search/requirements layers/mcp/requirements layers/signin/requirements requirements-dev requirements-image requirements-sam requirements-audit; do
    .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
        "$@" --output-file "$name.txt" "$name.in"
done
