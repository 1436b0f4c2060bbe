"""One way to look at attention, in a process of its own: reads lengths, answers with seconds and memory as JSON.

Run by bench/trace.py, with the interpreter in which the way's library is installed.
"""

import ctypes
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from transformers.utils import logging

LENGTH = 4096
# The logits of the last token alone, as whoever looks at attention wants no others; no cache of keys and values.
OPTIONS: dict[str, Any] = {"use_cache": False, "logits_to_keep": 1}

Way = Callable[[Tensor], Any]


def gpt2(attention: str) -> GPT2LMHeadModel:
    """Return a model of GPT-2's smallest shape with random weights."""
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(n_positions=LENGTH, attn_implementation=attention)).eval()


def plain() -> Way:
    """Return the forward pass, untouched."""
    model = gpt2("sdpa")
    return lambda tokens: model(tokens, **OPTIONS)


def traced(**options: Any) -> Way:
    """Return the same, watched by edgewise."""
    from edgewise.tracing import trace

    model = gpt2("sdpa")

    def way(tokens: Tensor) -> Any:
        with trace(model, **options) as run:
            model(tokens, **OPTIONS)
        return run

    return way


def eager() -> Way:
    """Return the library's own way to hand out weights."""
    model = gpt2("eager")
    return lambda tokens: model(tokens, output_attentions=True, **OPTIONS)


def transformer_lens(*, patterns: bool) -> Way:
    """Return TransformerLens with a cache of everything, or of the weights alone."""
    from tokenizers import Tokenizer, models
    from transformer_lens.model_bridge import TransformerBridge

    words = Tokenizer(models.WordLevel({"<e>": 0}, "<e>"))
    names = dict.fromkeys(("eos_token", "bos_token", "pad_token", "unk_token"), "<e>")
    model = gpt2("eager")
    with tempfile.TemporaryDirectory() as folder:  # it asks for a tokenizer that has a name
        model.config.architectures = ["GPT2LMHeadModel"]
        model.config.save_pretrained(folder)
        PreTrainedTokenizerFast(tokenizer_object=words, **names).save_pretrained(folder)
        bridge = TransformerBridge.boot_transformers(folder, hf_model=model, device="cpu")
    chosen: dict[str, Any] = {"names_filter": lambda name: name.endswith("hook_pattern")} if patterns else {}
    return lambda tokens: bridge.run_with_cache(tokens, return_type=None, **chosen, **OPTIONS)


def nnsight() -> Way:
    """Return nnsight, saving the weights of every layer."""
    from nnsight import NNsight

    wrapped = NNsight(gpt2("eager"))

    def way(tokens: Tensor) -> Any:
        with wrapped.trace(tokens, **OPTIONS):
            saved: list[Any] = []
            for block in wrapped.transformer.h:
                saved.append(block.attn.output[1].save())  # nnsight reads this very source
            saved.save()  # pyright: ignore[reportAttributeAccessIssue]
        return saved

    return way


WAYS: dict[str, Callable[[], Way]] = {
    "plain": plain,
    "capture": traced,
    "statistics": lambda: traced(keep="statistics"),
    "eager": eager,
    "lens": lambda: transformer_lens(patterns=False),
    "lens patterns": lambda: transformer_lens(patterns=True),
    "nnsight": nnsight,
}


def measured(way: Way, length: int, *, exactly: bool = False) -> dict[str, float]:
    """Return seconds and the most memory that was held beyond what was there before, in MB.

    Left to itself, the C library keeps blocks of up to 32 MB for later and splits them. What it keeps is no need of the
    way's, so `exactly` makes it give back every block at once, which costs time.
    """
    tokens = torch.randint(0, 50257, (1, length), generator=torch.Generator().manual_seed(length))
    gc.collect()
    # What earlier runs left free is given back first, and Linux forgets the largest resident set when asked like this.
    library = ctypes.CDLL(None)
    library.mallopt(-3, 1 << 17 if exactly else 1 << 25)  # M_MMAP_THRESHOLD
    library.malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    begun = time.perf_counter()
    with torch.inference_mode():
        held = way(tokens)
    seconds = time.perf_counter() - begun
    more = resident("VmHWM") - before
    del held
    return {"seconds": seconds, "mb": more}


def resident(field: str) -> float:
    """Return a line of this process's status in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field + ":"))


def asked() -> Iterator[tuple[int, bool]]:
    """Yield lengths and whether memory is to be measured, line by line."""
    for line in sys.stdin:
        length, *words = line.split()
        yield int(length), words == ["exactly"]


def main() -> None:
    """Answer until nothing more is asked for."""
    name, threads = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(threads)
    logging.set_verbosity_error()
    answers, sys.stdout = sys.stdout, sys.stderr  # what libraries print is no answer
    way = WAYS[name]()
    print("ready", file=answers, flush=True)
    for length, exactly in asked():
        print(json.dumps(measured(way, length, exactly=exactly)), file=answers, flush=True)


if __name__ == "__main__":
    main()
