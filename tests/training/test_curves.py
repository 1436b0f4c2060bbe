import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np

from edgewise.training import Run
from edgewise.training.curves import BLUE, GREY, ORANGE, draw_curves


def luminance(colour: str) -> float:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_the_colours_stand_out_on_light_and_on_dark() -> None:
    for colour in (GREY, BLUE, ORANGE):
        assert 1.05 / (luminance(colour) + 0.05) >= 3, "on white"
        assert (luminance(colour) + 0.05) / (luminance("#121212") + 0.05) >= 3, "on near black"


def test_the_picture_names_its_curves_and_has_no_ground_of_its_own(tiny_run: Run) -> None:
    from matplotlib.image import imread

    picture = ElementTree.fromstring((tiny_run.folder / "curves.svg").read_text())
    drawn = ElementTree.tostring(picture, encoding="unicode")
    for said in ("gpt on book", "training (smoothed)", "validation", "loss (nats a token)", "step"):
        assert said in drawn, said
    assert imread(tiny_run.folder / "curves.png")[0, 0, 3] == 0, "transparent"


def test_a_run_without_steps_has_a_picture_too(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "validation_loss": 4.0}\n')
    assert [path.name for path in draw_curves(tmp_path, "gpt")] == ["curves.svg", "curves.png"]
