"""Calls: how a target is called on each route, what it is handed, and what it answered, in one layout.

A `Subject` says how, a `Route` which way through its code, a `Given` what it reads. `answer` in `calling` does it with
everything held still, and raises `Refused` where the target will not.
"""

__all__: list[str] = []
