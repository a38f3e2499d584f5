#!/usr/bin/env bash
# Build the image of the self-hosted server (Dockerfile), also where Docker reaches no registry of images.
#
#   scripts/image.sh [TAG]       (default: live-memory:VERSION)
#
# The base image is pulled. Where that fails, on Debian, a stand-in is made of Debian 13's packages: Python 3.13 and a shell, about as large as
# the real one. It has this machine's certificates, so that pip reaches from it what it reaches from here.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "image: $*" >&2; }
die() { say "$*"; exit 1; }

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
tag=${1:-live-memory:$version}
base=$(sed -n 's/^ARG BASE=//p' Dockerfile)
docker version >/dev/null 2>&1 || die "no Docker daemon answers"

if ! docker image inspect "$base" >/dev/null 2>&1 && ! timeout 300 docker pull --quiet "$base" >/dev/null 2>&1; then
    base=live-memory-base:$(sha256sum "$0" scripts/debian_packages.sh | sha256sum | cut -c 1-16)
    if ! docker image inspect "$base" >/dev/null 2>&1; then
        grep -qs '^ID=debian$' /etc/os-release || die "the base image can't be pulled, and a stand-in is made on Debian alone"
        say "no registry of images answers: making $base of Debian's packages"
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
        scripts/debian_packages.sh "$work/root" base-files dash coreutils python3.13 python3.13-venv libstdc++6 tzdata media-types \
            || die "the packages could not be had (see apt's message above)"
        ln -s python3.13 "$work/root/usr/bin/python3"
        ln -sf dash "$work/root/usr/bin/sh"
        mkdir -p "$work/root/etc/ssl/certs" "$work/root/tmp"
        chmod 1777 "$work/root/tmp"
        cp /etc/ssl/certs/ca-certificates.crt "$work/root/etc/ssl/certs/"
        printf '[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n' > "$work/root/etc/pip.conf"
        tar -C "$work/root" --numeric-owner --owner=0 --group=0 --sort=name -cf - . \
            | docker import --change 'ENV PATH=/usr/local/bin:/usr/bin:/bin' - "$base" >/dev/null
    fi
fi
# The build installs from the package registry as this machine does.
docker build --quiet --network host --build-arg "BASE=$base" --tag "$tag" . >/dev/null || die "docker build failed (see its message above)"
say "built $tag: $(($(docker image inspect --format '{{.Size}}' "$tag") / 1000000)) MB, on $base"
