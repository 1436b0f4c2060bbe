import pytest

from edgewise.axes import ALIASES, AXES, STAGES, canonical
from edgewise.errors import ArgumentError


def test_a_name_of_ours_is_its_own_canonical_name() -> None:
    for name in (*AXES, *STAGES, "query", "key", "value", "allowed"):
        assert canonical(name) == name


def test_every_alias_leads_to_a_name_of_ours() -> None:
    for alias, name in ALIASES.items():
        assert canonical(alias) == name == canonical(name)


def test_an_unknown_name_says_which_names_there_are() -> None:
    with pytest.raises(ArgumentError, match="wanted the name of an axis or a stage; got 'attnetion'; ours are allowed"):
        canonical("attnetion")
