from pathlib import Path

import pytest

from edgewise.training.shakespeare import cache_folder, shakespeare

INSTEAD = "so the text is the English prose that CPython carries (pydoc_data.topics)"


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_download_with_the_right_hash_is_kept(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    source: Path = request.getfixturevalue("shakespeare")
    path, why = shakespeare(True, source.resolve().as_uri())
    assert why == "no text was named, so the text is tinyshakespeare, downloaded (SHA-256 checked)"
    assert path == cache_folder() / "tinyshakespeare.txt"
    assert path.read_bytes() == source.read_bytes()
    assert shakespeare(False) == (path, "no text was named, so the text is tinyshakespeare, from the cache")


def test_a_download_with_another_hash_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("Second Citizen:")
    path, why = shakespeare(True, (tmp_path / "other.txt").as_uri())
    assert path is None
    assert why == f"no text was named and what was downloaded is not tinyshakespeare (another SHA-256), {INSTEAD}"
    assert not cache_folder().exists()


def test_without_a_network_the_reason_is_said(tmp_path: Path) -> None:
    path, why = shakespeare(True, (tmp_path / "none.txt").as_uri())
    assert (path, why) == (None, f"no text was named and tinyshakespeare cannot be downloaded, {INSTEAD}")


def test_a_damaged_cache_is_not_used() -> None:
    cache_folder().mkdir(parents=True)
    (cache_folder() / "tinyshakespeare.txt").write_text("Second Citizen:")
    path, why = shakespeare(False)
    assert path is None
    assert why == f"no text was named, tinyshakespeare is not in the cache and EDGEWISE_OFFLINE is set, {INSTEAD}"


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    source: Path = request.getfixturevalue("shakespeare")
    (tmp_path / "cache").write_text("a file where the folder should be")
    path, why = shakespeare(True, source.resolve().as_uri())
    assert path is None
    assert why == f"no text was named and the cache folder {cache_folder()} cannot be written, {INSTEAD}"
