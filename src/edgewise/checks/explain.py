"""What a property says, for `edgewise check --explain` and for its page in the docs."""

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from edgewise.checks.property import Property

__all__ = ["explained", "source"]

WIDTH = 100


def explained(one: Property) -> str:
    """Return what a property says, why, what it assumes, its kinds, reports of it, and an example of it broken."""
    parts = [
        _filled(f"{one.name}: {one.says}"),
        _filled(f"Why. {one.why}"),
        _filled(f"What it assumes. {one.assumes}"),
        "Kinds\n" + "\n".join(f"  {kind}  {phrase}" for kind, phrase in one.kinds.items()),
        _filled(f"Seen in {', '.join(one.references)}"),
        "Broken, and caught\n" + textwrap.indent(source(one.broken), "  "),
    ]
    return "\n\n".join(parts)


def source(example: Callable[[], Any]) -> str:
    """Return the code of an example: of a function, or of a lambda what it makes."""
    text = re.sub(r"^\w+=lambda: (.*?),?$", r"\1", _text(example), flags=re.DOTALL)
    made_of = _parts(_without(text, example.__name__), example.__globals__, example.__module__)
    return "\n\n\n".join([*made_of.values(), text])


def _parts(text: str, names: Mapping[str, Any], module: str) -> dict[str, str]:
    """The code of what a text names of its own module, and of what that names, in the order in which it is needed."""
    found: dict[str, str] = {}
    for name in re.findall(r"\b_?[A-Za-z]\w*", text):
        one = names.get(name)
        if name not in found and (inspect.isclass(one) or inspect.isfunction(one)) and one.__module__ == module:
            code = _text(one)
            found |= _parts(_without(code, name), names, module) | {name: code}
    return found


def _without(code: str, name: str) -> str:
    return re.sub(rf"\b{name}\b", "", code)


def _text(one: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(one)).strip()
    except OSError:
        return f"{one.__module__}.{one.__qualname__}"


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, break_on_hyphens=False)
