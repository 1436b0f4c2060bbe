"""The route through torch's own functions, wherever they are called from and however they were imported.

Each is a file: what it is given, in our words. What is held elsewhere than under a name of some module (an attribute of
an object, a default argument, a compiled function in a closure) is not seen.
"""

from contextlib import ExitStack

import torch
from torch.nn import functional
from torch.nn.attention import flex_attention as flex

from edgewise.tracing.routes import encoder_layer, flex_attention, multi_head, native_multi_head, scaled_dot_product
from edgewise.tracing.routes.replacing import replaced, replaced_everywhere
from edgewise.tracing.watch import Shared

__all__ = ["watching"]

# Imported by name in people's code, so replaced wherever a name stands for them.
_PUBLIC = (
    (functional, "scaled_dot_product_attention", scaled_dot_product.watched),
    (functional, "multi_head_attention_forward", multi_head.watched),
    (flex, "flex_attention", flex_attention.watched),
)
# torch's fast paths, which only its own layers call.
_FUSED = (
    (torch, "_native_multi_head_attention", native_multi_head.watched),
    (torch, "_transformer_encoder_layer_fwd", encoder_layer.watched),
)


def _install(undo: ExitStack) -> None:
    new = {(home, name): watched(getattr(home, name)) for home, name, watched in _PUBLIC}
    undo.enter_context(replaced_everywhere(new, {flex.flex_attention: flex_attention.watched}))
    for home, name, watched in _FUSED:
        undo.enter_context(replaced(home, name, watched(getattr(home, name))))


watching = Shared(_install)
