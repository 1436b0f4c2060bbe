"""What a check costs: seconds beside forward passes, for tiny architectures and for a random GPT-2 small.

Run: python bench/check.py [--small]. Each target is checked in this process, after one that warms it up; --small adds
GPT-2 small, random, with 64 tokens. Figures go to bench/check.json.
"""

import argparse
import time
from typing import Any

import torch

from edgewise import check
from edgewise.tracing import tiny_target
from record import write

TYPES = ("gpt2", "llama", "mistral", "gemma2", "bert", "roberta", "mixtral", "t5", "bart", "vit")


def cost(target: Any, name: str, **how: Any) -> list[Any]:
    """Return a row: seconds, CPU seconds, forward passes and what came of it."""
    begun, worked = time.perf_counter(), time.process_time()
    report = check(target, **how)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - worked
    row = [name, round(seconds, 1), round(cpu, 1), report.passes, report.verdict.partition(":")[0]]
    print(row, flush=True)
    return row


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="GPT-2 small, random, with 64 tokens, as well")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    check(tiny_target("gpt2").model, only=["scale"])
    rows = [cost(tiny_target(name).model, f"tiny {name}") for name in TYPES]
    if arguments.small:
        from transformers import GPT2Config, GPT2LMHeadModel

        torch.set_num_threads(2)
        torch.manual_seed(0)
        rows.append(cost(GPT2LMHeadModel(GPT2Config()).eval(), "GPT-2 small, random, 64 tokens", length=64))
    columns = ["target", "seconds", "CPU seconds", "forward passes", "verdict"]
    notes = [
        "All twelve properties on all routes. A forward pass is one call of the target, whatever it reads: dependence "
        "of T tokens is measured in one pass over T changed copies where a batch allows it.",
    ]
    write(__file__, "Checking", 1, [{"title": "What a check costs", "columns": columns, "rows": rows}], notes, {})


if __name__ == "__main__":
    main()
