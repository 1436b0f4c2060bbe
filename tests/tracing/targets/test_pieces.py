"""The text of each token, with the spaces that its tokenizer hides."""

from edgewise.tracing.targets.pieces import pieces


class Named:
    all_special_tokens = ("<s>",)

    def __init__(self, *names: str) -> None:
        self.names = names

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [self.names[one] for one in ids]


def test_letters_that_stand_for_bytes_are_turned_back() -> None:
    assert pieces(Named("<s>", "The", "Ġking", "Ċ", "ÃŃ", "Ã"), range(6)) == ("<s>", "The", " king", "\n", "í", "�")


def test_a_space_that_is_a_low_line_is_a_space() -> None:
    assert pieces(Named("▁The", "▁king", "s"), [0, 1, 2]) == (" The", " king", "s")


def test_pieces_of_words_keep_their_mark() -> None:
    assert pieces(Named("play", "##ing"), [0, 1]) == ("play", "##ing")


def test_whatever_decodes_tells_the_text_of_each_token() -> None:
    class Decodes:
        def decode(self, ids: list[int]) -> str:
            return "".join(chr(one) for one in ids)

    assert pieces(Decodes(), [72, 105]) == ("H", "i")
