"""Naming a model: a hub name, a folder, a GGUF file, `package.module:attr`, `file.py:attr`, or a type made small.

`target` returns what a name stands for: the model, and what reads for it. Nothing is asked of the network but a hub
name that the user gave, and not even that where HF_HUB_OFFLINE or EDGEWISE_OFFLINE is set.
"""

from edgewise.tracing.targets.code import from_name
from edgewise.tracing.targets.named import FORMS, target
from edgewise.tracing.targets.target import Reader, Target
from edgewise.tracing.targets.tiny_target import tiny_target

__all__ = ["FORMS", "Reader", "Target", "from_name", "target", "tiny_target"]
