"""The route through torch's own functions, wherever they are called from and however they were imported.

Each is a file: what it is given, in our words. They are replaced under the names of modules, and where the model's own
modules hold them; a kernel that is reached in another way (a default argument, a closure) is seen from below, by the
route through attention that is written by hand.
"""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.nn import functional
from torch.nn.attention import flex_attention as flex

from edgewise.tracing.routes import encoder_layer, flex_attention, multi_head, native_multi_head, scaled_dot_product
from edgewise.tracing.routes.held import replaced_in
from edgewise.tracing.routes.replacing import compiled_form, replaced, replaced_everywhere
from edgewise.tracing.watch import Shared, Watch

__all__ = ["watching"]

# Imported by name in people's code, so replaced wherever a name stands for them.
_PUBLIC = (
    (functional, "scaled_dot_product_attention", scaled_dot_product.watched),
    (functional, "multi_head_attention_forward", multi_head.watched),
    (flex, "flex_attention", flex_attention.watched),
)
_COMPILED = {flex.flex_attention: flex_attention.watched}
# torch's fast paths, which only its own layers call.
_FUSED = (
    (torch, "_native_multi_head_attention", native_multi_head.watched),
    (torch, "_transformer_encoder_layer_fwd", encoder_layer.watched),
)


def _install(undo: ExitStack) -> None:
    new = {(home, name): watched(getattr(home, name)) for home, name, watched in _PUBLIC}
    undo.enter_context(replaced_everywhere(new, _COMPILED))
    for home, name, watched in _FUSED:
        undo.enter_context(replaced(home, name, watched(getattr(home, name))))


_names = Shared(_install)


@contextmanager
def watching(watch: Watch) -> Generator[None]:
    """While this lasts, the functions are watched under all their names, and where the model holds them."""
    with _names(watch):
        now = [getattr(home, name) for home, name, _ in _PUBLIC]
        new: dict[Any, Callable[..., Any]] = {function.__wrapped__: function for function in now}
        with replaced_in(watch.model, lambda held: new.get(held) or compiled_form(held, _COMPILED)):
            yield
