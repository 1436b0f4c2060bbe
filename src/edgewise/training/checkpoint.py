"""Checkpoints: one file each, that is there whole or not at all, and that tells when it was damaged.

A file is safetensors: the model's tensors as `model.…`, the optimiser's as `step.…`, and in the header, as JSON, how
far the run had come and a checksum. It is written beside its place, flushed to the disk and renamed, so that a process
killed at any moment leaves the checkpoint before or the one after.
"""

import json
import os
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from edgewise.errors import MissingError, RunError

__all__ = ["Checkpoint", "Progress", "read", "sweep", "write", "write_atomically"]


@dataclass(frozen=True)
class Progress:
    """How far a run has come: steps done, seconds spent, and its validation losses so far."""

    step: int = 0
    seconds: float = 0.0
    validation_loss: float | None = None
    best_loss: float | None = None
    best_step: int | None = None


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run after `progress.step` steps; without `step` tensors it can be sampled, not resumed."""

    model: dict[str, Tensor]
    step: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    progress: Progress = Progress()


def write(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint in the place of the one before it, at once or not at all."""
    named = {f"model.{name}": tensor for name, tensor in checkpoint.model.items()}
    named |= {f"step.{name}": tensor for name, tensor in checkpoint.step.items()}
    kept: dict[str, Tensor] = {}
    places: dict[tuple[Any, ...], str] = {}
    shared: dict[str, str] = {}
    for name, tensor in named.items():
        # Tied weights are one tensor under two names: written once, and known by both names again when read.
        place = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if tensor.numel() and place in places:
            shared[name] = places[place]
        else:
            places[place] = name
            kept[name] = tensor.detach().to("cpu", copy=True).contiguous()
    header = {"progress": asdict(checkpoint.progress), "shared": shared, "checksum": _checksum(kept)}
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.touch()
    mode = temporary.stat().st_mode  # what this user's files get; safetensors would make it private
    try:
        save_file(kept, temporary, metadata={"edgewise": json.dumps(header)})
        temporary.chmod(mode)
        _put(temporary, path)
    except SafetensorError as error:  # its way to say that the disk is full
        raise OSError(str(error)) from error
    finally:
        temporary.unlink(missing_ok=True)


def read(path: Path) -> Checkpoint:
    """Read what `write` wrote.

    Raises:
        MissingError: there is no such file.
        RunError: it is damaged, or not a checkpoint of ours.
    """
    if not path.is_file():
        raise MissingError(f"wanted a checkpoint; there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            header: dict[str, Any] | None = json.loads((file.metadata() or {}).get("edgewise", "null"))
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 — no mapping
    except (SafetensorError, OSError, json.JSONDecodeError) as error:
        raise RunError(f"the checkpoint {path} is damaged or cut off ({error})") from None
    if header is None:
        raise RunError(f"wanted a checkpoint of edgewise; {path} is a safetensors file of something else")
    if _checksum(tensors) != header["checksum"]:
        raise RunError(f"the checkpoint {path} is damaged: its numbers are not those that were written (checksum)")
    for name, same in header["shared"].items():
        tensors[name] = tensors[same]
    return Checkpoint(_part(tensors, "model."), _part(tensors, "step."), Progress(**header["progress"]))


def sweep(folder: Path) -> None:
    """Remove what a process that was killed while writing left half written."""
    for pattern in (".*.safetensors.*", ".tmp*"):  # ours, and the one that safetensors itself writes first
        for left in folder.glob(pattern):
            left.unlink(missing_ok=True)


def write_atomically(path: Path, content: str) -> None:
    """Write a text file in the place of the one before it, at once or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(content, encoding="utf-8")
    _put(temporary, path)


def _put(temporary: Path, path: Path) -> None:
    _flush(temporary)
    temporary.replace(path)
    if os.name == "posix":  # the rename itself
        _flush(path.parent)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _checksum(tensors: dict[str, Tensor]) -> int:
    total = 0
    for name in sorted(tensors):
        total = zlib.crc32(name.encode(), total)
        # its memory, not bytes: a checksum needs no second copy of the model
        total = zlib.crc32(tensors[name].reshape(-1).view(torch.uint8).numpy().data, total)
    return total
