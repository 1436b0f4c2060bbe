"""Models that people write themselves, in the manners they write them in: found with no change to their code."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from edgewise.graphs import causal, full
from edgewise.records import Record
from edgewise.tracing import record


def seen(model: nn.Module, *inputs: Any) -> Record:
    """The record of a model, every row checked."""
    found = record(model.eval(), inputs, check="all")
    assert found.proof.exact
    assert max(call.residual for call in found.calls) < 1e-5
    assert "unexplained" not in found.inputs
    return found


def ids() -> Tensor:
    return torch.randint(0, 90, (2, 9), generator=torch.Generator().manual_seed(0))


def picture() -> Tensor:
    return torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))


class Patches(nn.Module):
    """Pictures as rows of patches, attention by einsum, heads taken apart by views: how small ViTs are written."""

    def __init__(self, width: int = 24, heads: int = 3) -> None:
        super().__init__()
        self.cut = nn.Conv2d(3, width, 8, stride=8)
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.norm = nn.LayerNorm(width)
        self.to_qkv, self.to_out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.heads, self.dropout = heads, nn.Dropout(0.1)

    def forward(self, picture: Tensor) -> Tensor:
        x = self.cut(picture).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], dim=1)
        batch, tokens, width = x.shape
        split = [
            part.view(batch, tokens, self.heads, -1).transpose(1, 2) for part in self.to_qkv(self.norm(x)).chunk(3, -1)
        ]
        query, key, value = split
        scores = torch.einsum("b h i d, b h j d -> b h i j", query, key) * (width // self.heads) ** -0.5
        weights = self.dropout(scores.softmax(dim=-1))
        out = torch.einsum("b h i j, b h j d -> b h i d", weights, value)
        return x + self.to_out(out.transpose(1, 2).reshape(batch, tokens, width))


class Memory(nn.Module):
    """A decoder with one head of keys, learned keys before them, and a mask filled with the lowest number."""

    def __init__(self, width: int = 24, heads: int = 3) -> None:
        super().__init__()
        self.words = nn.Embedding(90, width)
        self.to_q, self.to_kv = nn.Linear(width, width, bias=False), nn.Linear(width, 2 * width // heads, bias=False)
        self.kept = nn.Parameter(torch.randn(2, width // heads))
        self.heads = heads

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens)
        query = self.to_q(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        key, value = self.to_kv(x).chunk(2, dim=-1)
        key = torch.cat([self.kept.expand(len(x), -1, -1), key], dim=1)
        value = torch.cat([torch.zeros_like(self.kept).expand(len(x), -1, -1), value], dim=1)
        scores = torch.einsum("bhid,bjd->bhij", query * query.shape[-1] ** -0.5, key)
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(scores.shape[-1] - scores.shape[-2] + 1)
        scores = scores.masked_fill(hidden, -torch.finfo(scores.dtype).max)
        scores = scores - scores.amax(dim=-1, keepdim=True).detach()
        return torch.einsum("bhij,bjd->bhid", scores.softmax(dim=-1), value).transpose(1, 2).flatten(2)


def test_a_picture_cut_into_patches_is_seen_by_every_head() -> None:
    (call,) = seen(Patches(), picture()).calls
    assert (call.site.heads, call.rows, call.keys, call.graph) == (3, 17, 17, full())


def test_one_head_of_keys_with_learned_ones_before_them_is_causal_and_grouped() -> None:
    (call,) = seen(Memory(), ids()).calls
    assert (call.site.heads, call.site.groups) == (3, 1)
    assert (call.rows, call.keys, call.graph) == (9, 11, causal())
    assert not call.value.float32()[:, :, :2].any()


def test_torch_s_transformer_has_encoder_decoder_and_cross_attention() -> None:
    layers = nn.Transformer(24, 4, 1, 2, 48, batch_first=True)
    source, target = torch.randn(2, 7, 24), torch.randn(2, 5, 24)
    found = seen(layers, source, target, None, nn.Transformer.generate_square_subsequent_mask(5))
    assert [(call.site.kind, call.rows, call.keys) for call in found.calls] == [
        ("self", 7, 7),
        *[("self", 5, 5), ("cross", 5, 7)] * 2,
    ]
    assert [call.graph for call in found.calls] == [full(), causal(), full(), causal(), full()]


def test_x_transformers_is_seen_with_its_bias() -> None:
    library = pytest.importorskip("x_transformers", reason="needs x-transformers: pip install x-transformers")
    layers = library.Decoder(dim=24, depth=2, heads=3, rel_pos_bias=True)
    model = library.TransformerWrapper(num_tokens=90, max_seq_len=16, attn_layers=layers)
    found = seen(model, ids())
    assert [(call.graph, call.bias is None) for call in found.calls] == [(causal(), False)] * 2


def test_timm_s_vision_transformer_is_seen() -> None:
    try:
        import timm
    except (ImportError, RuntimeError):
        pytest.skip("needs timm and the torchvision of this torch: pip install timm")
    found = seen(timm.create_model("vit_tiny_patch16_224", img_size=32, depth=2), picture())
    assert [(call.site.heads, call.rows, call.graph) for call in found.calls] == [(3, 5, full())] * 2


def test_vit_pytorch_is_seen() -> None:
    module = pytest.importorskip("vit_pytorch.simple_vit", reason="needs vit-pytorch: pip install vit-pytorch")
    size = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 24, "depth": 2, "heads": 3, "mlp_dim": 48}
    assert len(seen(module.SimpleViT(**size), picture()).calls) == 2


def test_llms_from_scratch_is_seen() -> None:
    module = pytest.importorskip("llms_from_scratch.ch04", reason="needs the package: pip install llms-from-scratch")
    size = {"vocab_size": 90, "context_length": 16, "emb_dim": 24, "n_heads": 3, "n_layers": 2, "drop_rate": 0.0}
    found = seen(module.GPTModel(size | {"qkv_bias": False}), ids())
    assert [call.graph for call in found.calls] == [causal()] * 2
