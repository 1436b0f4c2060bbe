"""The numbers of a run on disk: `metrics.jsonl`, a line a step and a line an evaluation; TensorBoard on request."""

import json
from pathlib import Path
from typing import Any

from edgewise.errors import MissingError
from edgewise.training.checkpoint import Progress, write_atomically
from edgewise.training.watch import Evaluated, Stepped, Watcher

__all__ = ["Metrics", "TensorBoard", "read_metrics"]


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a metrics file; a last line that was cut off by a kill is left out."""
    if not path.is_file():
        return []
    rows: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows


class Metrics(Watcher):
    """Writes `metrics.jsonl`. A run that goes on from step n first drops what was written after step n."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Any = None

    def begun(self, progress: Progress, steps: int) -> None:
        """Keep the lines up to the checkpoint, and open the file to go on."""
        del steps
        # Before the first checkpoint nothing counts: not even the evaluation before the first step.
        upto = progress.step if progress.validation_loss is not None else -1
        rows = [row for row in read_metrics(self._path) if row["step"] <= upto]
        write_atomically(self._path, "".join(json.dumps(row) + "\n" for row in rows))
        self._file = self._path.open("a", encoding="utf-8")

    def stepped(self, stepped: Stepped) -> None:
        """Write a step."""
        self._write(
            step=stepped.step,
            loss=stepped.loss,
            learning_rate=stepped.learning_rate,
            gradient_norm=stepped.gradient_norm,
            tokens_per_second=round(stepped.tokens_per_second),
            seconds=round(stepped.seconds, 3),
        )

    def evaluated(self, evaluated: Evaluated) -> None:
        """Write an evaluation, and let nothing wait in a buffer: a checkpoint follows."""
        self._write(
            step=evaluated.step,
            validation_loss=evaluated.validation_loss,
            best=evaluated.best,
            seconds=round(evaluated.seconds, 3),
        )

    def ended(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _write(self, **row: Any) -> None:
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()  # to the system: what a killed process wrote is kept


class TensorBoard(Watcher):
    """Writes the same numbers for TensorBoard.

    Raises:
        MissingError: TensorBoard is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise MissingError(
                "wanted TensorBoard, which is not installed; pip install 'edgewise[tensorboard]', or leave "
                "--tensorboard out: metrics.jsonl has the same numbers"
            ) from None
        self._open, self._folder = SummaryWriter, folder
        self._writer: Any = None

    def begun(self, progress: Progress, steps: int) -> None:
        """Open the log; what an earlier process wrote after the checkpoint is struck out."""
        del steps
        self._writer = self._open(str(self._folder), purge_step=progress.step + 1)

    def stepped(self, stepped: Stepped) -> None:
        """Write a step."""
        self._writer.add_scalar("loss/training", stepped.loss, stepped.step)
        self._writer.add_scalar("learning_rate", stepped.learning_rate, stepped.step)
        self._writer.add_scalar("gradient_norm", stepped.gradient_norm, stepped.step)
        self._writer.add_scalar("tokens_per_second", stepped.tokens_per_second, stepped.step)

    def evaluated(self, evaluated: Evaluated) -> None:
        """Write an evaluation."""
        self._writer.add_scalar("loss/validation", evaluated.validation_loss, evaluated.step)

    def ended(self) -> None:
        """Close the log."""
        if self._writer is not None:
            self._writer.close()
