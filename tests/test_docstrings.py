"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import inspect
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
def test_every_public_function_and_class_has_a_docstring(name: str) -> None:
    module = importlib.import_module(name)
    offered = {public: getattr(module, public) for public in module.__all__}
    made_here = {public: one for public, one in offered.items() if inspect.isfunction(one) or inspect.isclass(one)}
    assert [public for public, one in made_here.items() if not (one.__doc__ or "").strip()] == []
