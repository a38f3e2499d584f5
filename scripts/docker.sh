#!/usr/bin/env bash
# Have a Docker daemon answer, for machines that have none (CI): install Docker from the distribution and start the daemon.
#
#   scripts/docker.sh [LOG]       (default: /var/log/livemem-dockerd.log; root, Debian)
#
# Prints the daemon's process id if it was started here, and nothing if one answers already; who started it stops it.
# Fails with one sentence, and the end of the daemon's log, where none can be had.
set -euo pipefail

LOG=${1:-/var/log/livemem-dockerd.log}
READY_SECONDS=45

say() { echo "docker: $*" >&2; }
die() { say "$*"; exit 1; }
answers() { docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

answers && exit 0
[[ $(id -u) == 0 ]] || die "no daemon answers: start Docker"
if ! command -v dockerd >/dev/null || ! command -v docker >/dev/null; then
    command -v apt-get >/dev/null || die "install Docker"
    say "installing docker.io with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    # Without its recommends, the package leaves iptables out.
    packages=(docker.io iptables)
    # The package of Debian 13 leaves the client out as well.
    apt-cache show docker-cli >/dev/null 2>&1 && packages+=(docker-cli)
    log=$({ apt-get update -qq && apt-get install -y -qq --no-install-recommends "${packages[@]}"; } 2>&1) \
        || { echo "$log" >&2; die "apt-get could not install docker.io (see its message above)"; }
    answers && exit 0 # where the package starts it as a service
fi

# Not each kernel has what each storage driver and each iptables need: the first combination that answers is taken.
start() {
    local pid second
    # Its own session, no terminal and no inherited descriptors: it must not keep the caller's pipes open.
    setsid dockerd --storage-driver "$1" >"$LOG" 2>&1 </dev/null &
    pid=$!
    for ((second = 0; second < READY_SECONDS; second++)); do
        if answers; then echo "$pid"; return 0; fi
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 1
    done
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    return 1
}

# A daemon that was killed leaves its number behind, and the next one believes it as soon as any process has that number.
forget_dead() {
    local file=$1 name=$2 pid
    pid=$(cat "$file" 2>/dev/null) || return 0
    [[ $(readlink "/proc/$pid/exe") == */"$name" ]] || rm -f "$file" # the dead whom nobody buried yet have no program
}
forget_dead /var/run/docker.pid dockerd
forget_dead /var/run/docker/containerd/containerd.pid containerd

say "starting dockerd"
start overlay2 && exit 0
if command -v iptables-legacy >/dev/null; then
    say "dockerd did not start; trying with iptables-legacy"
    update-alternatives --set iptables "$(command -v iptables-legacy)" >/dev/null
    start overlay2 && exit 0
    update-alternatives --auto iptables >/dev/null
fi
say "dockerd did not start; trying with the vfs storage driver"
start vfs && exit 0
tail -30 "$LOG" >&2
die "dockerd does not start here (see its log above)"
