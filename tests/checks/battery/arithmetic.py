"""H: weights that are not an average. I: scores that are scaled by another number."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from battery.case import Projections, by_hand, case, merge, triangle
from edgewise import causal


def _weighted(weigh, **options):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            return self.out(merge(weigh(q @ k.transpose(-2, -1) / 2) @ v))

    return Layer(**options)


@case("normalisation", "H1")
def softmax_over_queries_in_a_layer(ok):
    return _weighted(lambda scores: scores.softmax(-1 if ok else -2))


@case("normalisation", "H1")
def softmax_over_heads(ok):
    return _weighted(lambda scores: scores.softmax(-1 if ok else 1))


@case("normalisation", "H1")
def a_function_with_softmax_over_heads(ok):
    def attention(query, key, value):
        scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / math.sqrt(query.shape[-1])
        return torch.einsum("bhqk,bhkd->bhqd", F.softmax(scores, dim=-1 if ok else 1), value)

    return attention


@case("normalisation", "H2", graph=causal())
def masked_after_softmax(ok):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            scores, keep = q @ k.transpose(-2, -1) / 2, triangle(x.size(1))
            hidden = scores.masked_fill(~keep, float("-inf"))
            return self.out(merge((hidden.softmax(-1) if ok else scores.softmax(-1) * keep) @ v))

    return Layer()


@case("normalisation", "H3")
def a_row_with_nothing_to_read_becomes_no_number(ok):
    class Layer(Projections):
        def forward(self, x, attention_mask=None):
            keep = triangle(x.size(1))
            if attention_mask is not None:
                keep = keep & attention_mask.bool()[:, None, None, :]
            scores = (self.qkv(x)[0] @ self.qkv(x)[1].transpose(-2, -1) / 2).masked_fill(~keep, -math.inf)
            if ok:
                scores = scores.masked_fill(~keep.any(-1, keepdim=True), 0.0)
            return x + self.out(merge(scores.softmax(-1) @ self.qkv(x)[2]))

    return _Twice(Layer(), Layer())


class _Twice(nn.Module):
    def __init__(self, one, two):
        super().__init__()
        self.one, self.two = one, two

    def forward(self, x, attention_mask=None):
        return self.two(self.one(x, attention_mask), attention_mask)


@case("normalisation", "H3")
def zeros_forward_and_no_number_backward(ok):
    class Layer(Projections):
        def forward(self, x, mask=None):
            q, k, v = self.qkv(x)
            keep = triangle(x.size(1))
            if mask is not None:
                keep = keep & mask.bool()[:, None, None, :]
            scores = q @ k.transpose(-2, -1) / 2
            if ok:
                weights = scores.masked_fill(~keep, -1e30).softmax(-1) * keep.any(-1, keepdim=True)
            else:
                # added, not filled: the NaN of the empty row goes on into the gradients of queries and keys
                hidden = torch.zeros_like(scores).masked_fill(~keep, -math.inf)
                weights = (scores + hidden).softmax(-1).nan_to_num(0.0)
            return x + self.out(merge(weights @ v))

    return Layer()


@case("normalisation", "H4")
def divided_by_one_more(ok):
    def weigh(scores):
        weights = (scores - scores.amax(-1, keepdim=True)).exp()
        return weights / (weights.sum(-1, keepdim=True) + (0 if ok else 1))

    return _weighted(weigh)


@case("normalisation", "H4", graph=causal())
def divided_by_the_number_of_all_keys(ok):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            scores, keep = q @ k.transpose(-2, -1) / 2, triangle(x.size(1))
            weights = (scores - scores.detach().amax()).exp()
            bottom = (weights * keep if ok else weights).sum(-1, keepdim=True)
            return self.out(merge(weights * keep / bottom @ v))

    return Layer()


def _scaled(factor):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            return self.out(merge(by_hand(q, k, v, triangle(x.size(1)), scale=factor(q.size(-1), x.size(1)))))

    return Layer()


@case("scale", "I1", graph=causal())
def by_the_width_of_the_model(ok):
    return _scaled(lambda width, _: width**-0.5 if ok else (4 * width) ** -0.5)


@case("scale", "I1", graph=causal())
def by_the_number_of_tokens(ok):
    return _scaled(lambda width, tokens: (width if ok else tokens) ** -0.5)


@case("scale", "I1")
def a_function_that_scales_by_its_keys(ok):
    def attention(q, k, v):
        return (q @ k.transpose(-2, -1) / math.sqrt(k.size(-1 if ok else -2))).softmax(-1) @ v

    return attention


@case("scale", "I2")
def scaled_before_and_in_the_fused_function(ok):
    class Layer(Projections):
        def forward(self, x):
            q, k, v = self.qkv(x)
            return self.out(merge(F.scaled_dot_product_attention(q if ok else q / 2, k, v)))

    return Layer()


@case("scale", "I2")
def a_function_scaled_twice(ok):
    def attention(q, k, v):
        width = q.size(-1)
        q, k = q / width**0.25, k / width**0.25
        scores = q @ k.transpose(-2, -1)
        return (scores if ok else scores / width**0.5).softmax(-1) @ v

    return attention


@case("scale", "I3")
def multiplied_instead_of_divided(ok):
    def attention(q, k, v):
        factor = q.size(-1) ** (-0.5 if ok else 0.5)
        return (q @ k.transpose(-2, -1) * factor).softmax(-1) @ v

    return attention


@case("scale", "I3")
def not_scaled(ok):
    return _scaled(lambda width, _: width**-0.5 if ok else 1.0)


@case("scale", "I3")
def a_constant_of_another_model(ok):
    return _scaled(lambda width, _: width**-0.5 if ok else 0.125)


@case("scale", "I4", routes=lambda route: "fused=True" in route, scale=0.25, other=("path-mismatch",))
def a_scale_that_the_fused_way_ignores(ok):
    class Layer(Projections):
        def forward(self, x, fused=False):
            q, k, v = self.qkv(x)
            if fused:
                out = F.scaled_dot_product_attention(q, k, v, scale=0.25 if ok else None)
            else:
                out = by_hand(q, k, v, scale=0.25)
            return self.out(merge(out))

    return Layer()
