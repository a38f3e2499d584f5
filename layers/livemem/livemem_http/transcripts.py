"""Conversations as Markdown, ready for a prompt: each turn or summary is an item, and no text can forge an item."""

from livemem.text.items import joined, within_item
from livemem.text.speakers import all_said_by, said_by
from livemem_http.views.conversations import ConversationPage, ListedConversation
from livemem_http.views.summaries import SummaryPage, SummaryView
from livemem_http.views.turns import TurnPage, TurnView


def conversations(answer: ConversationPage) -> str:
    """A page of conversations, one item each."""
    return joined("\n".join(map(_conversation, answer.items)) or "No conversations.", _more(answer.next_cursor))


def turns(answer: TurnPage) -> str:
    """A page of turns, one item each, in the order of the page."""
    return joined("\n".join(map(_turn, answer.items)) or "No turns.", _more(answer.next_cursor))


def summaries(answer: SummaryPage) -> str:
    """A page of summaries, one item each."""
    return joined("\n".join(map(_summary, answer.items)) or "No summaries.", _more(answer.next_cursor))


def _more(cursor: str | None) -> str:
    return f"There are more: cursor={cursor}" if cursor else ""


def _conversation(one: ListedConversation) -> str:
    facts = [one.conversation_id, f"{one.turn_count} turns", f"last {one.last_activity}"]
    facts += [within_item(one.cwd)] if one.cwd else []
    title = f" {within_item(one.title)}" if one.title else ""
    lines = [f"- [{', '.join(facts)}]{title}"]
    lines += [f"  Last: {within_item(one.last_message)}"] if one.last_message else []
    return "\n".join(lines)


def _turn(one: TurnView) -> str:
    token = one.written_by or one.author
    named = [one.user, one.author if one.written_by or not one.user else None]
    who = within_item(said_by(", ".join(filter(None, named)), token))
    lines = [f"- [Turn {one.turn_index}, {one.said_at}, {who}]"]
    # A message that names its author belongs to that person or agent, in any role.
    author = f"{within_item(one.author)}: " if one.written_by else ""
    if one.user_message:
        # Of a whole turn it is the speaker of the other side.
        asks = author if one.role else f"{within_item(one.user)}: " if one.user and author else ""
        lines.append(f"  {asks or (one.role or 'user').capitalize() + ': '}{within_item(one.user_message)}")
    if one.assistant_message:
        lines.append(f"  {author or 'Assistant: '}{within_item(one.assistant_message)}")
    names = dict.fromkeys(within_item(call.name) for call in one.tool_calls or ())
    if names:
        lines.append(f"  Tools: {', '.join(names)}")
    return "\n".join(lines)


def _summary(one: SummaryView) -> str:
    first, last = one.covers.turns
    others = all_said_by([(other.token, other.speaker) for other in one.written_for or ()])
    by = f", {within_item(others)}" if others else ""
    head = f"- [Level {one.level} Summary {one.number}, turns {first} to {last}, until {one.range_end}{by}]"
    if one.summary is None:
        return f"{head} pending"
    lines = [head, f"  {within_item(one.summary)}"]
    for title, items in (
        ("Key findings", one.key_findings),
        ("Files mentioned", one.files_mentioned),
        ("Tools used", one.tools_used),
    ):
        if items:
            lines.append(f"  {title}: {'; '.join(map(within_item, items))}")
    return "\n".join(lines)
