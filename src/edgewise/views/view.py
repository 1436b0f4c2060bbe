"""`view`: a record as something to look at, wherever it is looked at from."""

from pathlib import Path
from typing import Any

from edgewise.errors import ArgumentError, MissingError
from edgewise.records import Record, open_record
from edgewise.views.html import write_html
from edgewise.views.live import Output
from edgewise.views.text import text
from edgewise.views.widget import widget

__all__ = ["View", "view"]


class View:
    """A record to look at: a notebook draws it, `print` tells it, `save` writes it as one HTML file.

    Args:
        record: the run.
        output: what the model said, where it is known.
    """

    def __init__(self, record: Record, output: Output | None = None) -> None:
        self.record, self.output = record, output

    def save(self, path: str | Path) -> Path:
        """Write one HTML file with everything in it.

        Raises:
            RunError: it cannot be written.
        """
        return write_html(self.record, path, output=self.output)

    def text(self, *which: Any, **how: Any) -> str:
        """Tell it in characters; see `edgewise.views.text.text`.

        Raises:
            ArgumentError: there is no such site, head, query or key.
        """
        return text(self.record, *which, **how)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"View({self.record.target or 'a record'!r}, {len(self.record.sites)} sites)"

    def _repr_mimebundle_(self, **how: Any) -> Any:
        try:
            return widget(self.record, self.output)._repr_mimebundle_(**how)
        except MissingError as why:
            return {"text/plain": f"{self}\n({why})"}


def view(record: Record | str | Path) -> View:
    """Look at a record, or at the file of one.

    Args:
        record: what `edgewise.record` returned, or a file that `edgewise trace --out` wrote.

    Raises:
        ArgumentError: it is neither.
        MissingError: there is no such file.

    Example:
        >>> view("run.edgewise").save("run.html")  # doctest: +SKIP
    """
    if isinstance(record, str | Path):
        return View(open_record(record))
    if not isinstance(record, Record):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"wanted a record or its file; got {type(record).__name__}: edgewise.record(model, inputs) makes a record"
        )
    return View(record)
