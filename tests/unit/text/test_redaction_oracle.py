"""What detect-secrets finds in a text it finds no more once the text is redacted."""

import pytest
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.slack import SlackDetector
from hypothesis import given
from hypothesis import strategies as st

from livemem.text.redaction import redact
from tests.support import leaks

NAMED = st.builds(
    lambda place, *parts: place.format(*parts), st.sampled_from(["{} = '{}'", '"{}": "{}",', "{} '{}'"]),
    leaks.AWS_NAMES, leaks.AWS_SECRET)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plugin", "secrets"),
    [
        (AWSKeyDetector(), leaks.AWS_ID | NAMED),
        (GitHubTokenDetector(), leaks.GITHUB),
        (JwtTokenDetector(), leaks.JWT),
        (OpenAIDetector(), leaks.OPENAI),
        (PrivateKeyDetector(), leaks.PRIVATE_KEY),
        (SlackDetector(), leaks.SLACK | leaks.SLACK_HOOK),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, RegexBasedDetector) else "",
)
@given(data=st.data())
def test_nothing_that_the_library_finds_is_left(plugin: RegexBasedDetector, secrets: st.SearchStrategy[str], data):
    # A URL holds no line breaks, a private key nothing else.
    places = [place for place in leaks.PLACES if "%" not in place or secrets is not leaks.PRIVATE_KEY]
    places = data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=4))
    text = "\n\n".join(place.format(data.draw(secrets)) for place in places)
    assert list(plugin.analyze_string(text))

    assert list(plugin.analyze_string(redact(text)[0])) == []
