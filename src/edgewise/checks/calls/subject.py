"""How a target is called: what it reads, which argument says what, and where in what it returns the answer is."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import nn

if TYPE_CHECKING:
    from edgewise.checks.calls.route import Route

__all__ = ["WHOLE", "Argument", "Caching", "Kind", "Layout", "Path", "Reads", "Shape", "Subject"]

Kind = Literal["model", "layer", "function"]
Reads = Literal["ids", "floats", "pixels", "features", "qkv"]
Layout = Literal["batch first", "time first", "heads second", "heads third", "no heads"]
Path = tuple[str | int, ...]

WHOLE = "batch whole"
"""The axes of one answer for a whole sequence, as of a class token or a mean over tokens."""


@dataclass(frozen=True)
class Argument:
    """An argument that is told something of a `Given`."""

    name: str
    form: str
    """What it says: "keep" (True, 1 = a real token), "hide" (True = hidden), "additive" (0 or a very low number),
    "lengths"; "ids", "cumulative" of documents; "each", "start" of positions; "yes or no" of a flag."""
    shape: str = ""
    """Its axes: "batch key", "batch 1 1 key", "query key", …"""
    dtype: Literal["", "bool", "int", "float"] = ""
    required: bool = False
    """Whether the target cannot be called without."""
    also: tuple[str, ...] = ()
    """Further arguments that are given the same."""
    origin: int = 0
    """Of positions: the number of the first."""
    always: bool = False
    """Of positions: whether leaving them out means something else than counting from the first token."""

    def __str__(self) -> str:
        says = {
            "keep": {"float": "1.0 for a real token", "int": "1 for a real token"}.get(
                self.dtype, "True for a real token"
            ),
            "hide": {"float": "1.0 for a hidden one", "int": "1 for a hidden one"}.get(
                self.dtype, "True for a hidden one"
            ),
            "additive": "0.0, or a very low number where hidden",
            "lengths": "the number of real tokens",
            "each": "the position of each token" + (f", from {self.origin}" if self.origin else ""),
            "start": "the position of the first token",
            "ids": "the document of each token",
            "cumulative": "where documents begin, and the end",
        }.get(self.form, self.form)
        axes = f" ({self.shape.replace(' ', ', ')})" if self.shape else ""
        return f"{self.name}={says}{axes}" + (", always given" if self.required or self.always else "")


@dataclass(frozen=True)
class Caching:
    """How a target goes on from what it has read."""

    name: str
    """The argument that the cache is handed back by; "" where the target keeps it, and is told where it stands."""
    method: str = "forward"
    """Called for every part, the first too."""
    first: str = ""
    """What the first call is given: "" for None or nothing, "list", "dict", "transformers", or a method that makes it,
    called with the number of sequences as "new_cache(batch)", or without as "new_cache()"."""
    returned: Path | None = None
    """Where the cache is in what comes back; None where the target changes the object that it was given."""
    beside_weights: Path | None = None
    """Where it is when weights are asked for, where that is elsewhere."""
    asked: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further arguments that ask for it, like use_cache=True."""
    mask: Literal["whole", "new"] = "whole"
    """Whether a mask is over all tokens so far, or over the new ones."""
    single: bool = False
    """Whether it is fed one token at a time: of several at once a method of its own makes something else."""
    encoded: bool = False
    """Whether what its encoder gave for the first part is handed on to the others in place of the memory."""


@dataclass(frozen=True)
class Shape:
    """Sizes that a function of query, key and value takes."""

    heads: int
    groups: int
    width: int
    query: int
    key: int


@dataclass(frozen=True, eq=False)
class Subject:
    """How a target is called. Made by `subject_of`, or by hand; `replace` changes a part."""

    target: Any
    name: str
    kind: Kind
    reads: Reads
    method: str = "forward"
    """The method that is called; "" for a function."""
    main: tuple[str, ...] = ("x",)
    """The arguments that are given the tokens; several are given the same, but of a function query, key and value."""
    positional: bool = True
    """Whether those are given in order; else by name."""
    mapping: str = ""
    """An argument that is a dict of all that is given, by name; "" where each is an argument."""
    layout: Layout = "batch first"
    vocabulary: int | None = None
    """Ids are below it."""
    pad: int | None = None
    """The id of padding."""
    pads_by_id: bool = False
    """Whether padding is told by that id alone, there being no mask."""
    width: int | None = None
    """Channels of what is read."""
    heads: int | None = None
    groups: int | None = None
    head_width: int | None = None
    longest: int | None = None
    """Tokens that it takes at most; None where no limit was met."""
    length: int = 8
    """Tokens that it was first called with."""
    sizes: tuple[int, ...] = ()
    """Of pixels: channels, height, width; of features: the axes after the batch."""
    shapes: tuple[Shape, ...] = ()
    """Of a function: the sizes that it takes; those that share a key head among query heads, if any, too."""
    mask: Argument | None = None
    square_mask: Argument | None = None
    positions: Argument | None = None
    documents: Argument | None = None
    cache: Argument | None = None
    caching: Caching | None = None
    weights: Argument | None = None
    weights_asked: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further arguments whenever weights are asked for, like average_attn_weights=False."""
    memory: Argument | None = None
    memory_reads: Literal["ids", "floats"] = "floats"
    memory_width: int | None = None
    memory_widths: tuple[int, ...] = ()
    """Of a memory that is handed over as keys and as values: how many of its first channels each is given."""
    memory_mask: Argument | None = None
    memory_sizes: tuple[int, ...] = ()
    """Axes after the batch of a memory that is neither ids nor (key, channels), such as a picture."""
    causal_flag: Argument | None = None
    switches: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    """Arguments that choose between ways, each with its values, the default first."""
    targets: str = ""
    """An argument of what should come next, without which there is no answer for each token; given the tokens."""
    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arguments that are always given, with what."""
    output: Path | None = None
    """Where in what is returned the numbers of each token are; () where it is all that is returned."""
    output_axes: str = "batch query channels"
    weights_at: Path | None = None
    """Where the weights are, a tensor or a row of them, a layer each."""
    backends: tuple[str, ...] = ()
    """Attention implementations of the transformers library that it takes."""
    library: Literal["", "torch", "transformers"] = ""
    config: Any = None
    dtype: torch.dtype = torch.float32
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    random: bool = False
    """Whether it draws random numbers in evaluation mode."""
    draws: bool = True
    """Whether it may draw from Python's or numpy's global random numbers, beside torch's."""
    mutates: tuple[str, ...] = ()
    """Arguments that it writes into."""
    finite: bool = True
    """Whether its answer to a plain input has numbers only."""
    seconds: float = 0.0
    """What one call took."""
    row_by_row: bool = False
    """Of a function over packed tokens: whether it knows no batch, and is called for each row."""
    inner: tuple[nn.Module, ...] = ()
    """Of a function: modules that its code holds."""
    notes: tuple[str, ...] = ()
    """What was found out beside, in sentences: arguments that nothing is given to, and why."""
    casts: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False)
    """Copies of the target in other dtypes, made when first asked for."""

    @property
    def pooled(self) -> bool:
        """Whether it answers once for a whole sequence, and not for each token."""
        return self.output_axes == WHOLE

    @property
    def module(self) -> nn.Module | None:
        """The module itself, also where the target is one of its methods."""
        owner = self.target if isinstance(self.target, nn.Module) else getattr(self.target, "__self__", None)
        return owner if isinstance(owner, nn.Module) else None

    @property
    def held(self) -> tuple[nn.Module, ...]:
        """Every module whose mode counts."""
        return self.inner if self.module is None else (self.module, *self.inner)

    def replace(self, **changed: Any) -> "Subject":
        """The same with some of it changed."""
        return replace(self, **({"casts": {}} | changed))

    def __str__(self) -> str:
        from edgewise.checks.calls.spoken import spoken

        return spoken(self)

    def code(self, route: "Route | None" = None, x: str = "x", model: str = "model") -> str:
        """The Python expression that calls it like this; of a cached route, that of one step."""
        from edgewise.checks.calls.spoken import code

        return code(self, route, x, model)
