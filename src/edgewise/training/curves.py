"""The picture of a run: training and validation loss over the steps, readable on light and on dark paper."""

from pathlib import Path
from typing import Any

from edgewise.training.metrics import read_metrics

__all__ = ["draw_curves"]

# Mid-tones: at least 3 : 1 against both white and near-black, and told apart by line and marker as well as by colour.
POINTS = 2000  # drawn of a curve: more would not be seen, and would make the file large
GREY, BLUE, ORANGE = "#808080", "#3b82c4", "#d9730d"


def draw_curves(folder: Path, title: str) -> list[Path]:
    """Draw `curves.svg` and `curves.png` from the metrics of a run folder and return their paths."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure  # without pyplot: no window system, no global state

    rows = read_metrics(folder / "metrics.jsonl")
    steps = [(row["step"], row["loss"]) for row in rows if "loss" in row]
    thin = slice(None, None, -(-len(steps) // POINTS) or 1)
    evaluations = [(row["step"], row["validation_loss"]) for row in rows if "validation_loss" in row]
    figure = Figure(figsize=(7, 4), layout="constrained")
    figure.patch.set_alpha(0)
    axes: Any = figure.add_subplot()
    axes.patch.set_alpha(0)
    if steps:
        axes.plot(*zip(*steps[thin], strict=True), color=BLUE, alpha=0.35, linewidth=0.7)
        axes.plot(*zip(*_smoothed(steps)[thin], strict=True), color=BLUE, linewidth=1.8, label="training (smoothed)")
    if evaluations:
        axes.plot(*zip(*evaluations, strict=True), color=ORANGE, marker="o", linewidth=1.8, label="validation")
        step, loss = min(evaluations, key=lambda one: one[1])
        axes.annotate(f"{loss:.3f}", (step, loss), (0, 8), textcoords="offset points", color=ORANGE, ha="center")
    _plain(axes, title)
    paths = [folder / "curves.svg", folder / "curves.png"]
    # Text stays text, and the same run gives the same file.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "edgewise"}):
        for path in paths:
            figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths


def _smoothed(steps: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the running mean that forgets over about a fiftieth of the run."""
    keep = 1 - 1 / max(1.0, len(steps) / 50)
    smooth, weight, out = 0.0, 0.0, list[tuple[int, float]]()
    for step, loss in steps:
        smooth, weight = smooth * keep + loss * (1 - keep), weight * keep + (1 - keep)
        out.append((step, smooth / weight))
    return out


def _plain(axes: Any, title: str) -> None:
    axes.set_title(title, color=GREY, fontsize=10)
    axes.set_xlabel("step", color=GREY)
    axes.set_ylabel("loss (nats a token)", color=GREY)
    axes.tick_params(colors=GREY)
    axes.grid(color=GREY, alpha=0.25, linewidth=0.6)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GREY)
    axes.legend(frameon=False, labelcolor=GREY)
