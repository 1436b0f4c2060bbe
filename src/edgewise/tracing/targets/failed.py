"""The sentence for somebody else's code that has failed: what, where, and why."""

import traceback

__all__ = ["failed"]


def failed(what: str, error: Exception) -> str:
    """What failed, in which line, and the first line of what it said.

    Args:
        what: a subject, such as "calling model.py:build".
        error: as it was caught.
    """
    at = traceback.extract_tb(error.__traceback__)[-1]
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{what} failed at {at.filename}:{at.lineno}: {type(error).__name__}: {said}".rstrip(": ")
