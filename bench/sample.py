"""Sampling beside nanoGPT and transformers: one set of weights, the same tokens asked of each, timed in turns.

    python bench/sample.py --nanogpt PATH

PATH is a checkout of nanoGPT or its model.py. transformers is measured where it can be imported. Before anything is
timed, all are asked for their likeliest tokens and must give the same ones. Writes bench/sample.json.
"""

import argparse
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from edgewise.ladder import Size, rung
from edgewise.training import Characters, Loaded, sample
from record import alternate, middle, write

SIZE = Size(vocabulary=65, block=64, width=128, heads=4, layers=4)
LETTERS = "".join(chr(code) for code in range(32, 32 + SIZE.vocabulary))
Job = Callable[[], Any]


def ours(weights: dict[str, Tensor]) -> Loaded:
    """Return the GPT rung with the weights given."""
    model = rung("gpt").build(SIZE)
    model.load_state_dict(weights)
    return Loaded(model.eval(), Characters(LETTERS), SIZE, "gpt", 0, None, Path())


def random_weights() -> dict[str, Tensor]:
    """Return the weights of a GPT rung, larger than fresh ones so that its likeliest tokens are far apart."""
    generator = torch.Generator().manual_seed(0)
    shapes = {name: tensor.shape for name, tensor in rung("gpt").build(SIZE).state_dict().items()}
    return {
        name: torch.ones(shape) if len(shape) == 1 else torch.randn(shape, generator=generator) * 0.15
        for name, shape in shapes.items()
    }


def nanogpt(path: Path, weights: dict[str, Tensor]) -> torch.nn.Module:
    """Return nanoGPT's model with the weights given."""
    file = path / "model.py" if path.is_dir() else path
    spec = importlib.util.spec_from_file_location("nanogpt_model", file)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{file} is not nanoGPT's model.py")
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    config = module.GPTConfig(
        block_size=SIZE.block,
        vocab_size=SIZE.vocabulary,
        n_layer=SIZE.layers,
        n_head=SIZE.heads,
        n_embd=SIZE.width,
        dropout=0.0,
        bias=False,
    )
    model = module.GPT(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[our_name(name)])
    return model.eval()


def our_name(theirs: str) -> str:
    """Return our name of a GPT-2 parameter."""
    for old, new in {
        "transformer.": "",
        "wte": "token",
        "wpe": "position",
        "h.": "blocks.",
        "ln_f": "norm",
        "ln_1": "attention_norm",
        "ln_2": "feed_norm",
        "attn.c_attn": "attention.qkv",
        "attn.c_proj": "attention.mix",
        "mlp.c_fc": "feed.up",
        "mlp.c_proj": "feed.down",
    }.items():
        theirs = theirs.replace(old, new)
    return theirs


def transformers(weights: dict[str, Tensor]) -> torch.nn.Module | None:
    """Return transformers' GPT-2 with the weights given and biases of zero, or None where it is not installed."""
    if importlib.util.find_spec("transformers") is None:
        return None
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=SIZE.vocabulary,
        n_positions=SIZE.block,
        n_embd=SIZE.width,
        n_layer=SIZE.layers,
        n_head=SIZE.heads,
        activation_function="gelu",
        bos_token_id=0,
        eos_token_id=None,
        pad_token_id=0,
    )
    model = GPT2LMHeadModel(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
            else:
                theirs = weights[our_name(name)]
                parameter.copy_(
                    theirs.t() if ".c_" in name else theirs
                )  # they keep the matrices of blocks as (in, out)
    return model.eval()


class Peers:
    """Each as a function of prompt length, new tokens and batch, drawing at temperature 1."""

    def __init__(self, path: Path) -> None:
        weights = random_weights()
        self.run = ours(weights)
        self.nanogpt = nanogpt(path, weights)
        self.transformers = transformers(weights)

    def prompt(self, length: int, batch: int) -> Tensor:
        """Return the tokens that every sequence of the batch begins with."""
        return (torch.arange(length) * 7 % SIZE.vocabulary).expand(batch, -1)

    def jobs(self, length: int, new: int, batch: int) -> dict[str, Job]:
        """Return what is timed, by name; transformers has no way past its positions."""
        prompt = self.prompt(length, batch)
        text = "".join(LETTERS[token] for token in prompt[0].tolist())
        found: dict[str, Job] = {
            "edgewise": lambda: sample(self.run, text, tokens=new, count=batch),
            "nanoGPT": lambda: self.nanogpt.generate(prompt, new),
        }
        model = self.transformers
        if model is not None and length + new <= SIZE.block + 1:
            found["transformers, with its cache"] = lambda: model.generate(
                prompt, attention_mask=torch.ones_like(prompt), do_sample=True, top_k=0, max_new_tokens=new
            )
        return found

    def check(self) -> None:
        """Stop where one of them writes other likeliest tokens than the others."""
        prompt, new = self.prompt(9, 1), 40
        text = "".join(LETTERS[token] for token in prompt[0].tolist())
        expected = self.nanogpt.generate(prompt, new, top_k=1)[0].tolist()
        assert self.run.tokenizer.encode(sample(self.run, text, tokens=new, temperature=0)[0]).tolist() == expected
        past = self.nanogpt.generate(prompt, 120, top_k=1)[0].tolist()
        assert self.run.tokenizer.encode(sample(self.run, text, tokens=120, temperature=0)[0]).tolist() == past
        if self.transformers is not None:
            mask = torch.ones_like(prompt)
            found = self.transformers.generate(prompt, attention_mask=mask, do_sample=False, max_new_tokens=new)
            assert found[0].tolist() == expected


def measured(peers: Peers, rounds: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the tables and the single timings."""
    tables: list[dict[str, Any]] = []
    raw: dict[str, Any] = {}
    for title, length, new, batch in (
        ("One sequence, within the block: 63 tokens after 1", 1, 63, 1),
        ("32 sequences, within the block: 63 tokens after 1", 1, 63, 32),
        ("One sequence, past the block: 64 tokens after 64", 64, 64, 1),
        ("32 sequences, past the block: 64 tokens after 64", 64, 64, 32),
        ("One sequence, 500 tokens after 1", 1, 500, 1),
    ):
        taken = alternate(peers.jobs(length, new, batch), rounds)
        rates = {name: batch * new / middle(seconds) for name, seconds in taken.items()}
        rows = [[name, f"{rate:,.0f}", f"{rates['edgewise'] / rate:.2f}"] for name, rate in rates.items()]
        tables.append({"title": title, "columns": ["", "tokens/s", "edgewise is × as fast"], "rows": rows})
        raw[title] = {"tokens": batch * new, "seconds": taken}
        print(title, *(f"  {row[0]:30}{row[1]:>10}  ×{row[2]}" for row in rows), sep="\n")
    return tables, raw


def main() -> None:
    """Measure and write."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument(
        "--nanogpt", type=Path, required=True, metavar="PATH", help="a checkout of nanoGPT, or its model.py"
    )
    asked.add_argument("--threads", type=int, default=2)
    asked.add_argument("--rounds", type=int, default=7, help="timings of each, in turns (default: 7)")
    arguments = asked.parse_args()
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    load = os.getloadavg()[0]
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    peers = Peers(arguments.nanogpt)
    peers.check()
    tables, raw = measured(peers, arguments.rounds)
    versions = "nanoGPT 3adf61e1"
    if peers.transformers is not None:
        versions += f", transformers {importlib.import_module('transformers').__version__}"
    notes = [
        "4 layers, 4 heads, width 128, block 64, 65 tokens, float32, drawn at temperature 1; the same weights in each, "
        "and all write the same likeliest tokens.",
        f"Peers: {versions}. nanoGPT keeps no cache; transformers' GPT-2 cannot go past its positions.",
        "Edgewise is timed as `edgewise.sample` is called, from text to text; its peers from tokens to tokens.",
        "Past the block the last 64 tokens are computed again for each new one, by all: that is what the model says.",
        f"Medians of {arguments.rounds} timings, taken in turns; the load of the machine before them was {load:.1f}.",
    ]
    print("wrote", write(__file__, "Sampling", arguments.threads, tables, notes, raw).name)


if __name__ == "__main__":
    main()
