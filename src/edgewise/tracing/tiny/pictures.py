"""Random pictures and films in the forms that models take them: whole, several, cut into patches."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from edgewise.tracing.tiny.numbers import number

__all__ = ["pictures"]

GRID = 4
"""A picture cut into patches is so many high and wide."""


def pictures(
    model: nn.Module, takes: Mapping[str, Any], chance: torch.Generator
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Offers of pictures, each with what it is in words; none where the model takes none.

    Args:
        model: from the transformers library.
        takes: the parameters of its forward pass.
        chance: random numbers.
    """
    sizes = _Sizes(model.config)

    def noise(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=chance)

    if "image_grid_thw" in takes and "pixel_values" in takes:
        grid = torch.tensor([[1, GRID, GRID]])
        more = {"image_merge_sizes": torch.tensor([1])} if "image_merge_sizes" in takes else {}
        for depth in dict.fromkeys((sizes.frames_a_patch, 1)):
            flat = noise(GRID * GRID, sizes.channels * depth * sizes.patch**2)
            yield "an image", {"pixel_values": flat, "image_grid_thw": grid, **more}
        cut = noise(GRID**2, sizes.channels, sizes.patch, sizes.patch)
        yield "an image", {"pixel_values": cut, "image_grid_thw": grid, **more}
    for name in ("pixel_values_videos", "pixel_values"):
        if name not in takes:
            continue
        film = noise(1, sizes.frames, sizes.channels, *sizes.image)
        if name == "pixel_values":
            still = noise(1, sizes.channels, *sizes.image)
            more = {"image_sizes": torch.tensor([sizes.image])} if "image_sizes" in takes else {}
            yield "an image", {name: still, **more}
            yield "images", {name: still.expand(2, -1, -1, -1), **more}
            yield "an image", {name: still[:, None], **more}
            yield "an image in two tiles", {name: still[:, None].repeat(1, 2, 1, 1, 1), **more}
            if more:
                yield "an image", {name: still}
            yield "an image in patches", _patches(takes, noise(1, GRID**2, sizes.channels * sizes.patch**2))
            if sizes.nested:
                yield "an image of its smallest side", {name: noise(1, sizes.channels, 224, 224), **more}
        yield "a film", {name: film}
    if "flattened_patches" in takes:
        patches = noise(1, GRID**2, sizes.channels * sizes.patch**2)
        places = torch.cartesian_prod(torch.arange(GRID), torch.arange(GRID)) + 1
        yield "an image", {"flattened_patches": torch.cat([places[None].float(), patches], -1)}


def _patches(takes: Mapping[str, Any], cut: Tensor) -> dict[str, Tensor]:
    """A picture cut into a row of patches, and what else is to be said of them."""
    said = {
        "pixel_attention_mask": torch.ones(1, GRID**2, dtype=torch.long),
        "spatial_shapes": torch.tensor([[GRID, GRID]]),
    }
    return {"pixel_values": cut} | {name: one for name, one in said.items() if name in takes}


class _Sizes:
    """What a config says of pictures, in whichever part of it."""

    def __init__(self, config: Any) -> None:
        self.channels = number(config, 3, "num_channels", "in_channels", "in_chans", "num_image_channels")
        self.patch = number(config, 16, "patch_size", "spatial_patch_size")
        self.frames = number(config, 4, "num_frames", "frames_per_clip")
        self.frames_a_patch = number(config, 2, "temporal_patch_size")
        side = number(config, 64, "image_size", "img_size", "crop_size", "resolution", "input_size")
        self.image = (side, side)
        self.nested = side < 224
