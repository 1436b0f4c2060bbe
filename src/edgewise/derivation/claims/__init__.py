"""The claims: everything said on the way from an average to attention that can be run, a file a section, in order."""

from edgewise.derivation.claim import Claim
from edgewise.derivation.claims import (
    average,
    bigram,
    direction,
    encoder,
    graph,
    head,
    matmul,
    position,
    query_key,
    scale,
    softmax,
    split,
    value,
)

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (
    *bigram.CLAIMS,
    *split.CLAIMS,
    *average.CLAIMS,
    *matmul.CLAIMS,
    *softmax.CLAIMS,
    *direction.CLAIMS,
    *position.CLAIMS,
    *query_key.CLAIMS,
    *value.CLAIMS,
    *graph.CLAIMS,
    *encoder.CLAIMS,
    *scale.CLAIMS,
    *head.CLAIMS,
)
