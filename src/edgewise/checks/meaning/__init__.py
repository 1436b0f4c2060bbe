"""Meaning: what a target's attention was meant to be, as somebody declares it, its config says it, or it looks.

`meant` puts the three together; the report says which of them spoke.
"""

__all__: list[str] = []
