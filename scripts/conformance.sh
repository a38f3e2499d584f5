#!/usr/bin/env bash
# Get the official conformance suite of MCP, and a Node that is new enough for it; prints the two programs, one a line.
#
# The suite comes by npm, pinned with hashes in tests/e2e/conformance/package-lock.json, and with it the Node that it needs (Linux, and
# Macs with an Intel processor; others need their own). Both stay in the cache; another lock goes to another folder.
# As root on a Debian without npm, Debian's own is installed first.
# Fails with one sentence where it cannot be had.
set -euo pipefail
cd "$(dirname "$0")/../tests/e2e/conformance"

LEAST=22
CACHE=${LIVEMEM_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/live-memory}/mcp-conformance
FOLDER=$CACHE/$(cat package.json package-lock.json | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c 1-16)

say() { echo "conformance: $*" >&2; }
die() { say "$*"; exit 1; }

# Whether a program is a Node that is new enough.
works() { [[ $("$1" --version 2>/dev/null) =~ ^v([0-9]+)\. ]] && ((BASH_REMATCH[1] >= LEAST)); }

if [[ ! -f $FOLDER/done ]]; then
    if ! command -v npm >/dev/null; then
        if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then die "install npm, by which the suite comes"; fi
        say "installing Debian's npm, to fetch the suite with"
        log=$({ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends npm; } 2>&1) \
            || { echo "$log" >&2; die "apt-get could not install npm (see its message above)"; }
    fi
    say "fetching the suite into $FOLDER"
    work=$FOLDER.$$
    mkdir -p "$work"
    cp package.json package-lock.json "$work"
    # Nothing of what is fetched runs while it is installed.
    log=$(cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error 2>&1) \
        || { echo "$log" >&2; rm -rf "$work"; die "npm could not fetch the suite (see its message above)"; }
    touch "$work/done"
    rm -rf "$FOLDER"
    mv "$work" "$FOLDER"
fi

for node in node "$FOLDER"/node_modules/node-*/bin/node; do
    if works "$node"; then
        command -v "$node"
        echo "$FOLDER/node_modules/@modelcontextprotocol/conformance/dist/index.js"
        exit 0
    fi
done
die "install Node $LEAST or newer"
