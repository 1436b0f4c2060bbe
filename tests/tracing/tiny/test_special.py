"""What a few configs are told beyond a size is theirs to be told, and reaches the model."""

from typing import Any

import pytest

from edgewise.tracing.tiny import types
from edgewise.tracing.tiny.build import config_of
from edgewise.tracing.tiny.sizes import LEVELS
from edgewise.tracing.tiny.special import GIVEN

pytest.importorskip("transformers", reason="needs the extra: pip install 'edgewise[transformers]'")


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_given_is_what_the_small_config_says(name: str) -> None:
    assert name in types()
    config: Any = config_of(name, LEVELS[0])
    for field, value in GIVEN[name].items():
        assert getattr(config, field) == value
