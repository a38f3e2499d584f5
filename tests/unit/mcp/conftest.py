import pytest


@pytest.fixture(autouse=True)
def namespace_of_metrics(monkeypatch):
    """As the template sets it: a question that was asked is counted."""
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "LiveMemory")
