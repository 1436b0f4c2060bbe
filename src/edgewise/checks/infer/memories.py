"""What a memory may be: ids or floats of a width, by what the target reads and the shapes of its parameters."""

import re
from collections.abc import Iterator, Mapping

from torch import nn

from edgewise.checks.calls.subject import Argument, Subject
from edgewise.checks.infer.names import Role, Taken
from edgewise.checks.infer.readings import widths

__all__ = ["crossed", "memories"]

_IDS = re.compile(r"src(_ids|_tokens)?|source(_ids|_tokens)?|inputs?(_ids)?|enc(oder)?_(inputs?|input_ids|ids|tokens)")
_PROJECTION = r"(?:to_|w_?|lin_?)?(?:{})(?:_proj|_projection|_lin(?:ear)?)?"
_PARTS = ("q|query", "k|key", "v|value")


def memories(subject: Subject) -> Iterator[Subject]:
    """Yield the subject with everything that its memory may be, the likeliest first.

    Args:
        subject: with an argument for the memory.
    """
    if subject.memory is None or subject.memory_sizes or subject.memory_width or subject.memory_reads == "ids":
        yield subject
        return
    ids = [subject.replace(memory_reads="ids")] if subject.reads == "ids" else []
    named = _IDS.fullmatch(subject.memory.name.lower()) is not None
    yield from ids if named else []
    several = [subject.width] if subject.library else [subject.width, *widths(subject.module)]
    for width in dict.fromkeys([one for one in several if one] or [None]):
        yield subject.replace(memory_width=width)
    yield from ids if not named else []


def crossed(subject: Subject, takes: Mapping[Role, list[Taken]]) -> tuple[Subject, dict[Role, list[Taken]]] | None:
    """Return a layer of query, key and value as one whose keys and values are a memory, where their widths say so.

    Args:
        subject: whose three first arguments are query, key and value.
        takes: the arguments by role; those of a mask are of the memory then.
    """
    if len(subject.main) != 3 or subject.kind == "function" or subject.module is None:
        return None
    query, key, value = (_width(subject.module, part) for part in range(3))
    if query is None or key is None or value is None or query == key == value:
        return None
    memory = Argument(subject.main[1], "memory", "batch key channels", required=True, also=(subject.main[2],))
    made = subject.replace(
        main=subject.main[:1], memory=memory, memory_width=max(key, value), memory_widths=(key, value), width=query
    )
    others: dict[Role, list[Taken]] = {role: few for role, few in takes.items() if role not in ("mask", "square")}
    # The name says that one is of keys, which are the memory's.
    others["memory_mask"] = [*takes.get("mask", []), *takes.get("memory_mask", [])]
    return made, others


def _width(module: nn.Module, part: int) -> int | None:
    """Channels that queries, keys or values are made of, as the module says, or its projection of that name."""
    said = getattr(module, ("embed_dim", "kdim", "vdim")[part], None)
    if type(said) is int:
        return said
    pattern = re.compile(_PROJECTION.format(_PARTS[part]), re.IGNORECASE)
    several = (one for name, one in module.named_children() if pattern.fullmatch(name))
    return next((one.in_features for one in several if isinstance(one, nn.Linear)), None)
