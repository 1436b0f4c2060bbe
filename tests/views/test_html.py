import re
from html.parser import HTMLParser

import numpy as np
import pytest

from edgewise.errors import ArgumentError
from edgewise.records import Array, Call, Record, Site
from edgewise.views import html, write_html
from edgewise.views.html import escaped, packed_text


class Scripts(HTMLParser):
    """The texts of the scripts of a page, as a parser sees them, and every tag."""

    def __init__(self):
        super().__init__()
        self.texts, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        if self.lasttag == "script":
            self.texts.append(data)


def unpacked(text):
    """Undo packed_text."""
    raw = bytearray()
    escape = False
    for byte in text:
        if not escape and byte == ord("="):
            escape = True
            continue
        raw.append(((byte - 64 if escape else byte) - 42) % 256)
        escape = False
    return bytes(raw)


def test_every_byte_survives_and_none_means_anything_to_html():
    raw = bytes(range(256)) * 3 + b"</script>" + b"<!--"
    text = packed_text(raw)
    assert unpacked(text) == raw
    assert not set(text) & set(b"<\0\r")


def test_packed_numbers_cost_two_in_a_hundred_more_than_their_bytes():
    raw = np.random.default_rng(0).standard_normal(100_000).astype("<f2").tobytes()
    assert len(packed_text(raw)) < 1.02 * len(raw)


def test_a_page_is_one_file_whose_texts_are_texts(shown):
    page = html(shown)
    parser = Scripts()
    parser.feed(page.decode("windows-1252", errors="replace"))
    assert "img" not in parser.tags
    assert parser.tags.count("script") == 3
    assert not re.search(rb"(src|href)=[\"']?https?:", page[:2000])


def test_a_program_is_ascii_and_does_not_end_its_script():
    assert escaped('a="→😀</script>"') == b'a="\\u2192\\ud83d\\ude00<\\/script>"'


def test_144_heads_of_128_tokens_are_at_most_8_megabytes():
    random = np.random.default_rng(0)
    calls = []
    for layer in range(12):
        arrays = [Array.of(random.standard_normal((1, 12, 128, 64)).astype(np.float32)) for _ in range(4)]
        calls.append(Call(Site(f"h.{layer}", layer, "self", 12, 12, 64), 0, "x", *arrays, 0.125))
    assert len(html(Record(tuple(calls)))) <= 8_000_000


def test_a_record_without_calls_makes_no_page():
    with pytest.raises(ArgumentError, match="a page shows calls of attention; this record has none"):
        html(Record(()))


def test_a_page_is_written_whole(shown, tmp_path):
    path = write_html(shown, tmp_path / "out.html")
    assert path.read_bytes() == html(shown)
    assert [one.name for one in tmp_path.iterdir()] == ["out.html"]
