"""The product of the weights is what the raw scores are made with."""

import pytest
import torch
from torch import nn

from edgewise.cli.live_product import product
from edgewise.cli.run_target import run_target
from edgewise.errors import ArgumentError
from edgewise.records import open_record, tile
from edgewise.samples import shipped


def seen_by(model, name, run):
    """What a module reads while a model runs."""
    held = []
    hook = dict(model.named_modules())[name].register_forward_pre_hook(lambda _, given: held.append(given[0]))
    with torch.no_grad():
        run(model)
    hook.remove()
    return held[0][0]


def test_raw_scores_of_the_shipped_model_are_x_m_x():
    target = run_target(str(shipped()), dtype=None, device="cpu")
    record = open_record(shipped() / "trace.edgewise")
    ids = torch.tensor([target.reader.ids("".join(record.tokens[0]))])
    for head in (0, 3):
        x = seen_by(target.model, "blocks.2.attention", lambda model: model(ids))
        m = product(target.model, "blocks.2.attention", head, 4, 4, 30)
        wanted = torch.from_numpy(tile(record.call("blocks.2.attention"), 0, head, stage="raw"))
        torch.testing.assert_close(x @ m @ x.T, wanted, atol=0.1, rtol=0.01)  # the record is in half precision


def test_grouped_heads_share_their_keys():
    layer = nn.Module()
    layer.q_proj, layer.k_proj = nn.Linear(12, 16, bias=False), nn.Linear(12, 8, bias=False)
    x = torch.randn(5, 12)
    q, k = layer.q_proj(x).view(5, 4, 4), layer.k_proj(x).view(5, 2, 4)
    m = product(layer, "", 3, 4, 2, 4)
    torch.testing.assert_close(x @ m @ x.T, q[:, 3] @ k[:, 1].T)


def test_torchs_own_layer_and_weights_the_other_way_round():
    layer = nn.MultiheadAttention(8, 2)
    x = torch.randn(3, 8)
    q, k, _ = (x @ layer.in_proj_weight.T).view(3, 3, 2, 4).unbind(1)
    torch.testing.assert_close(x @ product(layer, "", 1, 2, 2, 4) @ x.T, q[:, 1] @ k[:, 1].T)
    transformers = pytest.importorskip("transformers.pytorch_utils")
    other = nn.Module()
    other.c_attn = transformers.Conv1D(24, 8)
    q, k, _ = (x @ other.c_attn.weight).view(3, 3, 2, 4).unbind(1)
    torch.testing.assert_close(x @ product(other, "", 1, 2, 2, 4) @ x.T, q[:, 1] @ k[:, 1].T)


def test_weights_that_are_not_found_are_a_sentence():
    with pytest.raises(ArgumentError, match="the weights of queries and keys are not found at 0: wanted q_proj"):
        product(nn.Sequential(nn.Linear(2, 2)), "0", 0, 1, 1, 2)
