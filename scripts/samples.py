"""Makes the run that edgewise carries: trains it by the command below, keeps its weights in half precision, says how.

The text is that of the Python which runs this, so another version of Python gives another run.
"""

import datetime
import hashlib
import json
import platform
import shlex
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from edgewise import __version__
from edgewise.samples import shipped
from edgewise.tracing import Given, feed, recorded
from edgewise.training.checkpoint import Checkpoint, read, write
from edgewise.training.folder import slim

TEXT = "python-topics.txt"
LINE = "The value of the expression is the value of the name, and the name is the name of the value."
TRAIN = f"edgewise train {TEXT} --width 120 --block 128 --batch 24 --steps 2000 --optimiser muon --out topics"


def prose() -> str:
    """Return the text: the topics of Python's own help, in the order of their names."""
    from pydoc_data.topics import topics

    return "\n".join(topics[name] for name in sorted(topics))


def losses(run: Path) -> dict[str, Any]:
    """Return the first and the best validation loss of a run, in nats a token."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    validations = [(line["validation_loss"], line["step"]) for line in lines if "validation_loss" in line]
    best, step = min(validations)
    return {"validation_at_start": validations[0][0], "validation": best, "step": step}


def main() -> None:
    """Train, and put the run in its place."""
    text = prose()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / TEXT).write_text(text, encoding="utf-8")
        subprocess.run([sys.executable, "-m", *shlex.split(TRAIN)], cwd=work, check=True)
        keep(work / "topics", shipped(), text)
    record()


def record() -> None:
    """Write the run's attention on a line of text beside it, in half precision: `edgewise view` opens it by itself."""
    from edgewise.cli.run_target import run_target

    found = replace(run_target(str(shipped()), dtype=None, device="cpu"), name="edgewise's own small GPT")
    recorded(found, feed(found, Given(text=LINE)), dtype=torch.float16, out=shipped() / "trace.edgewise")


def keep(run: Path, place: Path, text: str) -> None:
    """Write what sampling needs of a run to its place, and how it was made beside it."""
    slim(run, place)
    best = read(place / "best.safetensors")
    halves = {name: weight.half() for name, weight in best.model.items()}
    write(place / "best.safetensors", Checkpoint(halves, {}, best.progress))
    provenance = {
        "command": TRAIN,
        "made_by": "scripts/samples",
        "edgewise": __version__,
        "torch": torch.__version__,
        "date": datetime.date.today().isoformat(),
        "text": {
            "what": "pydoc_data.topics, the language reference behind help(); topics joined by newlines",
            "python": platform.python_version(),
            "licence": "PSF-2.0",
            "characters": len(text),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        },
        "losses": losses(run),
        "parameters": sum(weight.numel() for weight in halves.values()),
        "stored_as": "float16",
    }
    (place / "provenance.json").write_text(json.dumps(provenance, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
