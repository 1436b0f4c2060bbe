import subprocess
import sys

import pytest

OVERLAPPING = """
import torch
from torch import nn
from edgewise.tracing import trace

counted = []

def backend(graph, inputs):
    return lambda *arguments: counted.append(1) or graph(*arguments)

compiled = torch.compile(lambda x: x + 1, backend=backend)
compiled(torch.ones(2))
before = len(counted)
first, second = trace(nn.Linear(2, 2)), trace(nn.Linear(2, 2))
first.__enter__()
second.__enter__()
compiled(torch.ones(2))
assert len(counted) == before, "compiled code runs as written while a model is watched"
first.__exit__(None, None, None)
compiled(torch.ones(2))
assert len(counted) == before, "one is still watched"
second.__exit__(None, None, None)
compiled(torch.ones(2))
assert len(counted) == before + 1, "compiled code runs compiled when the last is over"
"""


def test_traces_that_end_in_the_order_they_began_leave_compiling_on() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", OVERLAPPING], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "early", ["", "import torch._dynamo.trace_rules as rules; rules.get_torch_obj_rule_map.cache_clear()"]
)
def test_a_compiler_that_comes_during_a_trace_knows_torch_s_functions_afterwards(early: str) -> None:
    code = f"""
import warnings
import torch
{early}
from edgewise import trace
warnings.simplefilter("error")
layer = torch.nn.Linear(4, 4)
with trace(layer):
    layer(torch.ones(1, 4))
    import torch._dynamo.trace_rules as rules
    rules.get_torch_obj_rule_map()
x = torch.ones(2, 3, 3)
add = torch.compile(lambda x: torch.baddbmm(x, x, x) + torch.matmul(x, x), fullgraph=True, backend="eager")
print(add(x).sum().item())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == 126.0
