#!/usr/bin/env bash
# Make a stand-in for Lambda's image of Python 3.13, for machines whose Docker reaches no registry (Debian, with a Docker daemon).
#
#   scripts/lambda_image.sh [IMAGE]       (default: public.ecr.aws/lambda/python:3.13-ARCHITECTURE, the one that `sam local` asks for)
#
# It has what `sam local` needs of that image: Debian's Python 3.13, Lambda's folders, and a /var/runtime/bootstrap that starts Lambda's runtime
# interface client. SAM itself adds the emulator of Lambda that calls it. It has no boto3: all that functions import is in their layers.
# Does nothing when the image is there, unless an older version of this file made it.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "lambda_image: $*" >&2; }
die() { say "$*"; exit 1; }

case $(uname -m) in
    x86_64) architecture=x86_64 platform=linux/amd64 ;;
    aarch64) architecture=arm64 platform=linux/arm64 ;;
    *) die "Lambda has no $(uname -m)" ;;
esac
image=${1:-public.ecr.aws/lambda/python:3.13-$architecture}

docker version >/dev/null 2>&1 || die "no Docker daemon answers"
made_by=$(cat "$0" scripts/debian_packages.sh | sha256sum | cut -c 1-64)
if found=$(docker image inspect --format '{{index .Config.Labels "live-memory.made-by"}}' "$image" 2>/dev/null); then
    # Lambda's own has no such label.
    [[ -n $found && $found != "$made_by" ]] || exit 0
fi
grep -qs '^ID=debian$' /etc/os-release || die "it is made of Debian's packages, on Debian: pull $image instead"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
say "unpacking Debian 13's Python 3.13"
# The shell and the tools are for the steps with which SAM derives its own images from this one, libstdc++ is what wheels expect of a system.
scripts/debian_packages.sh "$root" base-files dash coreutils python3.13 libstdc++6 ca-certificates tzdata || die "the packages could not be had (see apt's message above)"
mkdir -p "$root"/var/{task,runtime} "$root/etc/ssl/certs"
# What the package's own script does.
cat "$root"/usr/share/ca-certificates/mozilla/*.crt > "$root/etc/ssl/certs/ca-certificates.crt"

say "getting the runtime interface client"
cat > "$work/requirements.txt" <<'TXT'
awslambdaric==4.2.2 \
    --hash=sha256:2215bca01bbdbdfa9579bb4204f55d3e91e6dee589b88f8f9d20a285a790c468 \
    --hash=sha256:bd3ebafddd6c3283a2c7f121164f304273256c7fe3f9847be44d0c5f6fd2d792
simplejson==4.3.0 \
    --hash=sha256:2091df1a8ad3ab6920d5f47527548cfd7a636bc09d91b824db23c7e0c1ddbef2 \
    --hash=sha256:067473d6df8c185d6b32926373de6c0069c5b351b3caa340eb547db42c722bc7
snapshot-restore-py==1.0.0 \
    --hash=sha256:38f99e696793790f54658e71c68c7a8a40cea877c81232b5052383b1301aceba
TXT
PIP_DISABLE_PIP_VERSION_CHECK=1 "$(scripts/python313.sh)"/python3.13 -m pip install --quiet --root-user-action=ignore --require-hashes --no-deps \
    --only-binary=:all: --target "$root/var/runtime" --requirement "$work/requirements.txt"

cat > "$root/var/runtime/bootstrap" <<'SH'
#!/bin/sh
# The emulator starts this, with the handler in _HANDLER. Layers come before what is here, and the function before them.
export AWS_EXECUTION_ENV=AWS_Lambda_python3.13
export PYTHONPATH=/var/task:/opt/python/lib/python3.13/site-packages:/opt/python:/var/runtime
cd /var/task && exec /usr/bin/python3.13 /var/runtime/start.py
SH
cat > "$root/var/runtime/start.py" <<'PY'
"""Start the runtime interface client. A failed function's answer loses its `requestId`: with it, SAM takes the failure for a result."""

import os
import sys

from awslambdaric import __main__, bootstrap

make_error = bootstrap.make_error


def make_short_error(*arguments, **named):
    error = make_error(*arguments, **named)
    error.pop("requestId", None)
    return error


bootstrap.make_error = make_short_error
__main__.main([sys.argv[0], os.environ["_HANDLER"]])
PY
chmod 755 "$root/var/runtime/bootstrap"
"$(scripts/python313.sh)"/python3.13 -m compileall -q -j 0 --invalidation-mode unchecked-hash "$root/var/runtime" "$root/usr/lib/python3.13"

tar -C "$root" --numeric-owner --owner=0 --group=0 --sort=name -cf - . | docker import --platform "$platform" \
    --change 'ENV LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin:/opt/bin LD_LIBRARY_PATH=/var/task:/var/task/lib:/opt/lib' \
    --change 'ENV LAMBDA_TASK_ROOT=/var/task LAMBDA_RUNTIME_DIR=/var/runtime' \
    --change 'WORKDIR /var/task' --change "LABEL live-memory.made-by=$made_by" - "$image" >/dev/null
# SAM keeps what it has derived from the former one, by name.
docker images --format '{{.Repository}}:{{.Tag}}' "samcli/lambda-python:3.13-$architecture-*" | xargs --no-run-if-empty docker rmi --force >/dev/null
docker run --rm "$image" /usr/bin/python3.13 -c 'import sqlite3, ssl, sys, zoneinfo; zoneinfo.ZoneInfo("Europe/Paris"); ssl.create_default_context(); sys.path.insert(0, "/var/runtime"); import awslambdaric.bootstrap' \
    || die "the image was made and its Python does not run"
say "made $image"
