"""Popular attention written from scratch, as it is, under `edgewise check`; writes bench/from_scratch.json.

Nothing of it is kept here. Each repository is named by a folder: a clone, or a bare mirror (what is needed is taken out
of its history). Packages are looked for where Python looks (x-transformers, vit-pytorch, einops).

  python bench/from_scratch.py --lecture DIR --nanogpt DIR --mingpt DIR --llms DIR
"""

import argparse
import contextlib
import importlib
import importlib.util
import io
import subprocess
import sys
import tarfile
import tempfile
import types
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from edgewise import check
from edgewise.errors import EdgewiseError
from record import write

CONFIG = {
    "vocab_size": 97,
    "context_length": 32,
    "emb_dim": 32,
    "n_heads": 4,
    "n_layers": 2,
    "drop_rate": 0.1,
    "qkv_bias": False,
    "hidden_dim": 64,
    "n_kv_groups": 2,
    "rope_base": 10000.0,
    "rope_freq": None,
    "dtype": torch.float32,
    "head_dim": 8,
    "qk_norm": True,
    "num_experts": 0,
    "latent_dim": 16,
    "sliding_window_size": 4,
    "sliding_window_stride": -1,
    "num_experts_per_tok": 2,
    "kv_window_size": 8,
}
"""For every model of LLMs-from-scratch; each takes its own names out of it."""
Build = Callable[[], Any]


def taken(repository: str, commit: str, folder: Path) -> Path:
    """Return a folder with the files of a commit."""
    made = subprocess.run(["git", "-C", repository, "archive", commit], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(made)) as files:
        files.extractall(folder, filter="data")
    return folder


def loaded(path: Path, name: str, upto: str | None = None) -> types.ModuleType:
    """Return a file's code run as a module; of a script that trains, what stands before a line."""
    source = path.read_text(encoding="utf-8")
    if upto is not None:
        source = source[: source.index(upto)]
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(source, str(path), "exec"), vars(module))
    return module


def lecture(folder: Path) -> dict[str, tuple[Build, dict[str, Any]]]:
    """Karpathy's lecture model: of the newest commit, and of the last that scales by all channels."""
    found: dict[str, tuple[Build, dict[str, Any]]] = {}
    for when, commit in (("newest", "master"), ("before 'scale by head size'", "988848a^")):
        place = taken(str(folder), commit, Path(tempfile.mkdtemp()))
        source = (place / "gpt.py").read_text(encoding="utf-8")
        head = "block_size = 16\nn_embd = 32\nn_head = 4\nn_layer = 2\ndropout = 0.1\nvocab_size = 97\ndevice = 'cpu'\n"
        last = "model = GPTLanguageModel()" if "GPTLanguageModel" in source else "model = BigramLanguageModel()"
        body = "import torch\nimport torch.nn as nn\nfrom torch.nn import functional as F\n" + head
        body += source[source.index("class Head(") : source.index(last)]
        path = place / "model_only.py"
        path.write_text(body, encoding="utf-8")
        module = loaded(path, f"lecture_{len(found)}")
        kind = module.GPTLanguageModel if hasattr(module, "GPTLanguageModel") else module.BigramLanguageModel
        found[f"ng-video-lecture gpt.py, {when}: {kind.__name__}"] = (kind, {"graph": "causal()"})
        found[f"ng-video-lecture gpt.py, {when}: Head"] = (lambda module=module: module.Head(8), {"graph": "causal()"})
    return found


def nanogpt(folder: Path) -> dict[str, tuple[Build, dict[str, Any]]]:
    """NanoGPT, with its fused way and with the one by hand."""
    module = loaded(taken(str(folder), "master", Path(tempfile.mkdtemp())) / "model.py", "nanogpt_model")

    def make(flash: bool) -> nn.Module:
        model = module.GPT(module.GPTConfig(block_size=16, vocab_size=97, n_layer=2, n_head=4, n_embd=32, dropout=0.1))
        for block in model.transformer.h:
            if not flash:
                block.attn.flash = False
                block.attn.register_buffer("bias", torch.ones(16, 16).tril().view(1, 1, 16, 16))
        return model

    meant = {"graph": "causal()", "arguments": {}}
    return {
        "nanoGPT model.py: GPT": (lambda: Whole(make(True)), meant),
        "nanoGPT model.py: CausalSelfAttention": (lambda: make(True).transformer.h[0].attn, {"graph": "causal()"}),
        "nanoGPT model.py: CausalSelfAttention, by hand": (
            lambda: make(False).transformer.h[0].attn,
            {"graph": "causal()"},
        ),
    }


class Absent(types.ModuleType):
    """A package that is named and never used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def absent(*names: str) -> None:
    """Put something in the place of packages that are not installed."""
    for name in names:
        top = name.partition(".")[0]
        if isinstance(sys.modules.get(top), Absent) or importlib.util.find_spec(top) is None:
            sys.modules.setdefault(name, Absent(name))


class Whole(nn.Module):
    """A model that answers for its last token alone unless it is given targets, asked for all."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits of every token."""
        return self.model(tokens, tokens)[0]


def mingpt(folder: Path) -> dict[str, tuple[Build, dict[str, Any]]]:
    """The model of minGPT."""
    sys.path.insert(0, str(taken(str(folder), "master", Path(tempfile.mkdtemp()))))
    module = importlib.import_module("mingpt.model")

    def make() -> nn.Module:
        config = module.GPT.get_default_config()
        config.model_type, config.vocab_size, config.block_size = None, 97, 16
        config.n_layer, config.n_head, config.n_embd = 2, 4, 32
        return module.GPT(config)

    return {
        "minGPT mingpt/model.py: GPT": (make, {"graph": "causal()"}),
        "minGPT mingpt/model.py: CausalSelfAttention": (lambda: make().transformer.h[0].attn, {"graph": "causal()"}),
    }


def llms(folder: Path) -> dict[str, tuple[Build, dict[str, Any]]]:
    """Sebastian Raschka's book: its attention variants, and its models with caches."""
    absent("tiktoken", "tiktoken.load", "requests", "tokenizers")  # for texts, of which none is read here
    place = taken(str(folder), "HEAD", Path(tempfile.mkdtemp()))
    older = taken(str(folder), "28c65cd^", Path(tempfile.mkdtemp()))
    sys.path.insert(0, str(place / "pkg"))
    causal: dict[str, Any] = {"graph": "causal()"}
    found: dict[str, tuple[Build, dict[str, Any]]] = {}
    book = loaded(place / "pkg/llms_from_scratch/ch03.py", "llms_ch03")
    name = "LLMs-from-scratch pkg/…/ch03.py: "
    found[name + "CausalAttention"] = (lambda: book.CausalAttention(16, 16, 32, 0.1), causal)
    found[name + "MultiHeadAttentionWrapper"] = (lambda: book.MultiHeadAttentionWrapper(16, 8, 32, 0.1, 2), causal)
    found[name + "MultiHeadAttention"] = (lambda: book.MultiHeadAttention(16, 16, 32, 0.1, 4), causal)
    found[name + "PyTorchMultiHeadAttention"] = (lambda: book.PyTorchMultiHeadAttention(16, 16, 4, 0.1), causal)
    files = {
        "ch04/03_kv-cache/gpt_with_kv_cache.py": causal,
        "ch04/03_kv-cache/gpt_with_kv_cache_optimized.py": causal,
        "ch04/04_gqa/gpt_with_kv_gqa.py": causal,
        "ch04/05_mla/gpt_with_kv_mla.py": causal,
        "ch04/06_swa/gpt_with_kv_swa.py": {"graph": "window(4)"},
        "ch04/07_moe/gpt_with_kv_moe.py": causal,
    }
    for count, (path, meant) in enumerate(files.items()):
        module = loaded(place / path, f"llms_{count}")
        found[f"LLMs-from-scratch {path}: GPTModel"] = (lambda module=module: module.GPTModel(CONFIG), meant)
    before = loaded(older / "ch04/06_swa/gpt_with_kv_swa.py", "llms_swa_before")
    found["LLMs-from-scratch …/gpt_with_kv_swa.py before #1013: GPTModel"] = (
        lambda: before.GPTModel(CONFIG),
        {"graph": "window(4)"},
    )
    for part in (
        "ch04:GPTModel",
        "ch04:GPTModelFast",
        "llama3:Llama3Model",
        "llama3:Llama3ModelFast",
        "qwen3:Qwen3Model",
    ):
        file, _, kind = part.partition(":")
        for under in ("", "kv_cache."):
            if under and file == "ch04":
                file = "gpt2"
            try:
                module = importlib.import_module(f"llms_from_scratch.{under}{file}")
                make = getattr(module, kind)
            except (ImportError, AttributeError):
                continue
            title = f"LLMs-from-scratch pkg/…/{under.replace('.', '/')}{file}.py: {kind}"
            found[title] = (lambda make=make: make(CONFIG), causal)
    return found


def packages() -> dict[str, tuple[Build, dict[str, Any]]]:
    """x-transformers and vit-pytorch, where they are installed."""
    found: dict[str, tuple[Build, dict[str, Any]]] = {}
    with contextlib.suppress(ImportError):
        x = importlib.import_module("x_transformers")

        def decoder(**how: Any) -> nn.Module:
            layers = x.Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, **how)
            return x.TransformerWrapper(num_tokens=97, max_seq_len=32, attn_layers=layers)

        ways: dict[str, dict[str, Any]] = {
            "": {},
            "attn_flash": {"attn_flash": True},
            "rotary_pos_emb": {"rotary_pos_emb": True},
            "alibi_pos_bias": {"alibi_pos_bias": True, "alibi_num_heads": 4},
            "rel_pos_bias": {"rel_pos_bias": True},
            "attn_kv_heads=2": {"attn_kv_heads": 2},
            "attn_num_mem_kv=2": {"attn_num_mem_kv": 2},
            "attn_qk_norm": {"attn_qk_norm": True},
        }
        for way, how in ways.items():
            title = f"x-transformers Decoder{f', {way}' if way else ''}"
            found[title] = (lambda how=how: decoder(**how), {"graph": "causal()"})

        def encoder() -> nn.Module:
            layers = x.Encoder(dim=32, depth=2, heads=4, attn_dim_head=8)
            return x.TransformerWrapper(num_tokens=97, max_seq_len=32, attn_layers=layers)

        found["x-transformers Encoder"] = (encoder, {"graph": "full()"})
    with contextlib.suppress(ImportError):
        absent("torchvision", "torchvision.models")  # for pictures, of which none is read here
        vit = importlib.import_module("vit_pytorch.vit")
        make = vit.Transformer
        found["vit-pytorch vit.py: Transformer"] = (lambda: make(32, 2, 4, 8, 64, 0.1), {"graph": "full()"})
    return found


def row(title: str, build: Build, meant: Mapping[str, Any], seconds: float) -> tuple[list[str], Any]:
    """Return a line of the table and what is kept of the report, or why there is none."""
    from edgewise.checks import described

    torch.manual_seed(0)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            model = build().eval()
        report = check(model, budget=seconds, **meant)
    except EdgewiseError as error:
        return [title, "not told", str(error)[:200], ""], str(error)
    except Exception as error:
        return [title, "not built", f"{type(error).__name__}: {error}"[:200], ""], str(error)
    found = report.failures
    told = "; ".join(f"{one.cause.property} {one.cause.kind}: {one.cause.measured}" for one in found)
    whole = described(report)
    kept = {name: whole[name] for name in ("verdict", "findings", "warnings", "seconds", "passes")}
    kept["skipped"] = {one.name: one.why for one in report.results if one.status == "skip"}
    return [title, report.verdict, told, "; ".join(one.cause.likely for one in found)], kept


def main() -> None:
    """Check what is named, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("lecture", "nanogpt", "mingpt", "llms"):
        parser.add_argument(f"--{name}", type=Path, metavar="DIR", help="the repository")
    parser.add_argument("--only", metavar="TEXT", default="", help="what has this in its name")
    parser.add_argument("--budget", type=float, default=120.0, metavar="SECONDS", help="for each (default: 120)")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    targets: dict[str, tuple[Build, dict[str, Any]]] = {}
    for name, of in (("lecture", lecture), ("nanogpt", nanogpt), ("mingpt", mingpt), ("llms", llms)):
        if getattr(asked, name) is not None:
            targets |= of(getattr(asked, name))
    targets |= packages()
    rows: list[list[str]] = []
    raw: dict[str, Any] = {}
    for title, (build, meant) in targets.items():
        if asked.only in title:
            line, raw[title] = row(title, build, meant, asked.budget)
            rows.append(line)
            print(*line, sep=" | ", flush=True)
    if asked.only:
        return
    table = {"title": "From scratch, unmodified", "columns": ["what", "verdict", "findings", "likely"], "rows": rows}
    notes = ["docs/findings.md says of each finding what it is."]
    print("wrote", write(__file__, "Attention from scratch", 1, [table], notes, raw).name)


if __name__ == "__main__":
    main()
