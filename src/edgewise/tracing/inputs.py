"""What a target is fed: a text, tokens, a picture, a sound, or a prompt that it goes on from."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from edgewise.errors import ArgumentError, DataError, EdgewiseError, MissingError, RunError
from edgewise.records import Record, Tokens
from edgewise.tracing.capture import record
from edgewise.tracing.targets import Reader, Target
from edgewise.tracing.targets.failed import failed

__all__ = ["Feed", "Given", "feed", "recorded"]

OURS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Given:
    """What a person gives a model; nothing of it at all stands for what the target offers itself."""

    text: str | None = None
    """To read; of an encoder and decoder, to the encoder."""
    decoder_text: str | None = None
    """To read as what a decoder has written so far."""
    ids: tuple[int, ...] | None = None
    """Tokens to read, by number."""
    image: str | None = None
    """A file."""
    audio: str | None = None
    """A file."""
    inputs: Any = None
    """Ready inputs: named arguments as a mapping, several as a tuple, or one."""
    generate: int = 0
    """Tokens to write after the text, the likeliest each time."""
    limit: int | None = None
    """Tokens of the text to read at most."""


@dataclass(eq=False)
class Feed:
    """What a model is given, how it is run on it, and what that is for a person who reads the record."""

    inputs: Any
    forward: Callable[[Any, Any], Any] | None = None
    tokens: Tokens | None = None
    source: Tokens | None = None
    said: dict[str, Any] | None = None
    writes: int = 0
    """How many tokens the model goes on to write."""
    wrote: Callable[[int, int], None] | None = None
    """Told of how many tokens are written, and of how many there will be at most."""

    def progress(self, tokens: int) -> None:
        """Tell whoever wants to know how many tokens are written."""
        if self.wrote is not None:
            self.wrote(tokens, self.writes)

    def about(self) -> Mapping[str, Any]:
        """What `Run.describe` is told once the run is over."""
        return {"tokens": self.tokens, "source": self.source, "inputs": self.said or {}}


def feed(target: Target, given: Given) -> Feed:
    """What a target is fed.

    Raises:
        ArgumentError: the target cannot take what is given, or nothing is given to a target that offers nothing.
        MissingError: a file, a tokenizer or a processor is not there.
        DataError: a file cannot be read, or a text has no tokens.
    """
    if given.inputs is not None:
        return Feed(_on_device(target, given.inputs), said={"reads": "inputs of its own"})
    if given.image is not None or given.audio is not None:
        found = _perceived(target, given)
    elif given.text is not None or given.ids is not None:
        found = _read(target, given)
    elif target.inputs is not None:
        found = Feed(target.inputs, said={"reads": target.reads})
        _name_tokens(found, target.reader, _ids(target.inputs))
    else:
        raise ArgumentError(
            f"nothing was given to {target.name} to read: give --text, --text-file, --ids, --image, --audio, --prompt "
            "or --inputs file.py:attr"
        )
    if given.generate:
        _going_on(found, target, given.generate)
    return found


def recorded(target: Target, fed: Feed, **options: Any) -> Record:
    """The record of a target run on what it is fed, with the proof; see `record`.

    Raises:
        TraceError: no attention was seen, or what was seen does not explain what the model computed.
        RunError: the model cannot be run on what it is fed.
    """
    try:
        return record(target.model, fed.inputs, forward=fed.forward, target=target.name, about=fed.about, **options)
    except EdgewiseError:
        raise
    except Exception as error:
        if Path(traceback.extract_tb(error.__traceback__)[-1].filename).is_relative_to(OURS):
            raise  # a mistake of ours
        raise RunError(failed(f"running {target.name} on what it was given", error)) from error


def _read(target: Target, given: Given) -> Feed:
    ids = list(given.ids) if given.ids is not None else _tokens(target, given.text or "")
    ids = ids[: given.limit]
    if not ids:
        raise DataError("wanted a text of at least one token; got an empty one")
    row = _row(target, ids)
    said = {"text": given.text} if given.text is not None else {"ids": ids}
    config = getattr(target.model, "config", None)
    if config is None or not isinstance(target.model, nn.Module) or not hasattr(target.model, "main_input_name"):
        return Feed(row, tokens=_pieces(target.reader, [ids]), said=said)
    inputs: dict[str, Any] = {"input_ids": row}
    if not getattr(config, "is_encoder_decoder", False):
        return Feed(inputs, tokens=_pieces(target.reader, [ids]), said=said)
    return _decoding(Feed(inputs, source=_pieces(target.reader, [ids]), said=said), target, given)


def _perceived(target: Target, given: Given) -> Feed:
    """A picture or a sound, and a text with it."""
    if target.processor is None:
        raise ArgumentError(f"{target.name} has no processor for pictures and sounds: give --inputs file.py:attr")
    kind = "image" if given.image is not None else "audio"
    path = given.image or given.audio or ""
    inputs = getattr(target.processor, kind)(str(Path(path).expanduser()), given.text)
    found = Feed(_on_device(target, inputs), said={kind: path} | ({"text": given.text} if given.text else {}))
    _name_tokens(found, target.reader, _ids(inputs))
    if getattr(getattr(target.model, "config", None), "is_encoder_decoder", False):
        return _decoding(found, target, given)
    return found


def _decoding(found: Feed, target: Target, given: Given) -> Feed:
    """What a decoder reads: a text, or the token that begins one."""
    said = [target.model.config, getattr(target.model, "generation_config", None)]
    starts = [getattr(one, name, None) for name in ("decoder_start_token_id", "bos_token_id") for one in said]
    start = next((one for one in starts if isinstance(one, int)), None)
    ids = [] if given.decoder_text is None else _tokens(target, given.decoder_text)
    ids = ids if start is None or (ids and ids[0] == start) else [int(start), *ids]
    if not ids:
        raise ArgumentError(f"{target.name} says no token that a decoder begins with: give --decoder-text")
    found.inputs = {**found.inputs, "decoder_input_ids": _row(target, ids)}
    found.tokens = _pieces(target.reader, [ids])
    return found


def _going_on(found: Feed, target: Target, many: int) -> None:
    """Let the model write: what it wrote are tokens that it read as well."""
    own = getattr(target.model, "generate", None)
    if own is None and target.write is None:
        raise ArgumentError(f"{target.name} has no way of its own to go on with a text: leave --generate out")

    def forward(_: Any, inputs: Any) -> Any:
        if target.write is not None:
            sequences, logits = target.write(inputs, many)
        else:
            sequences, logits = _generated(own, inputs, many, found.progress)
        _name_tokens(found, target.reader, sequences)
        return sequences, logits

    found.forward, found.writes = forward, many
    found.said = {**(found.said or {}), "generated": many}


class _Counting:
    """What the library tells of each token as it is written, the prompt first."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell, self._tokens = tell, -1

    def put(self, _: Tensor) -> None:
        self._tokens += 1
        self._tell(self._tokens)

    def end(self) -> None:
        pass


def _generated(generate: Any, inputs: Any, many: int, tell: Callable[[int], None]) -> tuple[Tensor, Any]:
    named = inputs if isinstance(inputs, Mapping) else {"inputs": inputs}
    how = {"do_sample": False, "num_beams": 1, "return_dict_in_generate": True, "output_logits": True}
    result = generate(**named, max_new_tokens=many, streamer=_Counting(tell), **how)
    return result.sequences, result.logits


def _tokens(target: Target, text: str) -> list[int]:
    if target.reader is None:
        raise MissingError(
            f"{target.name} came without a tokenizer: give --ids 1,2,3, or let the function return a model and its "
            "tokenizer"
        )
    return target.reader.ids(text)


def _name_tokens(found: Feed, reader: Reader | None, ids: Tensor | None) -> None:
    if ids is not None and reader is not None and ids.dim() == 2:
        found.tokens = _pieces(reader, ids.tolist())


def _pieces(reader: Reader | None, ids: Sequence[Sequence[int]]) -> Tokens | None:
    try:
        return None if reader is None else tuple(reader.pieces(row) for row in ids)
    except MissingError:
        return None  # numbers were given, and no tokenizer lies there to say what they mean


def _ids(inputs: Any) -> Tensor | None:
    found = inputs.get("input_ids") if isinstance(inputs, Mapping) else inputs
    found = found[0] if isinstance(found, tuple) and len(found) == 1 else found
    return found if isinstance(found, Tensor) and not found.is_floating_point() else None


def _row(target: Target, ids: Sequence[int]) -> Tensor:
    return _on_device(target, torch.tensor([list(ids)]))


def _on_device(target: Target, value: Any) -> Any:
    """Tensors where the model is, and numbers in its dtype."""
    first = next(target.model.parameters(), None) if isinstance(target.model, nn.Module) else None
    if isinstance(value, Mapping):
        return {name: _on_device(target, one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_on_device(target, one) for one in value)
    if not isinstance(value, Tensor) or first is None:
        return value
    return value.to(first.device, first.dtype if value.is_floating_point() else None)
