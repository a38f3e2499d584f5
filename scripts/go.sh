#!/usr/bin/env bash
# Print the folder of a `go` that is new enough to build MinIO and VersityGW (1.25).
#
# Looked for on the PATH and in our cache. Debian 12's is too old, but any Go can fetch a newer one from the module proxy, where it lies as
# a module, checked against the checksum database: that is what GOTOOLCHAIN does since Go 1.21, and what is done here by hand.
# As root on a Debian without any Go, Debian's own is installed first.
# Fails with one sentence where none can be had.
set -euo pipefail

LEAST=25 # of 1.25
WANTED=1.25.5
CACHE=${LIVEMEM_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/live-memory}/go

say() { echo "go: $*" >&2; }
die() { say "$*"; exit 1; }

# Prints the folder of a program that is new enough.
works() {
    local minor
    minor=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
    [[ -n $minor ]] && ((minor >= LEAST)) && dirname "$(command -v "$1")"
}

works go && exit 0
works "$CACHE/bin/go" && exit 0

case $(uname -s)-$(uname -m) in
    Linux-x86_64) platform=linux-amd64 ;;
    Linux-aarch64) platform=linux-arm64 ;;
    Darwin-arm64) platform=darwin-arm64 ;;
    Darwin-x86_64) platform=darwin-amd64 ;;
    *) die "install Go 1.$LEAST or newer" ;;
esac
if ! command -v go >/dev/null; then
    if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then die "install Go 1.$LEAST or newer"; fi
    say "installing Debian's golang-go, to fetch Go $WANTED with"
    log=$({ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends golang-go; } 2>&1) \
        || { echo "$log" >&2; die "apt-get could not install golang-go (see its message above)"; }
fi
say "fetching Go $WANTED into $CACHE"
work=$CACHE.part
# An unpacked module is read-only unless asked otherwise.
rm -rf "$work"
module=golang.org/toolchain@v0.0.1-go$WANTED.$platform
(cd / && GOPATH=$work GOFLAGS=-modcacherw GO111MODULE=on go mod download "$module") \
    || die "Go $WANTED could not be fetched from the module proxy (see go's message above)"
folder=$work/pkg/mod/$module
# Modules carry no permissions.
chmod 755 "$folder"/bin/* "$folder"/pkg/tool/*/*
rm -rf "$CACHE"
mv "$folder" "$CACHE"
rm -rf "$work"
works "$CACHE/bin/go" || die "Go $WANTED was fetched and does not run"
