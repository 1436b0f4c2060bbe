import ast
import inspect
import math

import pytest

from edgewise.derivation import worked


def test_the_hand_uses_no_tensor_library() -> None:
    tree = ast.parse(inspect.getsource(worked))
    imported = [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    imported += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert imported == ["math"]


def test_the_hand_comes_to_the_numbers_of_the_document() -> None:
    stages = worked.attention_by_hand(worked.ONE_HOT)
    assert stages["raw"][2] == [4.0, 0.5, 2.5]
    assert stages["masked"][0] == [2.0, -math.inf, -math.inf]
    assert stages["weights"][2] == pytest.approx([0.80, 0.02, 0.18], abs=0.005)
    assert stages["out"][2] == pytest.approx([8.87, 1.13], abs=0.005)
