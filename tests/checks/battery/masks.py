"""G: masks that mean something else than they should."""

import torch
import torch.nn.functional as F
from torch import nn

from battery.case import Projections, case, merge, triangle
from edgewise import causal


def _scored(mask):
    """A causal layer whose scores are masked by a function of the scores and the triangle."""

    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            return self.out(merge(mask(q @ k.transpose(-2, -1) / 2, triangle(x.size(1))).softmax(-1) @ v))

    return Layer()


def _filled(scores, keep):
    return scores.masked_fill(~keep, float("-inf"))


@case("mask-meaning", "G1", graph=causal(), other=("future-leak",))
def filled_where_it_should_be_kept(ok):
    return _scored(lambda scores, keep: scores.masked_fill(~keep if ok else keep, -1e30))


@case("mask-meaning", "G1", other=("padding-leak",))
def a_key_padding_mask_of_torch_given_ones_for_tokens(ok):
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, x, attention_mask=None):
            keep = torch.ones(x.shape[:2], dtype=torch.bool) if attention_mask is None else attention_mask.bool()
            return self.attention(x, x, x, key_padding_mask=~keep if ok else keep, need_weights=False)[0]

    return Layer()


@case("mask-meaning", "G2", graph=causal(), other=("future-leak",))
def hidden_by_minus_ten(ok):
    return _scored(lambda scores, keep: scores.masked_fill(~keep, float("-inf") if ok else -10.0))


@case("mask-meaning", "G2", "D1", other=("padding-leak",))
def padding_hidden_by_minus_twenty(ok):
    class Layer(Projections):
        def forward(self, x, mask=None):
            q, k, v = self.qkv(x)
            scores = q @ k.transpose(-2, -1) / 2
            if mask is not None:
                scores = scores + (1 - mask.to(x.dtype))[:, None, None, :] * (-1e30 if ok else -20.0)
            return self.out(merge(scores.softmax(-1) @ v))

    return Layer()


@case("mask-meaning", "G3", routes=lambda route: "float16" in route, other=("normalisation",))
def no_number_in_half_precision(ok):
    class Layer(Projections):
        def forward(self, x, attention_mask):
            q, k, v = self.qkv(x)
            low = torch.finfo(x.dtype).min if ok else -1e9
            bias = (1.0 - attention_mask.to(x.dtype))[:, None, None, :] * torch.tensor(low).to(x.dtype)
            return self.out(merge((q @ k.transpose(-2, -1) / 2 + bias).softmax(-1) @ v))

    return Layer().float()


@case("mask-meaning", "G4", graph=causal(), other=("future-leak",))
def zeros_and_ones_added(ok):
    return _scored(lambda scores, keep: _filled(scores, keep) if ok else scores + keep.to(scores.dtype))


@case("mask-meaning", "G4", other=("padding-leak",))
def a_padding_mask_of_floats_added_by_the_fused_function(ok):
    class Layer(Projections):
        def forward(self, x, mask):
            keep = mask.bool()[:, None, None, :]
            keep = keep if ok else keep.to(x.dtype)
            return self.out(merge(F.scaled_dot_product_attention(*self.qkv(x), attn_mask=keep)))

    return Layer()


@case("mask-meaning", "G5", "A1", graph=causal(), other=("future-leak",))
def the_filled_scores_are_dropped(ok):
    def mask(scores, keep):
        filled = scores.masked_fill(~keep, float("-inf"))
        return filled if ok else scores

    return _scored(mask)


@case("mask-meaning", "G6", "G2", graph=causal(), other=("future-leak",))
def the_mask_is_scaled_with_the_scores(ok):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            bias = torch.zeros(x.size(1), x.size(1)).masked_fill(~triangle(x.size(1)), -60.0 if not ok else -1e30)
            return self.out(merge(((q @ k.transpose(-2, -1) + bias) * 0.5).softmax(-1) @ v))

    return Layer()


@case("mask-meaning", "G1", graph=causal(), other=("future-leak",))
def a_function_whose_square_mask_hides_what_it_should_show(ok):
    def attention(q, k, v):
        hide = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool).triu(1 + k.size(-2) - q.size(-2))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=~hide if ok else hide)

    return attention


@case("mask-meaning", "G1")
def a_mask_of_numbers_that_is_subtracted(ok):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            mask = torch.zeros(x.size(1), x.size(1)).masked_fill(~triangle(x.size(1)), -1e4)
            scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
            return self.out(merge((scores + mask if ok else scores - mask).softmax(-1) @ v))

    return Layer()


@case("mask-meaning", "G1", mask="mask:keep")
def a_function_turns_a_mask_of_padding_round(ok):
    def attend(q, k, v, mask):
        keep = mask[:, None, None, :]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep if ok else ~keep)

    return attend


@case("mask-meaning", "G1")
def padding_that_is_true_is_read_as_kept(ok):
    class Layer(Projections):
        def forward(self, src, src_key_padding_mask=None):
            q, k, v = self.qkv(src)
            scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
            if src_key_padding_mask is not None:
                pad = src_key_padding_mask[:, None, None, :]
                scores = scores.masked_fill(pad if ok else ~pad, torch.finfo(scores.dtype).min)
            return self.out(merge(scores.softmax(-1) @ v))

    return Layer()


@case("mask-meaning", "G2")
def the_smallest_number_of_a_dtype_is_the_one_nearest_to_zero(ok):
    def fill(scores, keep):
        lowest = torch.finfo(scores.dtype).min if ok else torch.finfo(scores.dtype).tiny
        return torch.where(keep, scores, torch.full([], lowest, dtype=scores.dtype))

    return _scored(fill)


@case("mask-meaning", "G2")
def a_fill_with_the_wrong_exponent(ok):
    return _scored(lambda scores, keep: scores.masked_fill(~keep, -1e9 if ok else -1e-9))


@case("normalisation", "H2")
def padding_is_put_to_zero_behind_the_softmax(ok):
    class Layer(Projections):
        def forward(self, src, key_padding_mask=None):
            q, k, v = self.qkv(src)
            scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
            if key_padding_mask is None:
                return self.out(merge(scores.softmax(-1) @ v))
            pad = key_padding_mask[:, None, None, :]
            right = scores.masked_fill(pad, torch.finfo(scores.dtype).min).softmax(-1)
            return self.out(merge((right if ok else scores.softmax(-1).masked_fill(pad, 0.0)) @ v))

    return Layer()
