"""How small each number of a config becomes."""

import pytest

from edgewise.tracing.tiny.sizes import LEVELS, SPECIAL, is_layers, is_token, sections, smaller, token_number

SMALL, ALIKE, WIDER, AS_WIDE, DEEP = LEVELS


@pytest.mark.parametrize(
    ("name", "value", "small"),
    [
        ("hidden_size", 4096, 64),
        ("intermediate_size", 11008, 128),
        ("num_attention_heads", 32, 4),
        ("num_key_value_heads", 8, 2),
        ("num_key_value_heads", 1, 1),
        ("head_dim", 128, 16),
        ("vocab_size", 32000, 99),
        ("type_vocab_size", 2, 2),
        ("num_local_experts", 8, 4),
        ("sliding_window", 4096, 8),
        ("image_size", 224, 64),
        ("rope_theta", 10000, 10000),
        ("hidden_size", 16, 16),
    ],
)
def test_a_number_becomes_small_by_its_name_and_never_larger(name: str, value: int, small: int) -> None:
    assert smaller(name, value, SMALL) == small


def test_a_level_leaves_more_as_it_is() -> None:
    assert smaller("num_key_value_heads", 32, ALIKE) == 4
    assert [smaller("hidden_size", 4096, level) for level in (WIDER, AS_WIDE, DEEP)] == [512, 4096, 4096]
    assert [smaller("vocab_size", 32000, level) for level in (AS_WIDE, DEEP)] == [99, 32000]


def test_layers_and_tokens_are_told_by_their_names() -> None:
    assert all(map(is_layers, ("num_hidden_layers", "n_layer", "encoder_layers", "depth", "num_layers")))
    assert not any(
        map(is_layers, ("first_k_dense_replace", "vision_feature_layer", "hidden_size", "max_window_layers"))
    )
    assert all(map(is_token, ("pad_token_id", "image_token_index", "eos_token_id")))
    assert not is_token("vocab_size")


def test_a_token_has_one_number_in_every_part_of_a_config() -> None:
    known: dict[str, int] = {}
    numbers = [token_number(name, known) for name in ("image_token_id", "video_token_id", "image_token_index")]
    assert numbers[0] == numbers[2] != numbers[1]
    assert all(number < SPECIAL for number in numbers)
    assert token_number("pad_token_id", known) == 0


def test_the_parts_of_a_rotary_head_keep_their_sum() -> None:
    assert sections([16, 24, 24], 8) == [2, 3, 3]
    assert sum(sections([8, 12, 12], 4)) == 4
    assert sections([2, 3, 3], 8) == [2, 3, 3]
