"""The mistakes edgewise can name: each is also the built-in kind that a caller would expect to catch.

A message says what was wanted, what came, where, and what to try. The command line prints it as one sentence and
exits 2.
"""

__all__ = ["ArgumentError", "DataError", "EdgewiseError", "MissingError", "RunError", "ShapeError", "TraceError"]


class EdgewiseError(Exception):
    """Any mistake that edgewise can name."""


class ShapeError(EdgewiseError, ValueError):
    """A tensor or array has another shape than the function can use."""


class ArgumentError(EdgewiseError, ValueError):
    """An argument is of the right type and outside what is allowed."""


class DataError(EdgewiseError, ValueError):
    """A text, a token or a file holds something that cannot be used."""


class MissingError(EdgewiseError, FileNotFoundError):
    """A file, a text or an optional package that is needed is not there."""

    # FileNotFoundError prints an errno pair unless it is told not to.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class RunError(EdgewiseError, RuntimeError):
    """A long piece of work cannot go on: the loss is not a number, a run folder is taken, a checkpoint is damaged."""


class TraceError(EdgewiseError, RuntimeError):
    """What was seen of a model's attention does not explain what it computed, or nothing was seen."""
