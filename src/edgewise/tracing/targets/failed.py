"""The sentence for somebody else's code that has failed: what, where, and why."""

import traceback

__all__ = ["failed"]


def failed(what: str, error: BaseException) -> str:
    """What failed, in which line, and the first line of what it said.

    Args:
        what: a subject, such as "calling model.py:build".
        error: as it was caught.
    """
    at = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{at.filename}:{at.lineno}"
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{error.filename}:{error.lineno}"  # where it is written, and not who read it
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{what} failed at {place}: {type(error).__name__}: {said}".rstrip(": ")
