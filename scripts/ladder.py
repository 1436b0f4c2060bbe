"""Makes what the ladder's pages show: each rung's code and what changed, what is told of it, and what it came to.

Losses are those of real lessons on tinyshakespeare: `--train` learns them again, else they are kept as they stand.
"""

import argparse
import json
import math
from itertools import groupby
from pathlib import Path
from typing import Any

from edgewise.derivation import Reading, follow
from edgewise.derivation.claims.direction import MATRIX
from edgewise.derivation.claims.encoder import CLAIMS as ENCODER
from edgewise.derivation.claims.scale import DRAWS, SCORES, WIDTHS
from edgewise.derivation.course import lesson_of
from edgewise.derivation.lab import Lab
from edgewise.derivation.lesson import LESSON
from edgewise.derivation.story import SCENES
from edgewise.derivation.worked import BAG, KEY, LETTERS, ONE_HOT, PLACES, QUERY, VALUE, VECTORS
from edgewise.ladder import RUNGS, Rung, change

PATH = Path(__file__).parents[1] / "web" / "src" / "views" / "ladder" / "ladder.json"
UNTRAINED = ("cross",)


def pages(reading: Reading, lessons: dict[str, Any], cheating: dict[str, Any]) -> dict[str, Any]:
    """Return all of it as JSON values."""
    texts: dict[str, int] = {}
    return {
        "text": {
            "name": reading.name,
            "characters": reading.tokenizer.size,
            "guess": round(math.log(reading.tokenizer.size), 4),
            "pairs": [round(loss, 4) for loss in reading.pair_losses],
        },
        "rungs": [_rung(one, reading, texts) | {"lesson": lessons.get(one.name)} for one in RUNGS],
        "texts": list(texts),
        "cheating": cheating,
        "worked": {
            "letters": LETTERS,
            "vectors": VECTORS,
            "oneHot": ONE_HOT,
            "query": QUERY,
            "key": KEY,
            "value": VALUE,
            "bag": BAG,
            "places": PLACES,
            "scores": [round(score, 4) for score in SCORES.tolist()],
            "widths": WIDTHS,
            "draws": DRAWS,
            "matrix": MATRIX.tolist(),
        },
    }


def _rung(one: Rung, reading: Reading, texts: dict[str, int]) -> dict[str, Any]:
    """One rung; a line of code stands as its number among all texts, with its sign before it."""
    scene = SCENES[one.name](reading)
    step = change(one.follows or one.name, one.name)
    places = [
        {
            "where": where,
            "part": part,
            "lines": " ".join(f"{line.sign.strip()}{texts.setdefault(line.text, len(texts))}" for line in lines),
        }
        for (where, part), lines in groupby(step.lines, key=lambda line: (line.where, line.part))
    ]
    return {
        "name": one.name,
        "follows": one.follows,
        "kind": one.kind,
        "says": one.says,
        "buys": scene.buys,
        "lacks": scene.lacks,
        "numbers": scene.numbers,
        "counts": list(step.counts) if one.follows else None,
        "code": places,
    }


def lesson(one: Rung, reading: Reading) -> dict[str, Any]:
    """Train a rung, and return what it came to."""
    moments = list(follow(one.name, reading))
    size, recipe = lesson_of(one, reading.tokenizer.size)
    last = moments[-1]
    return {
        "parameters": sum(parameter.numel() for parameter in last.model.parameters()),
        "block": size.block,
        "steps": recipe.steps,
        "curve": [[now.step, round(now.loss, 3)] for now in moments[1:]],
        "held": [[now.step, round(now.validation, 3)] for now in moments if now.validation is not None],
        "sample": last.sample,
    }


def cheats(reading: Reading) -> dict[str, Any]:
    """Train with and without the mask, and return the losses position by position."""
    lab = Lab(reading)
    result = next(claim for claim in ENCODER if claim.id == "encoder.cheating").run(lab)
    assert result.status == "holds", result
    found = result.measured

    def rounded(numbers: list[float]) -> list[float]:
        return [round(one, 4) for one in numbers]

    return {
        "steps": LESSON.steps,
        "masked": rounded(lab.rung("scale").validation.tolist()),
        "unmasked": rounded([*found["loss_all_but_last"], found["loss_at_last"]]),
        "writing": round(found["loss_when_writing"], 4),
        "bigram": round(found["bigram"], 4),
        "writes": found["writes"],
    }


def main() -> None:
    """Make the file again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", type=Path, help="tinyshakespeare")
    parser.add_argument("--train", action="store_true", help="learn the losses again")
    given = parser.parse_args()
    reading = Reading.find([given.text])
    assert reading.is_tinyshakespeare
    if given.train:
        lessons = {one.name: lesson(one, reading) for one in RUNGS if one.name not in UNTRAINED}
        cheating = cheats(reading)
    else:
        held = json.loads(PATH.read_text(encoding="utf-8"))
        lessons, cheating = {one["name"]: one["lesson"] for one in held["rungs"]}, held["cheating"]
    whole = pages(reading, lessons, cheating)
    PATH.write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
