"""Numbers: what scores were multiplied by, where projections went, and what weights are, seen from outside and in.

The instruments of the properties that ask for values (normalisation, scale, head-mapping, position), as the lab's are
those of the properties that ask who reads whom.
"""

__all__: list[str] = []
