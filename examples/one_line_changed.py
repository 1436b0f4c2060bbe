"""Draw the README's picture: the same four lines of attention before and after one of them changes.

The tokens are h, o, u with the hand-worked head of the ladder, and every number in the picture is computed here.

    python examples/one_line_changed.py docs/one-line-changed       # writes …-light.svg and …-dark.svg
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from edgewise import causal
from edgewise.attention import reference

TOKENS = "hou"
QUERY = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 0.5]]).T
KEY = torch.tensor([[2.0, 0.0, 1.0], [0.0, 1.0, 1.0]]).T
VALUE = torch.tensor([[10.0, 0.0, 5.0], [0.0, 10.0, 5.0]]).T
THEMES = {
    "light": {"ink": "#1f2328", "faint": "#8c959f", "map": "Blues", "none": "#eaeef2", "on dark": "#ffffff"},
    "dark": {"ink": "#e6edf3", "faint": "#7d8590", "map": "Blues_r", "none": "#21262d", "on dark": "#0d1117"},
}


def weights() -> dict[str, Tensor]:
    """Return the weights (query, key) of both versions of the line, as it stands in the source."""
    x = torch.eye(len(TOKENS))
    query, key, value = x @ QUERY, x @ KEY, x @ VALUE
    nothing = torch.zeros_like(query)
    return {
        "scores = torch.zeros(T, T)": reference(nothing, key, value, causal(), scale=1.0).weights,
        "scores = query @ key.transpose(-2, -1)": reference(query, key, value, causal(), scale=1.0).weights,
    }


def draw(theme: dict[str, str]) -> plt.Figure:
    """Return the figure: one matrix a version; a cell without an edge is a dot, so colour is not the only carrier."""
    style = {"svg.hashsalt": "edgewise", "font.family": "sans-serif", "text.color": theme["ink"]}
    with plt.rc_context({**style, "xtick.color": theme["ink"], "ytick.color": theme["ink"]}):
        figure, panels = plt.subplots(1, 2, figsize=(8, 3.7), layout="constrained")
        for panel, (line, held) in zip(panels, weights().items(), strict=True):
            shown = held.masked_fill(~torch.from_numpy(causal().dense(3, 3)), float("nan"))
            colours = plt.get_cmap(theme["map"]).copy()
            colours.set_bad(theme["none"])
            panel.imshow(shown, cmap=colours, vmin=-0.15, vmax=1.15)
            for t, row in enumerate(held.tolist()):
                for s, weight in enumerate(row):
                    seen = s <= t
                    ink = theme["on dark"] if seen and weight > 0.55 else theme["ink"]
                    panel.text(s, t, f"{weight:.2f}" if seen else "·", ha="center", va="center", color=ink, fontsize=13)
            panel.set_title(line, family="monospace", fontsize=10, color=theme["ink"], pad=10)
            panel.set_xticks(range(3), list(TOKENS))
            panel.set_yticks(range(3), list(TOKENS))
            panel.set_xlabel("is read", color=theme["faint"])
            panel.set_ylabel("reads", color=theme["faint"])
            panel.tick_params(length=0)
            panel.spines[:].set_visible(False)
    return figure


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "one-line-changed")
    for name, theme in THEMES.items():
        draw(theme).savefig(f"{target}-{name}.svg", transparent=True, metadata={"Date": None})
