#!/usr/bin/env bash
# Unpack packages of Debian 13 into a folder, with everything that they need down to the C library.
#
#   scripts/debian_packages.sh FOLDER PACKAGE...       (on Debian; the folder is made anew)
#
# Nothing is installed: the machine stays as it is, and no script of a package is run.
set -euo pipefail

folder=$1
shift
work=$folder.packages
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2016 # apt-get expands it
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/*$') || mirror=http://deb.debian.org/debian
rm -rf "$folder" "$work"
mkdir -p "$folder"/usr/{bin,lib,lib64,sbin} "$work"/{state/lists/partial,cache/archives/partial}
# As Debian has them: packages may name either.
for name in bin lib lib64 sbin; do ln -s "usr/$name" "$folder/$name"; done
: > "$work/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" > "$work/sources.list"
apt=(apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State="$work/state"
    -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none
    -o Acquire::Retries=3 -o APT::Install-Recommends=false -o Debug::NoLocking=1)
"${apt[@]}" update >&2
# With an empty list of installed packages, apt downloads the whole closure.
"${apt[@]}" install --download-only -y "$@" >/dev/null
for package in "$work"/cache/archives/*.deb; do
    # tar's own message about ownership is of no interest to somebody who is not root
    dpkg-deb --fsys-tarfile "$package" | tar -C "$folder" --no-same-owner --keep-directory-symlink -xf -
done
