import subprocess
import sys
from pathlib import Path

import pytest
import torch

import edgewise.ladder.models
from edgewise.errors import ArgumentError
from edgewise.ladder import RUNGS, Size, rung

NAMES = [rung.name for rung in RUNGS]
SIZE = Size(vocabulary=11, block=6, width=8, heads=2, layers=2)


def test_the_list_names_every_file_of_models_once() -> None:
    files = {path.stem for path in Path(edgewise.ladder.models.__path__[0]).glob("[!_]*.py")}
    assert len(NAMES) == len(set(NAMES))
    assert set(NAMES) == files


def test_each_rung_follows_one_that_stands_before_it() -> None:
    assert RUNGS[0].follows is None
    for at, follower in enumerate(RUNGS[1:], 1):
        assert follower.follows in NAMES[:at], follower.name


def test_the_main_line_is_one_path_from_the_bigram_to_the_gpt() -> None:
    main = [step for step in RUNGS if step.kind == "main"]
    assert [step.follows for step in main] == [None, *(step.name for step in main[:-1])]
    assert (main[0].name, main[-1].name) == ("bigram", "gpt")


def test_what_a_rung_says_is_one_sentence() -> None:
    for step in RUNGS:
        assert step.says.endswith(".")
        assert "\n" not in step.says
        assert len(step.says) <= 120


def test_an_unknown_name_is_told_what_it_could_have_been() -> None:
    with pytest.raises(ArgumentError) as caught:
        rung("scales")
    assert str(caught.value) == f"no rung is called 'scales' (did you mean 'scale'?); the rungs are {', '.join(NAMES)}"
    with pytest.raises(ArgumentError) as caught:
        rung("xyzzy")
    assert str(caught.value) == f"no rung is called 'xyzzy'; the rungs are {', '.join(NAMES)}"


def test_one_seed_gives_one_model_and_leaves_the_random_state_alone() -> None:
    before = torch.random.get_rng_state()
    first, again, other = (rung("gpt").build(SIZE, seed=seed).state_dict() for seed in (1, 1, 2))
    torch.testing.assert_close(torch.random.get_rng_state(), before)
    torch.testing.assert_close(first, again, rtol=0, atol=0)
    assert not torch.equal(first["token.weight"], other["token.weight"])


def test_the_ladder_loads_no_torch_until_a_model_is_built() -> None:
    code = (
        "import sys; from edgewise.ladder import RUNGS, change, rung; rung('gpt').source(); change('scale', 'encoder');"
        "assert 'torch' not in sys.modules, 'torch is loaded'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
