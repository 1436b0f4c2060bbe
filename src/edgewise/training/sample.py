"""What a person calls to let a run write: `sample` returns whole texts, `stream` yields them as they come."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import torch

from edgewise.errors import ArgumentError, DataError
from edgewise.samples import shipped
from edgewise.training.choose import Chooser
from edgewise.training.decode import Cached, Decoder, Uncached, generate
from edgewise.training.folder import Loaded, load
from edgewise.training.tokens import Characters, Tokenizer
from edgewise.training.writer import Writer

__all__ = ["Piece", "Request", "sample", "stream"]

SHOWN = 5  # unknown characters that an error names


class Piece(NamedTuple):
    """Some new text of one of the samples; `sample` counts from 0."""

    sample: int
    text: str


@dataclass(frozen=True)
class Request:
    """What is to be written.

    Args:
        prompt: what the text begins with; an empty one begins after a newline (without one in the vocabulary: after
            the first token), which is not shown.
        tokens: new tokens of each sample, where no stop text ends it before; at least 1.
        count: samples, written side by side; at least 1. Sample i is the one that `seed + i` alone would give.
        temperature: what the logits are divided by; at least 0, and 0 takes the likeliest token.
        top_k: likeliest tokens to choose among; at least 1, None for all.
        top_p: probability that the likeliest tokens to choose among have together; above 0, at most 1; None for all.
        seed: at least 0 and below 2⁶³.
        stop: texts at the first of which a sample ends; the stop text itself is left out.
        cached: False computes the whole block anew for each token: the same text, slower.

    Raises:
        ArgumentError: a number is outside its range, or a stop text is empty.
    """

    prompt: str = ""
    tokens: int = 500
    count: int = 1
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    stop: Sequence[str] = ()
    cached: bool = True

    def __post_init__(self) -> None:
        for name, least in (("tokens", 1), ("count", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ArgumentError(f"{name} must be at least {least}; got {getattr(self, name)}")
        if self.seed + self.count > 2**63:
            raise ArgumentError(f"seed must be below 2**63; got {self.seed}")
        if not 0 <= self.temperature < float("inf"):
            raise ArgumentError(f"temperature must be at least 0 (0 takes the likeliest token); got {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ArgumentError(f"top_k must be at least 1 (1 takes the likeliest token); got {self.top_k}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ArgumentError(f"top_p must be above 0 and at most 1 (1 keeps every token); got {self.top_p}")
        if isinstance(self.stop, str):
            object.__setattr__(self, "stop", (self.stop,))
        if "" in self.stop:
            raise ArgumentError("a stop text must hold at least one character; got ''")


def sample(
    run: str | Path | Loaded | None = None,
    prompt: str = "",
    *,
    tokens: int = 500,
    count: int = 1,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    stop: Sequence[str] = (),
    cached: bool = True,
) -> list[str]:
    """Return texts that a run writes, each beginning with the prompt.

    `run` is a run folder, what `load` returned, or None for the small run that edgewise carries. `Request` says what
    the other arguments mean.

    Raises:
        ArgumentError: a number is outside its range.
        DataError: the prompt holds characters that the run does not know.
        MissingError: there is no such run, or it has no checkpoint yet.

    Example:
        >>> sample(prompt="The ", tokens=40, temperature=0) == sample(prompt="The ", tokens=40, temperature=0)
        True
    """
    request = Request(prompt, tokens, count, temperature, top_k, top_p, seed, stop, cached)
    # Nobody looks before the end, so that tokens become text once; only a stop text has to be looked for at each step.
    pieces = _pieces(_loaded(run), request, every=1 if request.stop else tokens)
    texts = [prompt] * count
    for piece in pieces:
        texts[piece.sample] += piece.text
    return texts


def stream(run: str | Path | Loaded | None = None, request: Request | None = None) -> Iterator[Piece]:
    """Yield what a run writes after the prompt, as soon as it is certain.

    Raises:
        DataError: the prompt holds characters that the run does not know.
        MissingError: there is no such run, or it has no checkpoint yet.

    Example:
        >>> pieces = stream(request=Request(prompt="The ", tokens=40, temperature=0))
        >>> "The " + "".join(piece.text for piece in pieces) == sample(prompt="The ", tokens=40, temperature=0)[0]
        True
    """
    return _pieces(_loaded(run), request or Request(), every=1)


def _loaded(run: str | Path | Loaded | None) -> Loaded:
    return run if isinstance(run, Loaded) else load(shipped() if run is None else run)


def _pieces(run: Loaded, request: Request, every: int) -> Iterator[Piece]:
    """Check the prompt and return an iterator over the text, which looks at the tokens each `every` steps."""
    begun = _begun(request.prompt, run.tokenizer)
    device = next(run.model.parameters()).device
    prompt = torch.tensor(begun, device=device).expand(request.count, -1)
    choose = Chooser(request.temperature, request.top_k, request.top_p, request.seed)
    steps = generate(_decoder(run, request.cached), prompt, request.tokens, choose)
    writers = [Writer(run.tokenizer, request.stop) for _ in range(request.count)]
    return _written(steps, writers, every)


def _written(steps: Iterator[torch.Tensor], writers: list[Writer], every: int) -> Iterator[Piece]:
    while not all(writer.stopped for writer in writers) and (some := list(islice(steps, every))):
        for number, tokens in enumerate(torch.stack(some, dim=1).tolist()):
            if text := writers[number].write(tokens):
                yield Piece(number, text)
    for number, writer in enumerate(writers):
        if text := writer.close():
            yield Piece(number, text)


def _decoder(run: Loaded, cached: bool) -> Decoder:
    if cached and run.rung == "gpt":
        return Cached(run.model, run.size.heads)
    return Uncached(run.model, run.size.block)


def _begun(prompt: str, tokenizer: Tokenizer) -> list[int]:
    """Return the tokens to begin with: those of the prompt, of a newline where it is empty, or else the first."""
    if not isinstance(tokenizer, Characters):
        try:
            prompt.encode()
        except UnicodeEncodeError as error:  # an argument of the command line that held other bytes
            raise DataError(f"the prompt must be UTF-8 text; it is not at {_place(prompt, error.start)}") from None
        return tokenizer.encode(prompt or "\n").tolist() or [0]
    known = set(tokenizer.vocabulary)
    unknown = [(letter, at) for at, letter in enumerate(prompt) if letter not in known]
    if unknown:
        first: dict[str, int] = {}
        for letter, at in unknown:
            first.setdefault(letter, at)
        named = ", ".join(f"{letter!r} at {_place(prompt, at)}" for letter, at in list(first.items())[:SHOWN])
        more = f" and {len(first) - SHOWN} more" if len(first) > SHOWN else ""
        raise DataError(
            f"the prompt must be made of the {tokenizer.size} characters that the run learnt; it holds {named}{more}; "
            f"the characters are {tokenizer.vocabulary!r}"
        )
    if not prompt:
        return tokenizer.encode("\n").tolist() if "\n" in known else [0]
    return tokenizer.encode(prompt).tolist()


def _place(text: str, at: int) -> str:
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return f"line {line}, column {column}"
