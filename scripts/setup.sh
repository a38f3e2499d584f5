#!/usr/bin/env bash
# Make a virtual environment that holds exactly what a lock file names.
#
#   scripts/setup.sh [VENV] [LOCK]        (default: .venv requirements-dev.txt)
#
# Does nothing when the environment was made from the same lock, at the same place, and its interpreter still runs.
# PYTHON=... chooses the interpreter; otherwise the first one that runs and is 3.11 or newer.
# Fails with one sentence that says what to install when there is none.
set -euo pipefail
cd "$(dirname "$0")/.."

VENV=${1:-.venv}
LOCK=${2:-requirements-dev.txt}
STAMP=$VENV/.stamp

say() { echo "setup: $*" >&2; }
die() { echo "setup: $*" >&2; exit 1; }

# What the environment depends on: the lock's bytes, and the place (scripts of a venv hold absolute paths).
fingerprint() { { cat "$LOCK"; realpath -m "$VENV"; } | cksum; }

is_ready() {
    [[ -f $STAMP ]] && [[ $(cat "$STAMP") == "$(fingerprint)" ]] && "$VENV/bin/python" -c '' 2>/dev/null
}

# An interpreter on the PATH may be a shim that only fails, so each candidate is run; $1 is what it has to import.
find_python() {
    local candidate
    local candidates=(python3.13 python3.12 python3.11 python3 python3.14 python)
    [[ -z ${PYTHON:-} ]] || candidates=("$PYTHON")
    for candidate in "${candidates[@]}"; do
        if "$candidate" -c "import sys, $1; sys.exit(sys.version_info < (3, 11))" >/dev/null 2>&1; then
            # Shims choose by folder and name; the interpreter itself does not.
            "$candidate" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    return 1
}

# Debian splits venv and ensurepip from Python.
install_python() {
    local log
    if [[ -n ${PYTHON:-} ]]; then
        die "PYTHON=$PYTHON does not run, is older than 3.11 or cannot make virtual environments: name another one or unset it"
    elif [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
        say "installing python3 and python3-venv with apt-get"
        export DEBIAN_FRONTEND=noninteractive
        log=$({ apt-get update -qq && apt-get install -y -qq --no-install-recommends python3 python3-venv; } 2>&1) \
            || { echo "$log" >&2; die "apt-get could not install python3 and python3-venv (see its message above)"; }
    elif find_python venv >/dev/null; then
        die "this Python cannot make virtual environments: install its venv package (Debian and Ubuntu: sudo apt-get install python3-venv)"
    else
        die "no Python 3.11 or newer was found: install one with its venv package (Debian and Ubuntu: sudo apt-get install python3 python3-venv), or name it with PYTHON=..."
    fi
}

is_ready && exit 0

# Two targets of `make -j` may get here at once: the second one waits and then finds the work done.
if command -v flock >/dev/null; then
    exec 9>".setup.lock"
    flock 9
    is_ready && exit 0
fi

python=$(find_python "venv, ensurepip") || { install_python; python=$(find_python "venv, ensurepip"); } \
    || die "the Python that apt-get installed is older than 3.11 or has no venv: install Python 3.11 or newer, or name it with PYTHON=..."

say "$VENV: $("$python" --version), $(grep -c '==' "$LOCK") packages from $LOCK (first time: up to a minute)"
rm -f "$STAMP"
"$python" -m venv --clear "$VENV"
# --no-deps: the lock is complete, and older pips refuse a hashed requirement that is also asked for with extras.
pip() { PIP_DISABLE_PIP_VERSION_CHECK=1 "$VENV/bin/python" -m pip "$@"; }
locked=(--quiet --no-deps --require-hashes --requirement)

# uv takes a tenth of pip's time. It does not know where pip was told to get packages from, nor each machine's certificates.
install_by_uv() {
    ! pip config list | grep -qE 'index|proxy' \
        && pip install "${locked[@]}" <(awk '/^[^ ]/ { of_uv = /^uv==/ } of_uv' "$LOCK") \
        && "$VENV/bin/uv" pip install --python "$VENV/bin/python" "${locked[@]}" "$LOCK"
} 2>/dev/null

# After it a new beginning: pip believes the names of what is half installed.
install_by_uv || { "$python" -m venv --clear "$VENV" && pip install --progress-bar off "${locked[@]}" "$LOCK"; } \
    || die "the packages of $LOCK could not be installed (see pip's message above)"
fingerprint > "$STAMP"
say "$VENV is ready"
