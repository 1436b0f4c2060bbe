"""The small models that properties are shown on: each broken in one line, and the same mended."""

__all__: list[str] = []
