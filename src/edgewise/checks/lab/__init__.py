"""The lab: what is measured of a target, each thing once: who moves whom, what attention computes, what rounding does.

Properties ask a `Lab` (in `lab`); the other files are its instruments.
"""

__all__: list[str] = []
