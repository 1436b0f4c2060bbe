"""What commands have in common that look at a model: how it is named on the line, and what it is given to read.

Here alone a run folder of our own trainer is a target: tracing knows nothing of training.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewise.errors import ArgumentError, DataError, MissingError

if TYPE_CHECKING:
    import torch

    from edgewise.tracing import Given, Target

__all__ = ["add_reading", "add_target", "given", "named"]

DTYPES = ("float32", "bfloat16", "float16", "float64")


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a model."""
    add = parser.add_argument
    add("target", nargs="?", metavar="TARGET", help="hub name, folder, run folder, .gguf, module:attr or file.py:attr")
    add("--tiny", metavar="TYPE", help="a small random model of this type instead, such as gpt2; nothing is fetched")
    add("--dtype", choices=DTYPES, help="turn the weights into this (default: as they are)")
    add("--device", default="cpu", metavar="NAME", help="cpu, cuda, cuda:1, mps … (default: cpu)")
    add("--seed", type=int, default=0, metavar="N", help="of random weights and inputs (default: 0)")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say what a model reads."""
    reading = parser.add_argument_group("what it reads")
    text = reading.add_mutually_exclusive_group().add_argument
    text("--text", metavar="TEXT", help="a text")
    text("--text-file", metavar="PATH", help="a file of text in UTF-8")
    text("--prompt", metavar="TEXT", help="a text to go on from, see --generate")
    text("--ids", metavar="N,N,…", help="tokens by number, for a model without a tokenizer")
    text("--inputs", metavar="NAME", help="file.py:attr or module:attr: inputs, or a function that makes them")
    add = reading.add_argument
    add("--generate", type=int, metavar="N", help="tokens to write, the likeliest each time (with --prompt: 20)")
    add("--decoder-text", metavar="TEXT", help="what the decoder of an encoder and decoder has written so far")
    add("--image", metavar="PATH", help="a picture")
    add("--audio", metavar="PATH", help="a sound: WAV, or others where soundfile is installed")
    add("--length", type=int, metavar="N", help="read at most N tokens of the text")


def named(arguments: argparse.Namespace, *, called: bool = True) -> "Target":
    """Return the model that the arguments name.

    Args:
        arguments: of the command line.
        called: whether it may be called to find out what it reads.

    Raises:
        EdgewiseError: see `edgewise.tracing.target`; or two models are named, or none.
    """
    from edgewise.tracing import FORMS, target, tiny_target

    if (arguments.target is None) == (arguments.tiny is None):
        both = "" if arguments.target is None else f"; got {arguments.target} and --tiny {arguments.tiny}"
        raise ArgumentError(f"wanted one model to look at, TARGET or --tiny TYPE{both}: TARGET is {FORMS}")
    how: dict[str, Any] = {"dtype": _dtype(arguments.dtype), "device": _device(arguments.device)}
    if arguments.tiny is not None:
        return tiny_target(arguments.tiny, seed=arguments.seed, **how)
    if (Path(arguments.target) / "run.json").is_file():
        return _run(arguments.target, **how)
    return target(arguments.target, called=called, **how)


def given(arguments: argparse.Namespace) -> "Given":
    """Return what the arguments give the model to read.

    Raises:
        EdgewiseError: a file is not there or cannot be read, or the arguments make no sense together.
    """
    from edgewise.tracing import Given, from_name

    text = arguments.text if arguments.prompt is None else arguments.prompt
    if arguments.text_file is not None:
        text = _file(arguments.text_file)
    generate = arguments.generate if arguments.generate is not None else 20 * (arguments.prompt is not None)
    if generate < 0 or (arguments.length is not None and arguments.length < 1):
        raise ArgumentError(
            f"--generate and --length are numbers of tokens; got {min(generate, arguments.length or 0)}"
        )
    return Given(
        text=text,
        decoder_text=arguments.decoder_text,
        ids=None if arguments.ids is None else tuple(numbers(arguments.ids, "--ids")),
        image=arguments.image,
        audio=arguments.audio,
        inputs=None if arguments.inputs is None else from_name(arguments.inputs),
        generate=generate,
        limit=arguments.length,
    )


def numbers(said: str, name: str) -> Sequence[int]:
    """Return the numbers of a list like 0,3,5-8.

    Raises:
        ArgumentError: it is no such list.
    """
    found: list[int] = []
    for part in said.replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ArgumentError(f"{name} wants numbers like 0,3,5-8; got {said!r}")
        found += range(int(first), int(last or first) + 1)
    return found


def _file(name: str) -> str:
    path = Path(name).expanduser()
    if not path.is_file():
        raise MissingError(f"wanted a file of text; there is no file {name}")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"a text must be UTF-8; {name} is not, at byte {error.start}") from None


def _dtype(name: str | None) -> "torch.dtype | None":
    import torch

    return None if name is None else getattr(torch, name)


def _device(name: str) -> str:
    import torch

    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ArgumentError(f"wanted a device of this machine; got {name!r}: {str(error).splitlines()[0]}") from None
    return name


def _run(folder: str, *, dtype: "torch.dtype | None", device: str) -> "Target":
    """Return the model of a run folder, with its tokenizer and its way to go on from a text."""
    from edgewise.cli.run_target import run_target

    return run_target(folder, dtype=dtype, device=device)
