"""`edgewise sample`: a run writes, and its text appears as it comes."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from edgewise.cli.command import Command
from edgewise.errors import DataError, MissingError

if TYPE_CHECKING:
    from edgewise.training import Loaded, Piece, Request

__all__ = ["SAMPLE"]

DESCRIPTION = """\
Let a run write. Without a run it is the small one that edgewise carries, so that this works at once:

  edgewise sample --prompt "The "
  edgewise sample runs/book-1 --prompt "The " --temperature 0.8 --top-p 0.95
  edgewise sample runs/book-1 --count 3 --tokens 200 --stop $'\\n\\n'
  edgewise sample runs/book-1 --prompt - < beginning.txt

Keys and values are kept, so that a token costs one row and not the whole block. Past the block the model's own rule
holds: positions are learned, so the last block of tokens is read as if it were the first, and is computed again for
each token. Rungs below the GPT are computed again at every token.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run_folder", nargs="?", metavar="RUN", help="a run folder (default: the run that edgewise carries)")
    prompt = parser.add_mutually_exclusive_group().add_argument
    prompt("--prompt", default="", metavar="TEXT", help="begin with this; -: standard input (default: after a newline)")
    prompt("--prompt-file", metavar="PATH", help="begin with what this file holds, its last newline too")
    add("--tokens", type=int, default=500, metavar="N", help="new tokens of each sample (default: 500)")
    add("--count", type=int, default=1, metavar="N", help="samples; the first appears as it comes (default: 1)")
    add("--stop", action="append", default=[], metavar="TEXT", help="end before this text; may be given again")
    add("--last", action="store_true", help="the newest checkpoint, not the one with the lowest validation loss")
    add("--device", default="cpu", metavar="NAME", help="auto, cpu or cuda (default: cpu, faster for small models)")
    add("--uncached", action="store_true", help="compute the whole block for each token: the same text, slower")
    add("--json", action="store_true", help="print one JSON object when all is written")
    choose = parser.add_argument_group("how each token is chosen").add_argument
    choose("--temperature", type=float, default=1.0, metavar="X", help="0: always the likeliest token (default: 1)")
    choose("--top-k", type=int, metavar="N", help="among the N likeliest tokens")
    choose("--top-p", type=float, metavar="P", help="among the likeliest that together have probability P")
    choose("--seed", type=int, default=0, metavar="N", help="sample i is that of seed N + i (default: 0)")


def _run(arguments: argparse.Namespace) -> int:
    from edgewise.samples import shipped
    from edgewise.training import Request, choose_device, load, stream

    request = Request(
        prompt=_prompt(arguments),
        tokens=arguments.tokens,
        count=arguments.count,
        temperature=arguments.temperature,
        top_k=arguments.top_k,
        top_p=arguments.top_p,
        seed=arguments.seed,
        stop=arguments.stop,
        cached=not arguments.uncached,
    )
    device = choose_device(arguments.device).value
    if arguments.run_folder is None:
        print("no run was named: this is the small one that edgewise carries", file=sys.stderr)
    run = load(arguments.run_folder or shipped(), "last" if arguments.last else "best")
    if run.note:
        print(f"edgewise: {run.note}", file=sys.stderr)
    run.model.to(device)
    pieces = stream(run, request)
    if arguments.json:
        _print_json(run, request, pieces)
    else:
        _print(request, pieces)
    return 0


def _prompt(arguments: argparse.Namespace) -> str:
    if arguments.prompt_file is not None:
        path = Path(arguments.prompt_file)
        if not path.is_file():
            raise MissingError(f"wanted a file with the prompt; there is no file {path}")
        return _text(path.read_bytes(), str(path))
    if arguments.prompt == "-":
        return _text(sys.stdin.buffer.read(), "standard input")
    return arguments.prompt


def _text(content: bytes, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        at = error.start
        raise DataError(f"the prompt must be UTF-8; {name} has byte 0x{content[at]:02x} at byte {at}") from None


def _print(request: "Request", pieces: "Iterator[Piece]") -> None:
    """Print the first sample as it comes, and the others after it."""
    texts = [request.prompt] * request.count
    _say(_title(request, 0) + request.prompt)
    try:
        for number, text in pieces:
            texts[number] += text
            if number == 0:
                _say(text)
    finally:  # Ctrl-C too leaves the terminal at the beginning of a line
        _say(_ended(texts[0]))
    for number, text in enumerate(texts[1:], start=1):
        _say(_title(request, number) + text + _ended(text))


def _title(request: "Request", number: int) -> str:
    if request.count == 1:
        return ""
    return f"── {number + 1} of {request.count}, seed {request.seed + number} ──\n"


def _ended(text: str) -> str:
    return "" if text.endswith("\n") else "\n"


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _print_json(run: "Loaded", request: "Request", pieces: "Iterator[Piece]") -> None:
    import json

    texts = [request.prompt] * request.count
    for number, text in pieces:
        texts[number] += text
    samples = [{"seed": request.seed + number, "text": text} for number, text in enumerate(texts)]
    about = {"run": str(run.folder), "rung": run.rung, "step": run.step, "prompt": request.prompt}
    print(json.dumps(about | {"samples": samples}, ensure_ascii=False, indent=2))


SAMPLE = Command("sample", "let a run write", DESCRIPTION, _add_arguments, _run)
