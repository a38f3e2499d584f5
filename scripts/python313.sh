#!/usr/bin/env bash
# Print the folder of a python3.13 that runs and has pip: `sam build` looks for that very name on the PATH.
#
# Looked for on the PATH, among pyenv's versions, then in our cache. On Debian without one (12 has 3.11) it is unpacked into the cache
# from the packages of Debian 13, with their own C library: nothing is installed and the machine stays as it is.
# Fails with one sentence where none can be had.
set -euo pipefail

CACHE=${LIVEMEM_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/live-memory}/python3.13

say() { echo "python3.13: $*" >&2; }
die() { say "$*"; exit 1; }

# A name on the PATH may be a shim that only fails, so it is run. Prints the folder.
works() {
    "$1" -c 'import sys, pip, pathlib; assert sys.version_info[:2] == (3, 13); print(pathlib.Path(sys.executable).parent)' 2>/dev/null
}

find_python() {
    local candidate
    works python3.13 && return
    for candidate in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.13.*/bin/python3.13 "$CACHE"/root/usr/bin/python3.13; do
        [[ -x $candidate ]] && works "$candidate" && return
    done
    return 1
}

# Unpack python3.13 and everything that it needs, down to the C library, from Debian 13.
unpack_from_debian() {
    local work=$CACHE.part mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg package loader
    # shellcheck disable=SC2016 # apt-get expands it
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/*$') || mirror=http://deb.debian.org/debian
    rm -rf "$work"
    mkdir -p "$work"/{root,state/lists/partial,cache/archives/partial}
    : > "$work/status"
    echo "deb [signed-by=$keyring] $mirror trixie main" > "$work/sources.list"
    local apt=(apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State="$work/state"
        -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none
        -o Acquire::Retries=3 -o APT::Install-Recommends=false -o Debug::NoLocking=1)
    "${apt[@]}" update >&2
    # With an empty list of installed packages, apt downloads the whole closure.
    "${apt[@]}" install --download-only -y python3.13 python3-pip >/dev/null
    for package in "$work"/cache/archives/*.deb; do
        # tar's own message about ownership is of no interest to somebody who is not root
        dpkg-deb --fsys-tarfile "$package" | tar -C "$work/root" --no-same-owner --keep-directory-symlink -xf -
    done
    loader=$(cd "$work/root" && find usr/lib -name 'ld-linux-*.so.*' | head -1)
    mv "$work/root/usr/bin/python3.13" "$work/root/usr/bin/python3.13.real"
    cat > "$work/root/usr/bin/python3.13" <<SH
#!/bin/sh
# Runs Debian 13's Python with Debian 13's C library, whatever the machine's own is.
root=\$(cd "\$(dirname "\$(readlink -f "\$0")")/../.." && pwd)
exec "\$root/$loader" --argv0 "\$root/usr/bin/python3.13" --library-path "\$root/$(dirname "$loader")" "\$root/usr/bin/python3.13.real" "\$@"
SH
    chmod 755 "$work/root/usr/bin/python3.13"
    rm -rf "$CACHE" "$work"/{state,cache,status,sources.list}
    mv "$work" "$CACHE"
}

find_python && exit 0

if command -v apt-get >/dev/null && grep -qs '^ID=debian$' /etc/os-release; then
    say "none on this machine; unpacking Debian 13's into $CACHE"
    unpack_from_debian || die "it could not be unpacked from Debian's packages (see apt's message above)"
    find_python && exit 0
fi
die "not found: install Python 3.13 (pyenv install 3.13, or your distribution's python3.13), or run sam build --use-container with Docker"
