"""Small targets that are called in many ways."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WIDTH = 16


class Layer(nn.Module):
    """Queries, keys and values are one projection of what is read."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, WIDTH)

    def attended(self, x, key=None, mask=None, causal=False):
        query = self.project(x)
        key = query if key is None else key
        return F.scaled_dot_product_attention(query, key, key, attn_mask=mask, is_causal=causal)


class Plain(Layer):
    def forward(self, x):
        return self.attended(x)


class Tupled(Layer):
    def forward(self, x):
        return None, {"loss": torch.zeros(())}, self.attended(x)


class Weighed(Layer):
    def forward(self, x, return_weights=False):
        query = self.project(x)
        weights = (query @ query.mT / 4).softmax(-1)
        return (weights @ query, weights[:, None]) if return_weights else weights @ query


class Masked(Layer):
    def forward(self, x, key_padding_mask=None):
        mask = None if key_padding_mask is None else ~key_padding_mask[:, None]
        return self.attended(x, mask=mask)


class Numbered(Layer):
    """Its mask is of ones and zeros, and not of yes and no."""

    def forward(self, hidden_states, attention_mask=None):
        query = self.project(hidden_states)
        scores = query @ query.mT
        if attention_mask is not None:
            scores = scores + (1.0 - attention_mask[:, None]) * -1e9
        return scores.softmax(-1) @ query


class Lengths(Layer):
    def forward(self, x, lengths):
        return self.attended(x, mask=(torch.arange(x.shape[1]) < lengths[:, None])[:, None])


class Packed(Layer):
    def forward(self, x, doc_ids=None):
        mask = None if doc_ids is None else doc_ids[:, :, None] == doc_ids[:, None]
        return self.attended(x, mask=mask)


class Switched(Layer):
    def forward(self, x, fused=True, return_dict=False):
        return self.attended(x) if fused else self.attended(x) * 1


class Language(nn.Module):
    """Reads ids; for its last token alone unless it is told what comes next."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(65, WIDTH), nn.Embedding(32, WIDTH)
        self.head = nn.Linear(WIDTH, 65)

    def forward(self, idx, targets=None):
        x = self.tokens(idx) + self.places(torch.arange(idx.shape[1]))
        if targets is None:
            return self.head(x[:, [-1]]), None
        logits = self.head(x)
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Stepping(Layer):
    """Has no forward."""

    def step(self, x_t, cache):
        key = self.project(x_t) if cache is None else torch.cat([cache, self.project(x_t)], 1)
        return self.attended(x_t, key, causal=cache is None), key


class Both(Plain):
    def forward(self, x):
        return self.attended(x, causal=True)

    def step(self, x_t, state=None):
        key = self.project(x_t) if state is None else torch.cat([state, self.project(x_t)], 1)
        mask = torch.ones(x_t.shape[1], key.shape[1], dtype=torch.bool).tril(key.shape[1] - x_t.shape[1])
        return self.attended(x_t, key, mask), key


class Filling(Layer):
    """Changes the cache that it is handed."""

    def new_cache(self, batch):
        return {"rows": batch}

    def forward(self, x, cache=None):
        key = self.project(x)
        if cache is not None:
            key = torch.cat([cache["key"], key], 1) if "key" in cache else key
            cache["key"] = key
        mask = torch.ones(x.shape[1], key.shape[1], dtype=torch.bool).tril(key.shape[1] - x.shape[1])
        return self.attended(x, key, mask)


class Beside(Layer):
    """Returns weights and cache, each where it is asked for."""

    def forward(self, x, output_attentions=False, past_key_value=None, use_cache=False):
        query = self.project(x)
        key = query if past_key_value is None else torch.cat([past_key_value[0], query], 1)
        hidden = torch.ones(x.shape[1], key.shape[1], dtype=torch.bool).triu(1 + key.shape[1] - x.shape[1])
        weights = (query @ key.mT).masked_fill(hidden, float("-inf")).softmax(-1)
        found = (weights @ key,)
        found += (weights[:, None],) if output_attentions else ()
        return found + (((key, key),) if use_cache else ())


class Buffered(nn.Module):
    """Keeps what it has read itself."""

    cache_key: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, WIDTH)
        self.register_buffer("cache_key", torch.zeros(8, 64, WIDTH), persistent=False)

    def forward(self, tokens, start_pos: int):
        read = self.tokens(tokens)
        batch, new = tokens.shape
        self.cache_key[:batch, start_pos : start_pos + new] = read
        key = self.cache_key[:batch, : start_pos + new]
        mask = torch.ones(new, start_pos + new, dtype=torch.bool).tril(start_pos)
        return F.scaled_dot_product_attention(read, key, key, attn_mask=mask)


class Writing(Layer):
    def forward(self, x):
        x += 1
        return self.attended(x)


class Random(Layer):
    def forward(self, x):
        return F.dropout(self.attended(x), 0.5, True)


class Dropping(Layer):
    def __init__(self) -> None:
        super().__init__()
        self.drop, self.dropout = nn.Dropout(0.5), 0.5
        self.norm = nn.BatchNorm1d(WIDTH)

    def forward(self, x):
        x = F.dropout(self.drop(x), self.dropout, self.training)
        return self.attended(self.norm(x.mT).mT)


def attention(q, k, v, mask=None, causal=False):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)


def heads_third(q, k, v):
    weights = (torch.einsum("bthd,bshd->bhts", q, k) * q.shape[-1] ** -0.5).softmax(-1)
    return torch.einsum("bhts,bshd->bthd", weights, v)


def no_heads(query, key, value, key_padding_mask=None):
    assert query.dim() == 3
    scores = query @ key.mT
    if key_padding_mask is not None:
        scores = scores.masked_fill(key_padding_mask[:, None], -1e9)
    return scores.softmax(-1) @ value


def added(q, k, v, mask):
    return (q @ k.mT + mask).softmax(-1) @ v
