# `make demo-memories`: a room is listened to, what matters in it becomes memories, and an agent answers from them.
#
# The messages of room.ndjson are posted as those of a day that ended an hour ago: the first part is digested because a
# digest was missed, the second by hand. It succeeds only if each message was digested once, a fact that was said twice
# is one memory or is linked to the other one, and each answer rests on a memory that answers it. The LLM decides
# whether two facts are one. The offline LLM does so only for the same words.
. examples/story/stage.sh
export LIVEMEM_SPACE=team

# digest NUMBER: wait until so many digests have ended.
digest() {
    await "Digest $1 had not ended" "len(d['items']) == $1 and d['items'][0]['status'] != 'running'" api jobs list --kind digest
    [[ $(value 'd["items"][0]["status"]') == done ]] || fail "The digest failed."
    value '"  {messages} messages: {new} new memories, {merged} merged.".format(**d["items"][0]["result"])'
}

# waiting: fail where a message waits for a digest.
waiting() {
    ask lead api rooms list_messages --room build
    [[ $(value 'len(d["items"])') == 0 ]] || fail "Not every message was digested once."
}

question() {
    run lead ask "$1" --room build --user ann
    show
    answer=${answer#*Sources} holds "$2" "The answer does not rest on a memory that answers the question."
}

run lead space create team --template standard
run lead remember "I am the memory of those who build Live Memory." --kind self -c context
run lead remember "I know only what was said in the room and what I was told." --kind self -c limitation
run lead remember "I want to know why things were decided." --kind goal -c understanding
"$PYTHON" - "$DATA" <<'END'
import json, sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

lines = [json.loads(line) for line in Path("examples/room.ndjson").read_text("utf-8").splitlines()]
later = datetime.now(UTC) - timedelta(hours=1) - datetime.fromisoformat(lines[-1]["timestamp"])
for line in lines:
    line["timestamp"] = f"{datetime.fromisoformat(line['timestamp']) + later:%Y-%m-%dT%H:%M:%SZ}"
for name, part in (("first", lines[:22]), ("rest", lines[22:])):
    Path(sys.argv[1], name).write_text(json.dumps({"items": part}), "utf-8")
END

printf '\nA day in a room: 41 messages of people and agents, small talk among them.\n'
run lead api rooms post_message --room build --body "@$DATA/first"
printf '\nNobody was there at the last hour of digests, so the first message made up for it.\n'
digest 1
ask lead api rooms post_message --room build --body "@$DATA/first"
[[ $(value 'all(one.get("digested") for one in d["items"])') == True ]] || fail "Digested messages came once more."
waiting
echo "The same 22 messages are posted once more: all are known, none is digested twice."
run lead api rooms post_message --room build --body "@$DATA/rest"
run lead api digests start
digest 2
waiting
ask lead api jobs list --kind digest
[[ $(value 'sum(one["result"]["messages"] for one in d["items"])') == 41 ]] || fail "Not every message was digested once."

ask lead api memories list_changes --limit 50
merged=$(value 'sum(one["what"] == "merged" for one in d["items"])')
ask lead api memories search --limit 50
printf '\nSome of what was kept:\n'
value '"\n".join(["  - " + one["content"] for one in d["items"] if one["kind"] == "fact"][:5])'
pairs=$(value '"\n".join("  - " + one["content"] + "\n    ~ " + two["content"] for one in d["items"] for two in d["items"]
    if one["memory_id"] < two["memory_id"] and two["memory_id"] in (one.get("similar_to") or []))')
((merged)) || [[ $pairs ]] || fail "Nothing that was said twice was merged or linked."
printf '\nSaid twice: %s facts were merged. These may say the same, and no LLM that can tell was asked:\n' "$merged"
head -4 <<<"$pairs"
echo
question "How long does the id of a deleted space stay blocked?" "21 minutes"
question "What happens to other tokens when a token is revoked?" "rotated"
question "Pourquoi n'avons-nous pas pris obstore ?" "obstore"
printf '\nAll 41 messages were digested once, what was said twice is one memory or linked, and each answer rests on a memory that has it. %s s.\n' $SECONDS
