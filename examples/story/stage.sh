# What the stories share. Each is a script for bash that plays on an empty service of its own (`make demo`), with
# `livemem` as its users do. It fails where it can't show what it is to show.
set -euo pipefail
token_lead=$ADMIN_TOKEN
answer=""

fail() {
    printf '\nThe demo failed. %s\n' "$1" >&2
    exit 1
}

# ask WHO COMMAND...: what the command answers to somebody is in `answer`.
ask() {
    local token=token_$1
    answer=$(LIVEMEM_TOKEN=${!token} "$PYTHON" -m live_memory.cli "${@:2}" 2>"$DATA/error") ||
        fail "livemem ${*:2}: $(<"$DATA/error") $answer"
}

# run WHO COMMAND...: the same, and the command is shown as its user types it.
run() {
    local part line="$1\$ livemem"
    for part in "${@:2}"; do
        if [[ $part == *\"* ]]; then part="'$part'"; elif [[ $part =~ [^A-Za-z0-9_./:=@-] ]]; then part="\"$part\""; fi
        line+=" $part"
    done
    printf '%s\n' "$line"
    ask "$@"
}

# show [SED]: the lines of `answer` that are not empty, after an edit.
show() { sed -E "${1:-};/^[ +-]*$/d;s/^/  /" <<<"$answer"; }

# value EXPRESSION: what an expression of Python makes of a JSON `answer`, which it calls d.
value() {
    "$PYTHON" -c 'import json, sys
d = json.load(sys.stdin)
print("".join(sign for sign in str(eval(sys.argv[1])) if sign.isprintable() or sign in "\n\t"))' "$1" <<<"$answer"
}

# await WHAT CONDITION COMMAND...: repeat a command of the lead until the condition is true of its answer.
await() {
    local end=$((SECONDS + PATIENCE))
    while ask lead "${@:3}" && [[ $(value "bool($2)") != True ]]; do
        ((SECONDS < end)) || fail "$1 after $PATIENCE s."
        sleep 0.3
    done
}

# holds TEXT WHAT: fail where the answer has not this text.
holds() { [[ $answer == *"$1"* ]] || fail "$2"; }
