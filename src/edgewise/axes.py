"""The glossary of axes and stages: one name for one thing, and the names that people bring with them.

`AXES` names the axes of every tensor that edgewise shows; rows are queries ("reads"), columns are keys ("is read").
`STAGES` are the stages of one call of attention, in the order in which they are computed. `ALIASES` maps the names that
other code uses to ours, for places where a person types a name; nothing inside edgewise uses an alias.
"""

from edgewise.errors import ArgumentError

__all__ = ["ALIASES", "AXES", "STAGES", "canonical"]

AXES: dict[str, str] = {
    "batch": "sequences computed side by side; attention has no edge between two of them",
    "heads": "query heads: each looks for something of its own",
    "groups": "key-value heads; each serves heads // groups query heads in a row",
    "query": "the position that reads: a row",
    "key": "the position that is read: a column",
    "width": "numbers per head (head size)",
    "channels": "numbers per token in the model (model width)",
}

STAGES: dict[str, str] = {
    "raw": "query · key, for every pair, the future included",
    "scaled": "raw × scale, then the soft cap, then the additive bias",
    "masked": "scaled where there is an edge, −∞ where there is none",
    "weights": "softmax of masked along the keys: each row that sees a key sums to 1",
    "out": "weights · value: what each query takes home",
}

ALIASES: dict[str, str] = {
    "q": "query",
    "k": "key",
    "v": "value",
    "hook_q": "query",
    "hook_k": "key",
    "hook_v": "value",
    "scores": "scaled",
    "attn_scores": "scaled",
    "hook_attn_scores": "masked",
    "attn_weights": "weights",
    "attention_probs": "weights",
    "pattern": "weights",
    "hook_pattern": "weights",
    "probs": "weights",
    "wei": "weights",
    "z": "out",
    "hook_z": "out",
    "attn_output": "out",
    "tril": "allowed",
    "mask": "allowed",
    "attn_mask": "allowed",
    "attention_mask": "allowed",
    "B": "batch",
    "H": "heads",
    "T": "query",
    "S": "key",
    "C": "channels",
    "head_size": "width",
    "head_dim": "width",
}


def canonical(name: str) -> str:
    """Return edgewise's own name for `name`, which may be ours already or one of `ALIASES`.

    Raises:
        ArgumentError: nobody uses that name.

    Example:
        >>> canonical("hook_pattern")
        'weights'
    """
    known = {*AXES, *STAGES, "query", "key", "value", "allowed"}
    if name in known:
        return name
    if name in ALIASES:
        return ALIASES[name]
    raise ArgumentError(f"wanted the name of an axis or a stage; got {name!r}; ours are {', '.join(sorted(known))}")
