"""Replays: a few lines of Python that show a fault again, run before they are printed."""

__all__: list[str] = []
