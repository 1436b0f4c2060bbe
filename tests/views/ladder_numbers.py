"""The derivation's numbers that the ladder's pages work out again in the browser: what their arithmetic is held to.

`python tests/views/ladder_numbers.py` writes web/tests/ladder.json again.
"""

import json
from pathlib import Path

import torch

from edgewise.attention import reference
from edgewise.derivation.claims.average import average
from edgewise.derivation.claims.direction import shared
from edgewise.derivation.claims.scale import SCORES, WIDTHS, variance_restored
from edgewise.derivation.claims.softmax import weights_of
from edgewise.derivation.claims.value import Y
from edgewise.derivation.lab import Lab
from edgewise.derivation.worked import BAG, KEY, ONE_HOT, PLACES, QUERY, VALUE, VECTORS
from edgewise.graphs import causal, full

PATH = Path(__file__).parents[2] / "web" / "tests" / "ladder.json"
QUICK = (
    *("average.by-hand", "matmul.all-ones", "matmul.lower-triangular", "matmul.normalised", "matmul.negative-weight"),
    *("softmax.by-hand", "softmax.zeros-is-average", "direction.row", "position.by-hand", "qk.asymmetric"),
    *("qk.compatibility-table", "hand.worked-table", "hand.content-dependent", "scale.sharpening"),
    "scale.gradient-vanishes",
)


def stages(x, graph, *, value=VALUE, key=KEY, scale=1.0):
    """Every stage of the hand-made head in float64."""
    rows = torch.tensor(x, dtype=torch.float64)
    query, keys = (rows @ torch.tensor(weight, dtype=torch.float64).T for weight in (QUERY, key))
    values = rows if value is None else rows @ torch.tensor(value, dtype=torch.float64).T
    found = reference(query, keys, values, graph, scale=scale)
    return {name: plain(getattr(found, name)) for name in ("raw", "scaled", "masked", "weights", "out")}


def word(letters, placed, content):
    """What the last letter of a word takes home."""
    x = torch.tensor([BAG[one] for one in letters], dtype=torch.float64)
    x = x + torch.tensor(PLACES[: len(letters)], dtype=torch.float64) if placed else x
    found = reference(x if content else x * 0, x, x, causal(), scale=1.0)
    return {"word": letters, "placed": placed, "content": content, "x": plain(x), "out": plain(found.out[-1])}


def numbers():
    """All of it, as JSON values."""
    from edgewise.derivation import CLAIMS

    claims = {claim.id: claim.run(Lab()) for claim in CLAIMS if claim.id in QUICK}
    assert all(one.status == "holds" for one in claims.values())
    return {
        "claims": {name: one.record()["measured"] for name, one in claims.items()},
        "heads": {
            "hou": stages(ONE_HOT, causal()),
            "you": stages([Y, *ONE_HOT[1:]], causal()),
            "handing over x": stages(ONE_HOT, causal(), value=None),
            "scaled": stages(ONE_HOT, causal(), scale=2**-0.5),
            "no mask": stages(ONE_HOT, full()),
            "one matrix": stages(ONE_HOT, causal(), key=QUERY),
        },
        "words": [
            word(letters, placed, content)
            for letters in ("dogs", "gods")
            for placed in (False, True)
            for content in (False, True)
        ],
        "means": plain(average(torch.tensor([VECTORS], dtype=torch.float64))[0][0]),
        "zeros": plain(weights_of(torch.zeros(3, 3, dtype=torch.float64))),
        "sharp": plain((SCORES.double() * 4).softmax(dim=0)),
        "directions": {along: plain(shared(along)) for along in ("keys", "queries", "all")},
        "levelled": plain(
            torch.nn.functional.layer_norm(torch.tensor([[2.0, 7, 6, 4], [20, 70, 60, 40]]).double(), (4,))
        ),
        "variance": {"widths": WIDTHS, "within": variance_restored.expected["variance"].within},
    }


def plain(tensor):
    """Nested lists; an infinite number as its name."""
    if isinstance(tensor, torch.Tensor):
        return plain(tensor.tolist())
    if isinstance(tensor, list):
        return [plain(one) for one in tensor]
    return str(tensor) if tensor in (float("inf"), -float("inf")) else float(f"{tensor:.12g}")


def text():
    """The file."""
    return json.dumps(numbers(), ensure_ascii=False, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
