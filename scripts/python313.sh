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
    for candidate in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.13.*/bin/python3.13 "$CACHE/root/usr/bin/python3.13"; do
        [[ -x $candidate ]] && works "$candidate" && return
    done
    return 1
}

# Unpack python3.13 and everything that it needs, down to the C library, from Debian 13.
unpack_from_debian() {
    local root=$CACHE.part/root loader
    mkdir -p "$CACHE.part"
    "$(dirname "$0")"/debian_packages.sh "$root" python3.13 python3-pip || return
    loader=$(cd "$root" && find usr/lib -name 'ld-linux-*.so.*' | head -1)
    mv "$root/usr/bin/python3.13" "$root/usr/bin/python3.13.real"
    cat > "$root/usr/bin/python3.13" <<SH
#!/bin/sh
# Runs Debian 13's Python with Debian 13's C library, whatever the machine's own is.
root=\$(cd "\$(dirname "\$(readlink -f "\$0")")/../.." && pwd)
exec "\$root/$loader" --argv0 "\$root/usr/bin/python3.13" --library-path "\$root/$(dirname "$loader")" "\$root/usr/bin/python3.13.real" "\$@"
SH
    chmod 755 "$root/usr/bin/python3.13"
    rm -rf "$CACHE"
    mv "$CACHE.part" "$CACHE"
}

find_python && exit 0

if command -v apt-get >/dev/null && grep -qs '^ID=debian$' /etc/os-release; then
    say "none on this machine; unpacking Debian 13's into $CACHE"
    unpack_from_debian || die "it could not be unpacked from Debian's packages (see apt's message above)"
    find_python && exit 0
fi
die "not found: install Python 3.13 (pyenv install 3.13, or your distribution's python3.13), or run sam build --use-container with Docker"
