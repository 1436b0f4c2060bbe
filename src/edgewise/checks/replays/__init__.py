"""Replays: a few lines of Python that show a fault again, run before they are printed."""
