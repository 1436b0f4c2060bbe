"""What a few configs are told beyond a size is theirs to be told, and reaches the model."""

from typing import Any

import pytest

from edgewise.tracing.tiny import tiny, types
from edgewise.tracing.tiny.build import config_of
from edgewise.tracing.tiny.reads import READS
from edgewise.tracing.tiny.sizes import LEVELS
from edgewise.tracing.tiny.special import GIVEN

pytest.importorskip("transformers", reason="needs the extra: pip install 'edgewise[transformers]'")


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_given_is_what_the_small_config_says(name: str) -> None:
    assert name in types()
    said(config_of(name, LEVELS[0]), GIVEN[name])


def said(config: Any, given: Any) -> None:
    for field, value in given.items():
        here = getattr(config, field)
        if isinstance(value, dict) and hasattr(here, "model_type"):
            said(here, value)
        else:
            assert here == value or list(here) == value, field


def test_what_a_type_is_given_to_read_is_a_type_s_and_its_model_s() -> None:
    assert READS.keys() <= types().keys()
    assert tiny("deepseek_vl_hybrid").inputs.keys() == READS["deepseek_vl_hybrid"].inputs.keys()
