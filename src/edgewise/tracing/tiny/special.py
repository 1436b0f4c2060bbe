"""The few architectures whose configs must be told more than a size: what to begin with before shrinking."""

from typing import Any

__all__ = ["said_of"]

_SAID: dict[str, dict[str, Any]] = {}


def said_of(type_name: str, config_class: Any) -> Any:
    """The full-sized config of a type, as it is before it is made small."""
    return config_class(**_SAID.get(type_name, {}))
