#!/usr/bin/env bash
# Print the path of a Chromium for the tests of the page.
#
# CHROMIUM=... names one; otherwise the first one on the PATH is taken. As root on Debian, Debian's own is installed first where there is none.
# The one without windows goes first: a visit costs a third of the time of the whole browser's.
# Fails with one sentence where it cannot be had.
set -euo pipefail

die() { echo "browser: $*" >&2; exit 1; }

find_chromium() {
    local name
    for name in chromium-headless-shell chromium chromium-browser google-chrome; do command -v "$name" && return; done
    return 1
}

if [[ -n ${CHROMIUM:-} ]]; then
    [[ -x $CHROMIUM ]] || die "CHROMIUM=$CHROMIUM is no program"
    echo "$CHROMIUM"
    exit 0
fi
find_chromium && exit 0
[[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || die "install Chromium (Debian: sudo apt-get install chromium-headless-shell), or name it with CHROMIUM=..."
echo "browser: installing chromium with apt-get" >&2
export DEBIAN_FRONTEND=noninteractive
# With a font: a page of boxes is no screenshot.
log=$({ apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium-headless-shell fonts-dejavu-core; } 2>&1) \
    || { echo "$log" >&2; die "apt-get could not install chromium (see its message above)"; }
find_chromium || die "chromium is installed, but not on the PATH"
