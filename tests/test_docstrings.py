"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import pkgutil

import pytest

import edgewise

MODULES = [
    module.name for module in pkgutil.walk_packages(edgewise.__path__, "edgewise.") if "__main__" not in module.name
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_every_docstring_run(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is_for_and_what_it_offers(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} needs a docstring"
    assert hasattr(module, "__all__"), f"{name} needs an __all__"
    for public in module.__all__:
        assert hasattr(module, public), f"{name} offers {public} and does not have it"


@pytest.mark.parametrize("name", MODULES)
def test_everything_public_has_a_docstring(name: str) -> None:
    module = importlib.import_module(name)
    bare = [
        public
        for public in module.__all__
        if callable(getattr(module, public)) and not (getattr(module, public).__doc__ or "").strip()
    ]
    assert not bare
