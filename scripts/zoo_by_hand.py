"""Traces models that are no transformers architectures, and writes their rows into docs/zoo.json.

Each source is a package, or a checkout whose folder is given; one that is not there is left out, and its rows stay as
they were. Models are small and random; nothing is fetched.
"""

import argparse
import importlib
import importlib.util
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from zoo import ROOT, text
from zoo_row import traced

Made = tuple[Any, Any]
Maker = Callable[[], Made]


def image(side: int = 64) -> Any:
    """Return one random picture."""
    import torch

    return torch.randn(1, 3, side, side)


def ids(most: int = 90, length: int = 12) -> Any:
    """Return two rows of random tokens."""
    import torch

    return torch.randint(0, most, (2, length))


def of_torch() -> Iterator[tuple[str, Maker]]:
    """Yield torch's own layers."""
    import torch
    from torch import nn

    wide = {"d_model": 32, "nhead": 4, "dim_feedforward": 64, "batch_first": True}
    x = torch.randn(2, 7, 32)
    yield "nn.Transformer", lambda: (nn.Transformer(num_encoder_layers=2, num_decoder_layers=2, **wide), (x, x))
    yield "nn.TransformerEncoder", lambda: (nn.TransformerEncoder(nn.TransformerEncoderLayer(**wide), 2), (x,))
    yield "nn.TransformerDecoder", lambda: (nn.TransformerDecoder(nn.TransformerDecoderLayer(**wide), 2), (x, x))
    yield "nn.MultiheadAttention", lambda: (nn.MultiheadAttention(32, 4, batch_first=True), (x, x, x))


TIMM = """
beit_base_patch16_224 cait_xxs24_224 coat_tiny convit_tiny crossvit_tiny_240 davit_tiny deit3_small_patch16_224
deit_tiny_distilled_patch16_224 edgenext_xx_small efficientformer_l1 efficientformerv2_s0 efficientvit_m0
eva02_tiny_patch14_224 fastvit_sa12 focalnet_tiny_srf gcvit_xxtiny hiera_tiny_224 hieradet_small levit_128s
maxvit_pico_rw_256 mobilevit_xxs mobilevitv2_050 mvitv2_tiny naflexvit_base_patch16_gap nest_tiny nextvit_small
pit_ti_224 pvt_v2_b0 samvit_base_patch16_224 sequencer2d_s swin_tiny_patch4_window7_224 swinv2_cr_tiny_224
swinv2_tiny_window8_256 tiny_vit_5m_224 tnt_s_patch16_224 twins_pcpvt_small twins_svt_small visformer_tiny
vit_pe_core_tiny_patch16_384 vit_relpos_small_patch16_224 vit_small_patch14_reg4_dinov2
vit_srelpos_small_patch16_224 vit_tiny_patch16_224 vit_tiny_r_s16_p8_224 vitamin_small_224 volo_d1_224
xcit_nano_12_p8_224
"""


def of_timm() -> Iterator[tuple[str, Maker]]:
    """Yield timm's models of pictures, as wide as they are."""
    import timm

    def maker(name: str) -> Maker:
        def make() -> Made:
            model = timm.create_model(name)
            return model, (image(timm.data.resolve_model_data_config(model)["input_size"][1]),)

        return make

    known = set(timm.list_models())
    for name in TIMM.split():
        if name in known:
            yield name, maker(name)


def of_x_transformers() -> Iterator[tuple[str, Maker]]:
    """Yield x-transformers with its options, one at a time."""
    import x_transformers as library

    size = {"dim": 32, "depth": 2, "heads": 4}
    options: dict[str, dict[str, Any]] = {
        "plain": {},
        "flash": {"attn_flash": True},
        "rotary": {"rotary_pos_emb": True},
        "ALiBi": {"alibi_pos_bias": True, "alibi_num_heads": 2},
        "T5 bias": {"rel_pos_bias": True},
        "one key head": {"attn_one_kv_head": True},
        "grouped keys": {"attn_kv_heads": 2},
        "talking heads before": {"attn_pre_talking_heads": True},
        "talking heads after": {"attn_post_talking_heads": True},
        "gated values": {"attn_gate_values": True},
        "normalised queries and keys": {"attn_qk_norm": True},
        "memory keys": {"attn_num_mem_kv": 3},
        "soft cap": {"attn_softclamp_logits": True},
        "four best keys": {"attn_sparse_topk": 4},
        "learned sink": {"attn_head_learned_sink": True},
        "sandwich norm": {"sandwich_norm": True},
        "normalised values": {"attn_value_rmsnorm": True},
    }

    def maker(layers: str, more: dict[str, Any]) -> Maker:
        def make() -> Made:
            stack = getattr(library, layers)(**size, **more)
            return library.TransformerWrapper(num_tokens=99, max_seq_len=64, attn_layers=stack), (ids(),)

        return make

    for said, more in options.items():
        yield f"Decoder, {said}", maker("Decoder", more)
    yield "Encoder", maker("Encoder", {})
    part = {"num_tokens": 99, "depth": 2, "heads": 4, "max_seq_len": 64}
    both = {f"{side}_{name}": value for side in ("enc", "dec") for name, value in part.items()}
    yield "XTransformer", lambda: (library.XTransformer(dim=32, **both), (ids(), ids()))
    vision = {"image_size": 64, "patch_size": 16, "num_classes": 5}
    yield (
        "ViTransformerWrapper",
        lambda: (library.ViTransformerWrapper(**vision, attn_layers=library.Encoder(**size)), (image(),)),
    )


# Module, class, and what is said beside the size.
VIT_PYTORCH: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("vit", "ViT", {}),
    ("simple_vit", "SimpleViT", {}),
    ("simple_flash_attn_vit", "SimpleViT", {}),
    ("simple_vit_with_qk_norm", "SimpleViT", {}),
    ("simple_vit_with_register_tokens", "SimpleViT", {}),
    ("simple_vit_with_value_residual", "SimpleViT", {}),
    ("simple_vit_with_hyper_connections", "SimpleViT", {"num_residual_streams": 2}),
    ("simple_vit_with_fft", "SimpleViT", {"freq_patch_size": 16}),
    ("simple_uvit", "SimpleUViT", {}),
    ("deepvit", "DeepViT", {}),
    ("cait", "CaiT", {"cls_depth": 1}),
    ("parallel_vit", "ViT", {}),
    ("learnable_memory_vit", "ViT", {}),
    ("vit_for_small_dataset", "ViT", {}),
    ("normalized_vit", "nViT", {}),
    ("jet_vit", "JetViT", {"dim_head": 8}),
    ("jumbo_vit", "JumboViT", {"num_jumbo_cls": 1, "jumbo_cls_k": 2, "jumbo_ff_mult": 2}),
    ("rvt", "RvT", {}),
    ("ats_vit", "ViT", {"max_tokens_per_depth": (8, 6)}),
    ("vit_with_decorr", "ViT", {}),
    ("vit_with_keel_post_ln", "ViT", {}),
    ("na_vit", "NaViT", {}),
)


def of_vit_pytorch() -> Iterator[tuple[str, Maker]]:
    """Yield vit-pytorch's models, each from its own file and each with an attention of its own."""

    def maker(module: str, kind: str, more: dict[str, Any]) -> Maker:
        def make() -> Made:
            size = {"image_size": 64, "patch_size": 16, "num_classes": 5, "dim": 32, "depth": 2, "heads": 4}
            made = getattr(importlib.import_module(f"vit_pytorch.{module}"), kind)
            import inspect

            takes = inspect.signature(made.__init__).parameters
            rest = {"mlp_dim": 64} if "mlp_dim" in takes else {}
            pictures = [image()[0], image()[0]] if module == "na_vit" else image()
            return made(**size, **rest, **more), (pictures,)

        return make

    for module, kind, more in VIT_PYTORCH:
        if importlib.util.find_spec(f"vit_pytorch.{module}") is not None:
            yield f"{module}.{kind}", maker(module, kind, more)


def of_llms_from_scratch() -> Iterator[tuple[str, Maker]]:
    """Yield the book's attention, chapter 3, and its GPT, chapter 4."""
    import torch

    three = importlib.import_module("llms_from_scratch.ch03")
    four = importlib.import_module("llms_from_scratch.ch04")
    x = torch.randn(2, 6, 8)
    yield "ch03.SelfAttention_v1", lambda: (three.SelfAttention_v1(8, 4), (x[0],))
    yield "ch03.SelfAttention_v2", lambda: (three.SelfAttention_v2(8, 4), (x[0],))
    yield "ch03.CausalAttention", lambda: (three.CausalAttention(8, 4, 6, 0.0), (x,))
    yield "ch03.MultiHeadAttentionWrapper", lambda: (three.MultiHeadAttentionWrapper(8, 4, 6, 0.0, 2), (x,))
    yield "ch03.MultiHeadAttention", lambda: (three.MultiHeadAttention(8, 8, 6, 0.0, 2), (x,))
    size = {"vocab_size": 99, "context_length": 16, "emb_dim": 32, "n_heads": 4, "n_layers": 2, "drop_rate": 0.0}
    yield "ch04.GPTModel", lambda: (four.GPTModel(size | {"qkv_bias": False}), (ids(),))
    if hasattr(four, "GPTModelFast"):
        yield "ch04.GPTModelFast", lambda: (four.GPTModelFast(size | {"qkv_bias": False}), (ids(),))


def of_nanogpt(folder: Path) -> Iterator[tuple[str, Maker]]:
    """Yield nanoGPT with torch's function, and written by hand."""
    there = _file(folder / "model.py", "nanogpt_model")

    def make(flash: bool) -> Made:
        model = there.GPT(there.GPTConfig(block_size=32, vocab_size=99, n_layer=2, n_head=4, n_embd=32, dropout=0.0))
        for block in model.transformer.h if not flash else ():
            import torch

            block.attn.flash = False
            block.attn.register_buffer("bias", torch.ones(32, 32).tril().view(1, 1, 32, 32))
        return model, (ids(),)

    yield "GPT, flash", lambda: make(flash=True)
    yield "GPT, by hand", lambda: make(flash=False)


def of_mingpt(folder: Path) -> Iterator[tuple[str, Maker]]:
    """Yield minGPT."""
    sys.path.insert(0, str(folder))
    there = importlib.import_module("mingpt.model")

    def make() -> Made:
        config = there.GPT.get_default_config()
        config.merge_from_dict({"model_type": "gpt-nano", "vocab_size": 99, "block_size": 32})
        return there.GPT(config), (ids(),)

    yield "GPT", make


def _file(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


PACKAGES: dict[str, tuple[str, Callable[[], Iterator[tuple[str, Maker]]]]] = {
    "torch": ("torch", of_torch),
    "timm": ("timm", of_timm),
    "x-transformers": ("x_transformers", of_x_transformers),
    "vit-pytorch": ("vit_pytorch", of_vit_pytorch),
    "llms-from-scratch": ("llms_from_scratch", of_llms_from_scratch),
}


def rows_of(source: str, models: Iterator[tuple[str, Maker]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one source."""
    import torch

    for name, make in models:
        found: dict[str, Any] = {"type": f"{source}: {name}", "kind": source}
        torch.manual_seed(0)
        try:
            model, inputs = make()
            row = found | traced(model.eval(), inputs)
        except Exception as error:  # a source that cannot be run is told of, and the next one is tried
            row = found | {"outcome": "not built", "why": f"{type(error).__name__}: {str(error)[:200]}"}
        seen = f"{row.get('captured', 0)} of {row.get('calls', 0)}"
        print(f"{row['type']}: {row['outcome']}, {seen} {row.get('why', '')[:120]}", flush=True)
        yield row


def main() -> int:
    """Trace what is there and return the exit status."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("sources", nargs="*", help=f"only these of {', '.join(PACKAGES)}, nanoGPT, minGPT")
    asked.add_argument("--nanogpt", type=Path, metavar="FOLDER", help="a checkout of nanoGPT")
    asked.add_argument("--mingpt", type=Path, metavar="FOLDER", help="a checkout of minGPT")
    asked.add_argument("--out", type=Path, default=ROOT / "docs" / "zoo.json")
    given = asked.parse_args()
    warnings.simplefilter("ignore")
    sources = {name: make for name, (module, make) in PACKAGES.items() if importlib.util.find_spec(module) is not None}
    for name, folder, make in (("nanoGPT", given.nanogpt, of_nanogpt), ("minGPT", given.mingpt, of_mingpt)):
        if folder is not None:
            sources[name] = lambda make=make, folder=folder: make(folder)
    held = json.loads(given.out.read_text(encoding="utf-8")) if given.out.is_file() else {}
    rows = {one["type"]: one for one in held.get("by_hand", [])}
    for name, make in sources.items():
        if not given.sources or name in given.sources:
            rows = {kind: one for kind, one in rows.items() if one["kind"] != name}
            rows |= {one["type"]: one for one in rows_of(name, make())}
            given.out.write_text(text(held.get("rows", []), list(rows.values())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
