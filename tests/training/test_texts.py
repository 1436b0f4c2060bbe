import gc
import io
import os
import sys
from pathlib import Path

import pytest

from edgewise.errors import DataError, MissingError
from edgewise.training import find
from edgewise.training.texts import Source


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "Grüße & more.txt"
    path.write_bytes("Grüße\r\nab\n".encode())
    text = find([path])
    assert text.read() == "Grüße\r\nab\n"
    assert text.name == "grüße---more"
    assert text.why == f"the text is {path}, as named"


def test_files_are_joined_in_the_order_named_with_a_newline_where_one_is_missing(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("first")
    (tmp_path / "a.txt").write_text("second\n")
    text = find([tmp_path / "b.txt", tmp_path / "a.txt"])
    assert text.read() == "first\nsecond\n"
    assert text.why == f"the text is 2 files from {tmp_path / 'b.txt'} to {tmp_path / 'a.txt'}, as named"


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("once\n")
    assert find([tmp_path / "a.txt", tmp_path, str(tmp_path / "*.txt")]).read() == "once\n"


def test_a_folder_gives_its_text_files_at_any_depth_in_a_fixed_order(tmp_path: Path) -> None:
    for name, content in (
        ("z/deep.md", b"3"),
        ("b.txt", b"2"),
        ("a.unknown", b"1"),
        (".hidden", b"h"),
        (".git/config", b"g"),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0"),
        ("latin.txt", b"caf\xe9"),
        ("empty.txt", b""),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert find([tmp_path]).read() == "1\n2\n3"


def test_a_pattern_gives_what_it_matches(tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt", "three.md"):
        (tmp_path / name).write_text(name + "\n")
    assert find([str(tmp_path / "*.txt")]).read() == "one.txt\ntwo.txt\n"


def test_standard_input_is_kept_in_a_file_while_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"from a pipe\n")))
    text = find(["-"])
    assert (text.name, text.read(), text.read()) == ("stdin", "from a pipe\n", "from a pipe\n")
    kept = text.sources[0].path
    assert kept is not None
    assert kept.exists()
    del text
    gc.collect()
    assert not kept.exists()


def test_a_named_pipe_can_be_read_twice_too(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    if os.fork() == 0:
        (tmp_path / "pipe").write_bytes(b"poured\n")
        os._exit(0)
    text = find([tmp_path / "pipe"])
    assert (text.name, text.read(), text.read()) == ("pipe", "poured\n", "poured\n")
    os.wait()


def test_a_byte_order_mark_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfabc")
    assert find([tmp_path / "a.txt"]).read() == "abc"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1 << 20])
def test_a_bad_byte_is_named_by_file_line_and_byte_however_the_file_is_read(tmp_path: Path, size: int) -> None:
    path = tmp_path / "menu.txt"
    path.write_bytes("Grüße\nnoch 漢字\ncaf".encode() + b"\xe9 au lait\n")
    with pytest.raises(DataError) as mistake:
        list(Source("menu.txt", path).pieces(size))
    assert str(mistake.value) == (
        "wanted UTF-8 text; menu.txt has byte 0xe9 at line 3, byte 23; "
        "if it is text, convert it first, for example: iconv -f latin1 -t utf-8"
    )


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_a_binary_file_is_named_by_its_zero_byte(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"ok\nno\0\0")
    with pytest.raises(DataError) as mistake:
        list(Source("a.bin", path).pieces(size))
    assert str(mistake.value) == (
        "wanted UTF-8 text; a.bin has a zero byte at line 2, byte 5, so it is binary or UTF-16; "
        "name text files only, or convert it first with iconv"
    )


def test_utf_16_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("abc".encode("utf-16"))
    with pytest.raises(DataError, match=r"has byte 0xff at line 1, byte 0; .* iconv -f utf-16 -t utf-8"):
        find([path]).read()


def test_a_file_cut_off_inside_a_character_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("one\n漢".encode()[:-1])
    with pytest.raises(DataError) as mistake:
        find([path]).read()
    assert str(mistake.value) == (f"wanted UTF-8 text; {path} ends inside a character (line 2, byte 6); is it cut off?")


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.txt").touch()
    for path, message in (
        ("none.txt", "wanted text; there is no file or folder none.txt"),
        ("none/*.txt", "wanted text; no file matches none/*.txt"),
        (
            str(tmp_path / "folder"),
            f"wanted text; the folder {tmp_path / 'folder'} holds no UTF-8 text file, at any depth",
        ),
    ):
        with pytest.raises(MissingError) as mistake:
            find([path])
        assert str(mistake.value) == message
    with pytest.raises(DataError) as empty:
        find([tmp_path / "empty.txt"])
    assert str(empty.value) == f"wanted text; {tmp_path / 'empty.txt'} is empty"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch(0o000)
    with pytest.raises(MissingError, match=r"a\.txt may not be read by this user"):
        find([tmp_path / "a.txt"])


def test_the_default_text_without_a_network_is_pythons_own_prose(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = find()
    assert text.name == "python-topics"
    assert text.why == (
        "no text was named, tinyshakespeare is not in the cache and EDGEWISE_OFFLINE is set, "
        "so the text is the English prose that CPython carries (pydoc_data.topics)"
    )
    assert len(text.read()) > 300_000
    assert 'The "assert" statement' in text.read()


def test_the_default_text_is_tinyshakespeare_once_it_is_cached(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shakespeare: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "edgewise").mkdir()
    (tmp_path / "edgewise" / "tinyshakespeare.txt").write_bytes(shakespeare.read_bytes())
    text = find()
    assert (text.name, text.why) == (
        "tinyshakespeare",
        "no text was named, so the text is tinyshakespeare, from the cache",
    )
    assert text.read().startswith("First Citizen:")
