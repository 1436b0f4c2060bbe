"""A model that transformers loads: from a hub, a folder or a GGUF file, with the tokenizer that lies beside it."""

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from edgewise.errors import EdgewiseError, MissingError, RunError
from edgewise.tracing.targets.pieces import pieces
from edgewise.tracing.targets.processor import LibraryProcessor
from edgewise.tracing.targets.target import Target
from edgewise.tracing.tiny import library

__all__ = ["TokenizerReader", "from_library"]


class TokenizerReader:
    """A tokenizer of transformers, or anything with its `encode` and `decode`."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def ids(self, text: str) -> list[int]:
        """The tokens of a text, as the model wants them at its beginning."""
        found = self.tokenizer.encode(text)
        return [int(one) for one in getattr(found, "ids", found)]

    def pieces(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The text of each token."""
        return pieces(self.tokenizer, ids)


class _Beside:
    """The tokenizer that lies beside a model, read when it is first asked for."""

    def __init__(self, read: Callable[[], Any]) -> None:
        self._read, self._reader = read, None

    def ids(self, text: str) -> list[int]:
        return self._held().ids(text)

    def pieces(self, ids: Sequence[int]) -> tuple[str, ...]:
        return self._held().pieces(ids)

    def _held(self) -> TokenizerReader:
        if self._reader is None:
            self._reader = TokenizerReader(self._read())
        return self._reader


def from_library(name: str, *, dtype: torch.dtype | None, device: str, local: bool) -> Target:
    """A model that transformers loads.

    Args:
        name: of a hub, of a folder, or of a GGUF file.
        dtype: what to turn its weights into; None leaves them as they are.
        device: where it runs.
        local: whether nothing may be fetched.

    Raises:
        MissingError: it is not there, or needs a package that is not.
        RunError: it is damaged, or wants to run code that came with it.
    """
    where, more = _where(name)
    options = {**more, "local_files_only": local, "trust_remote_code": False}
    transformers = library()
    with _quiet(transformers), _told(name, "a model", local):
        config = transformers.AutoConfig.from_pretrained(where, **options)
        made = _class(transformers, config)
        model = made.from_pretrained(where, dtype=dtype or ("auto" if not more else torch.float32), **options)

    def tokenizer() -> Any:
        with _quiet(transformers), _told(name, "a tokenizer", local):
            found = transformers.AutoTokenizer.from_pretrained(where, **options)
            if len(found.get_vocab()) <= len(found.all_special_tokens):
                raise OSError("there are no files of one")  # the library makes an empty one where there are none
            return found

    def processor(kind: str) -> Any:
        with _quiet(transformers), _told(name, f"{kind} processor", local):
            return getattr(transformers, kind).from_pretrained(where, **options)

    return Target(name, model.to(device).eval(), _Beside(tokenizer), LibraryProcessor(name, processor))


def _where(name: str) -> tuple[str, dict[str, str]]:
    """What transformers is to be given: a GGUF file is named by its folder and its own name."""
    path = Path(name).expanduser()
    if path.suffix != ".gguf":
        return str(path) if path.is_dir() else name, {}
    if not path.is_file():
        raise MissingError(f"wanted a GGUF file; there is no file {name}")
    return str(path.parent), {"gguf_file": path.name}


def _class(transformers: Any, config: Any) -> Any:
    """The class that the config names, with the head that the weights were saved for."""
    for name in config.architectures or ():
        found = getattr(transformers, name, None)
        if found is not None:
            return found
    known = transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    return transformers.AutoModelForCausalLM if config.model_type in known else transformers.AutoModel


@contextmanager
def _told(name: str, what: str, local: bool) -> Generator[None]:
    """What goes wrong in the library, as one sentence with what helps."""
    try:
        yield
    except EdgewiseError:
        raise
    except ImportError as error:
        package = getattr(error, "name", None) or _package(str(error))
        helps = f": pip install {package}" if package else f": {_line(error)}"
        raise MissingError(f"{name} needs a package that is not installed{helps}") from None
    except (OSError, ValueError) as error:
        raise _lost(name, what, error, local) from None
    except Exception as error:
        raise RunError(f"{name} could not be loaded: {type(error).__name__}: {_line(error)}") from error


def _lost(name: str, what: str, error: Exception, local: bool) -> EdgewiseError:
    said = str(error)
    if "trust_remote_code" in said:
        return RunError(
            f"{name} brings code of its own to run, which is not done for a name: make the model in a file and give "
            "file.py:attr"
        )
    if Path(name).expanduser().exists():
        return MissingError(f"wanted {what} in {name}: {_line(error)}")
    if "gated" in said or "401" in said:
        return MissingError(f"{name} is not there for everyone: `hf auth login` first, or name a folder")
    if local:
        why = next(
            (one for one in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "EDGEWISE_OFFLINE") if one in os.environ), ""
        )
        return MissingError(
            f"{name} is no folder here and {what} of that name is not in the cache, and {why} says not to fetch it: "
            f"run `hf download {name}` where that is not set, or name a folder"
        )
    if "connect" in said or "resolve" in said or "Max retries" in said:
        return MissingError(
            f"{name} is no folder here, {what} of that name is not in the cache, and the hub could not be reached: "
            "see to the connection, or name a folder"
        )
    return MissingError(f"wanted {what} by the name {name}; the hub has none: {_line(error)}")


def _package(said: str) -> str:
    import re

    found = re.search(r"pip install (?:-U )?['\"`]?([\w.\-\[\]]+)", said)
    return found[1] if found else ""


def _line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__


@contextmanager
def _quiet(transformers: Any) -> Generator[None]:
    """Without what the library says while it loads; as it was, afterwards."""
    log = transformers.utils.logging
    level, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()
