#!/usr/bin/env bash
# `sam build` with verified packages and precompiled layers.
#
#   [ARCHITECTURE=arm64|x86_64] [BUILD_DIR=.aws-sam/build] scripts/sam_build.sh [ARGUMENTS OF sam build]
#
# Three things that `sam build` alone leaves undone:
# - It fetches wheels for another architecture than the machine's by name and version alone, whatever the hashes of the lock say. So they are
#   downloaded and verified here first, and SAM's pip may look nowhere else.
# - It ships files that are not in git (scripts/generated.py) as they lie there, or not at all.
# - It ships no .pyc files, so Python compiles every module again at each cold start.
set -euo pipefail
cd "$(dirname "$0")/.."

ARCHITECTURE=${ARCHITECTURE:-arm64}
BUILD_DIR=${BUILD_DIR:-.aws-sam/build}
LAYERS=(LivememLayer:layers/livemem SearchLayer:layers/search McpLayer:layers/mcp SigninLayer:layers/signin)
WHEELS=$PWD/.aws-sam/wheels/$ARCHITECTURE
# What Amazon Linux 2023, under the python3.13 runtime, can load (glibc 2.34).
case $ARCHITECTURE in
    arm64) machine=aarch64 ;;
    x86_64) machine=x86_64 ;;
    *) echo "sam_build: ARCHITECTURE is arm64 or x86_64, not $ARCHITECTURE" >&2; exit 2 ;;
esac

folder=$(scripts/python313.sh)
export PATH=$folder:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1 SAM_CLI_TELEMETRY=${SAM_CLI_TELEMETRY:-0}
python3.13 -m scripts.generated

download() {
    local layer
    for layer in "${LAYERS[@]}"; do
        python3.13 -m pip download --quiet --progress-bar off --require-hashes --no-deps --only-binary=:all: \
            --dest "$WHEELS" --requirement "${layer#*:}/requirements.txt" "$@"
    done
}
rm -rf "$WHEELS" && mkdir -p "$WHEELS"
# SAM's pip asks for the machine's own wheels first, and for the target's where those don't fit.
download
download --python-version 3.13 --implementation cp --abi cp313 --abi abi3 --abi none \
    --platform "manylinux_2_34_$machine" --platform "manylinux_2_28_$machine" --platform "manylinux2014_$machine" --platform "manylinux_2_17_$machine"

# "requirements.txt file not found" for a function is as it should be: all requirements are in the layers.
PIP_NO_INDEX=1 PIP_FIND_LINKS=$WHEELS .venv-sam/bin/sam build --build-dir "$BUILD_DIR" --parameter-overrides "Architecture=$ARCHITECTURE" "$@"

# What the machine's own Python left in the source folders does not belong to the product.
find "$BUILD_DIR" -name '*.pyc' -delete
# Unchecked: the archive's file times say nothing about the sources.
for layer in "${LAYERS[@]}"; do
    folder=$BUILD_DIR/${layer%%:*}
    python3.13 -m compileall -q -j 0 --invalidation-mode unchecked-hash "$folder/python"
    echo "sam_build: $ARCHITECTURE layer ${layer%%:*} of $(du -sm "$folder" | cut -f1) MB (Lambda takes 250 MB unpacked, of all together)" >&2
done
