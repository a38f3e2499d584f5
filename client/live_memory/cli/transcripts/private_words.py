"""Words that a user marked as private never leave the machine: `<private>…</private>` becomes `[private]`.

The same words are replaced where they stand again in what is read with them, such as an answer that repeats them.
"""

import re

MARK = "[private]"
LEAST_CHARACTERS = 8
"""Characters of private words that are looked for elsewhere. Shorter ones are in harmless texts too."""
_TAG = re.compile(r"<\s{0,9}(/?)\s{0,9}private\s{0,9}>|<private\s[^<>]*>", re.IGNORECASE)


class PrivateWords:
    """The private words of texts that are read together."""

    def __init__(self) -> None:
        self._words: set[str] = set()

    def cut(self, text: str) -> str:
        """A text without its private parts. One without an end goes to the end of the text, also in a block of code."""
        parts: list[str] = []
        depth = at = 0
        for tag in _TAG.finditer(text):
            if not tag[1]:
                if not depth:
                    parts += [text[at : tag.start()], MARK]
                    at = tag.end()
                depth += 1
            elif depth:
                depth -= 1
                if not depth:
                    self._learn(text[at : tag.start()])
                    at = tag.end()
        if depth:
            self._learn(text[at:])
            return "".join(parts)
        return "".join(parts) + text[at:]

    def again(self, text: str) -> str:
        """A text without the private words of all texts that were cut before."""
        for words in sorted(self._words, key=len, reverse=True):
            text = text.replace(words, MARK)
        return text

    def _learn(self, words: str) -> None:
        # Parts with tags of their own may be repeated alone.
        for part in _TAG.sub("\0", words).split("\0"):
            if len(part.strip()) >= LEAST_CHARACTERS:
                self._words.add(part.strip())
