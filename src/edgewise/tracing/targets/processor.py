"""Pictures and sounds as the inputs of a model, by the processor that lies beside it."""

import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from edgewise.errors import DataError, EdgewiseError, MissingError

__all__ = ["LibraryProcessor", "sound"]

_WIDTHS = {1: (np.uint8, 128.0, 128.0), 2: (np.dtype("<i2"), 0.0, 32768.0), 4: (np.dtype("<i4"), 0.0, 2147483648.0)}


class LibraryProcessor:
    """A processor of transformers, read when it is first asked for.

    Args:
        name: of the model, as the user named it.
        read: reads the processor of a kind, like "AutoProcessor".
    """

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self._name, self._read = name, read

    def image(self, path: str, text: str | None) -> dict[str, Any]:
        """The inputs for a picture, and a text about it where there is one.

        Raises:
            MissingError: there is no such file, or no processor.
            DataError: it is no picture.
        """
        from PIL import Image, UnidentifiedImageError

        _there(path)
        try:
            picture = Image.open(path).convert("RGB")
        except UnidentifiedImageError:
            raise DataError(f"wanted a picture; {path} is none that can be read") from None
        if text is None:
            return dict(self._first("AutoImageProcessor", "AutoProcessor")(images=picture, return_tensors="pt"))
        return dict(self._first("AutoProcessor")(images=picture, text=text, return_tensors="pt"))

    def audio(self, path: str, text: str | None) -> dict[str, Any]:
        """The inputs for a sound, and a text about it where there is one.

        Raises:
            MissingError: there is no such file, or no processor.
            DataError: it is no sound that can be read.
        """
        _there(path)
        process = self._first("AutoFeatureExtractor", "AutoProcessor") if text is None else self._first("AutoProcessor")
        rate = int(getattr(getattr(process, "feature_extractor", process), "sampling_rate", 16000))
        heard = {"sampling_rate": rate, "return_tensors": "pt"}
        if text is None:
            return dict(process(sound(path, rate), **heard))
        return dict(process(audio=sound(path, rate), text=text, **heard))

    def _first(self, *kinds: str) -> Any:
        failed: list[EdgewiseError] = []
        for kind in kinds:
            try:
                return self._read(kind)
            except EdgewiseError as error:
                failed.append(error)
        raise failed[0]


def sound(path: str, rate: int) -> np.ndarray:
    """The samples of a sound file in one channel, between −1 and 1, at a rate a second.

    Another rate than the file's is reached by drawing lines between samples.

    Raises:
        DataError: it is no WAV file of whole numbers, and soundfile is not there to read it.
    """
    try:
        with wave.open(path) as file:
            channels, width, own, frames = file.getparams()[:4]
            kind, zero, full = _WIDTHS[width]
            read = np.frombuffer(file.readframes(frames), kind)
    except (wave.Error, EOFError, KeyError):
        samples, own = _other(path)
    else:
        samples = (read.astype(np.float32).reshape(-1, channels).mean(1) - zero) / full
    if own == rate:
        return samples.astype(np.float32)
    many = round(len(samples) * rate / own)
    return np.interp(np.arange(many) * own / rate, np.arange(len(samples)), samples).astype(np.float32)


def _other(path: str) -> tuple[np.ndarray, int]:
    try:
        import soundfile  # pyright: ignore[reportMissingImports] - people who have it can give other files
    except ImportError:
        raise DataError(
            f"wanted a sound; {path} is no plain WAV file, and other kinds need soundfile: pip install soundfile"
        ) from None
    try:
        samples, rate = soundfile.read(path, always_2d=True)
    except Exception as error:
        raise DataError(f"wanted a sound; {path} cannot be read: {error}") from None
    return samples.mean(1), int(rate)


def _there(path: str) -> None:
    if not Path(path).expanduser().is_file():
        raise MissingError(f"wanted a file to read; there is no file {path}")
