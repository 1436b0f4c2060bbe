"""Random pictures and films in the forms that models take them: whole, several, cut into patches."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

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
        for depth in dict.fromkeys((sizes.frames_a_patch, 1)):
            flat = noise(GRID * GRID, sizes.channels * depth * sizes.patch**2)
            yield "an image", {"pixel_values": flat, "image_grid_thw": grid}
        yield (
            "an image",
            {"pixel_values": noise(GRID**2, sizes.channels, sizes.patch, sizes.patch), "image_grid_thw": grid},
        )
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
            if sizes.nested:
                yield "an image of its smallest side", {name: noise(1, sizes.channels, 224, 224), **more}
        yield "a film", {name: film}
    if "flattened_patches" in takes:
        patches = noise(1, GRID**2, sizes.channels * sizes.patch**2)
        places = torch.cartesian_prod(torch.arange(GRID), torch.arange(GRID)) + 1
        yield "an image", {"flattened_patches": torch.cat([places[None].float(), patches], -1)}


class _Sizes:
    """What a config says of pictures, in whichever part of it."""

    def __init__(self, config: Any) -> None:
        from edgewise.tracing.tiny.feeds import number

        self.channels = number(config, 3, "num_channels", "in_channels", "in_chans", "num_image_channels")
        self.patch = number(config, 16, "patch_size", "spatial_patch_size")
        self.frames = number(config, 4, "num_frames", "frames_per_clip")
        self.frames_a_patch = number(config, 2, "temporal_patch_size")
        side = number(config, 64, "image_size", "img_size", "crop_size", "resolution", "input_size")
        self.image = (side, side)
        self.nested = side < 224
