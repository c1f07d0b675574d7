"""Timers that tick faster than in life: what is tested is the order of things, not the time."""

import pytest

from fairlead.kube import pipeline


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "TICK", 0.02)
    monkeypatch.setattr(pipeline, "FIRST_PAUSE", 0.01)
