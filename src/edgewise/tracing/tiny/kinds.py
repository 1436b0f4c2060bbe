"""Which architectures there are, and what each is for: the lists by which transformers itself names them."""

from collections.abc import Iterator
from typing import Any, Literal

from edgewise.errors import ArgumentError, MissingError

__all__ = ["KINDS", "TASKS", "Kind", "kind_of", "library", "model_class", "tasks", "types"]

Kind = Literal["vision-language", "sequence-to-sequence", "masked-LM", "causal-LM", "audio", "vision", "other"]

# In the order in which a type that stands in several is called by the first.
KINDS: dict[Kind, tuple[str, ...]] = {
    "vision-language": (
        "IMAGE_TEXT_TO_TEXT",
        "MULTIMODAL_LM",
        "VISUAL_QUESTION_ANSWERING",
        "ZERO_SHOT_IMAGE_CLASSIFICATION",
    ),
    "sequence-to-sequence": ("SEQ_TO_SEQ_CAUSAL_LM",),
    "audio": (
        *("SPEECH_SEQ_2_SEQ", "CTC", "RNNT", "TDT", "AUDIO_CLASSIFICATION", "AUDIO_FRAME_CLASSIFICATION"),
        *("AUDIO_XVECTOR", "TEXT_TO_SPECTROGRAM", "TEXT_TO_WAVEFORM"),
    ),
    "masked-LM": ("MASKED_LM",),
    "causal-LM": ("CAUSAL_LM",),
    "vision": (
        *("IMAGE_CLASSIFICATION", "MASKED_IMAGE_MODELING", "OBJECT_DETECTION", "ZERO_SHOT_OBJECT_DETECTION"),
        *("SEMANTIC_SEGMENTATION", "UNIVERSAL_SEGMENTATION", "INSTANCE_SEGMENTATION", "DEPTH_ESTIMATION"),
        *("VIDEO_CLASSIFICATION", "MASK_GENERATION", "KEYPOINT_DETECTION", "KEYPOINT_MATCHING", "IMAGE_TO_IMAGE"),
        *("IMAGE",),
    ),
    "other": (),
}


TASKS = {"sequence-to-sequence": "SEQ_TO_SEQ_CAUSAL_LM", "masked": "MASKED_LM", "causal": "CAUSAL_LM"}
"""What one type of language model may be built for, and the list of those that are."""


def library() -> Any:
    """The transformers library.

    Raises:
        MissingError: it is not installed.
    """
    try:
        import transformers
    except ImportError:
        raise MissingError(
            "models by name need the transformers library, which is not installed: pip install 'edgewise[transformers]'"
        ) from None
    return transformers


def types() -> dict[str, Kind]:
    """Every type of model that transformers can build from a config, and its kind."""
    found: dict[str, Kind] = {}
    for kind in KINDS:
        for names in _mappings(kind):
            for name in names:
                found.setdefault(name, kind)
    return found


def kind_of(name: str) -> Kind:
    """What a type is for.

    Raises:
        ArgumentError: transformers has no such type.
    """
    known = library().models.auto.configuration_auto.CONFIG_MAPPING_NAMES
    if name not in known:
        import difflib

        near = difflib.get_close_matches(name, known, n=3)
        hint = f"; close ones: {', '.join(near)}" if near else ""
        raise ArgumentError(f"wanted a type of model that transformers knows, like gpt2 or bert; got {name!r}{hint}")
    return types().get(name, "other")


def tasks(name: str) -> tuple[str, ...]:
    """What a type can be built for, the usual first: most for one thing, some encoders as decoders too.

    Raises:
        ArgumentError: transformers has no such type.
    """
    kind = kind_of(name)
    made = {_names(attribute).get(name): task for task, attribute in reversed(TASKS.items())}  # one task a class
    found = [task for task in TASKS if task in [one for each, one in made.items() if each is not None]]
    usual = [task for task in found if TASKS[task] in KINDS[kind]]
    return (*usual, *(task for task in found if task not in usual)) if usual else (kind,)


def model_class(name: str, task: str | None = None) -> Any:
    """The class of the models of a type: for a task, or by the first list of its kind that has it.

    Raises:
        ArgumentError: no list has it, or it is not built for the task.
    """
    if task is not None and task not in tasks(name):
        raise ArgumentError(f"{name} is built for {' or '.join(tasks(name))}; asked for {task!r}")
    if task in TASKS:
        found = _names(TASKS[task])[name]
        return getattr(library(), found if isinstance(found, str) else found[0])
    for attribute in (*KINDS[kind_of(name)], ""):
        names = _names(attribute)
        if name in names:
            found = names[name]
            return getattr(library(), found if isinstance(found, str) else found[0])
    raise ArgumentError(f"transformers has a config of type {name!r} and no model that it builds")


def _mappings(kind: Kind) -> Iterator[dict[str, Any]]:
    return map(_names, KINDS[kind])


def _names(attribute: str) -> dict[str, Any]:
    auto = library().models.auto.modeling_auto
    return getattr(auto, f"MODEL_FOR_{attribute}_MAPPING_NAMES" if attribute else "MODEL_MAPPING_NAMES")
