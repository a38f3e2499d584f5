# `make demo-conversations`: a long conversation is taken in, summarised in levels, and asked for its context.
#
# The put events of the turns of conversation.ndjson start the summaries. It succeeds only if every turn is there with
# its words, every level is whole, and each question's context holds a turn that answers it.
. examples/story/stage.sh
export LIVEMEM_SPACE=talk
turns=$(wc -l <examples/conversation.ndjson)
# With the usual tenth a talk of this length just reaches level 3. The pause between calls is for providers with limits.
parameters='{"ratio": 0.15'
[[ $OFFLINE_LLM != True ]] || parameters+=', "batch_delay_ms": 0'

question() { # TURN TURN QUESTION: one of the turns has the answer
    ask lead api search load_context --conversation-id "$talk" --q "$3" \
        --max-chars 4000 --max-turns 1 --raw-chars 1000 --limit 3
    [[ $(value 'd["degraded"]') == "[]" ]] || fail "The context is not whole: this machine is too busy."
    local characters
    characters=$(value 'd["chars"]')
    answer=$(value 'd["markdown"]')
    printf '\n── %s\n   Of its context of %s characters:\n\n' "$3" "$characters"
    sed -nE "/^\[Turn ($1|$2) -/,/^$/p" <<<"$answer" | grep . || fail "The context holds no turn that answers."
}

run lead space create talk --template standard
run lead api conversations create --title "The building of Live Memory" --cwd /home/ann/live-memory --host laptop \
    --parameters "$parameters}"
talk=$(value 'd["conversation_id"]')
"$PYTHON" -c 'import json, sys; print(json.dumps({"items": [json.loads(line) for line in sys.stdin]}))' \
    <examples/conversation.ndjson >"$DATA/turns"
printf '\nA talk of %s turns and %s bytes is imported: too many to send with each question.\n' "$turns" "$(wc -c <"$DATA/turns")"
await "The import was not done" "d['imported'] + d['repeated'] == $turns" \
    api conversations append_turn --conversation-id "$talk" --body "@$DATA/turns"
echo "Its put events start the summaries, which take a while."
for _ in 1 2 3; do # the next event may come a moment later
    await "The summaries were not ready" 'd["levels"][0]["sealed"] and all(
        one["sealed"] == one["summarised"] for one in d["levels"])' api conversations get --conversation-id "$talk"
    value '"  " + ", ".join("level %s: %s" % (n, one["sealed"]) for n, one in enumerate(d["levels"], 1))'
    await "A job had not ended" 'all(one["status"] == "done" for one in d["items"])' api jobs list --kind summaries --subject "$talk"
    sleep 2
done
fields='"\n".join(one["message_id"] + one["user_message"] + one["assistant_message"] for one in d["items"])'
ask lead api conversations list_turns --conversation-id "$talk" --order oldest --all
answer="{\"items\": [$(paste -sd, - <<<"$answer")]}"
there=$(value "$fields")
answer=$(<"$DATA/turns")
[[ $there == "$(value "$fields")" ]] || fail "The log is not what was imported."
ask lead api usage get --days 1
value '"{calls:,} calls of the LLM, {tokens:,} tokens.".format(**d["total"])'
ask lead api conversations list_summaries --conversation-id "$talk" --level 3 --limit 1
[[ $(value 'd["items"]') != "[]" ]] || fail "The talk did not reach the highest level."
printf '\n── The highest summary:\n\n'
value 'd["items"][0]["summary"]'
# Meanwhile the indexer embeds the turns.
await "The search did not know all turns by their meaning" \
    'not d["view"]["unread"] and (not d.get("unembedded") or d["ranking"] == "bm25")' api search space --q consolidation --limit 1
question 10 93 "Why does a consolidation commit by a compare-and-swap of _meta.json instead of a lock, and what is the lease for then?"
question 49 70 "Why must VersityGW not be run with --sidecar, and why does the probe not notice?"
question 81 98 "Pourquoi un espace supprimé garde-t-il une pierre tombale, et pourquoi son identifiant reste-t-il bloqué 21 minutes ?"
printf '\nAll %s turns are there word for word, every level is whole, and each context holds a turn that answers. %s s.\n' "$turns" $SECONDS
