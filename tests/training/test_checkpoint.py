from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from edgewise.errors import MissingError, RunError
from edgewise.training import Checkpoint, Progress
from edgewise.training.checkpoint import read, sweep, write, write_atomically


def checkpoint() -> Checkpoint:
    tied = nn.Linear(3, 3).weight.detach()
    model = {"a": tied, "b": tied, "flags": torch.tensor([True, False]), "half": torch.ones(2, dtype=torch.bfloat16)}
    step: dict[str, Tensor] = {"count": torch.tensor(7), "moment": torch.randn(2, 3).t(), "none": torch.zeros(0)}
    return Checkpoint(model, step, Progress(7, 1.5, 2.0, 1.9, 5))


def test_a_checkpoint_comes_back_bit_for_bit(tmp_path: Path) -> None:
    written = checkpoint()
    write(tmp_path / "c.safetensors", written)
    found = read(tmp_path / "c.safetensors")
    assert found.progress == written.progress
    for part, again in ((written.model, found.model), (written.step, found.step)):
        assert set(part) == set(again)
        for name in part:
            torch.testing.assert_close(again[name], part[name], rtol=0, atol=0)
    assert found.model["a"].data_ptr() == found.model["b"].data_ptr()


def test_nothing_is_left_beside_a_checkpoint(tmp_path: Path) -> None:
    write(tmp_path / "c.safetensors", checkpoint())
    write_atomically(tmp_path / "t.json", "{}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.safetensors", "t.json"]
    assert (tmp_path / "c.safetensors").stat().st_mode == (tmp_path / "t.json").stat().st_mode


def test_a_write_that_fails_leaves_the_checkpoint_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.safetensors"
    write(path, checkpoint())
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        write(path, Checkpoint({"a": torch.zeros(100)}))
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["c.safetensors"]


def test_a_full_disk_is_an_error_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise SafetensorError("No space left on device")

    monkeypatch.setattr("edgewise.training.checkpoint.save_file", full)
    with pytest.raises(OSError, match="No space left on device"):
        write(tmp_path / "c.safetensors", checkpoint())
    assert not list(tmp_path.iterdir())


def test_what_a_kill_left_half_written_is_swept(tmp_path: Path) -> None:
    (tmp_path / ".last.safetensors.123").write_bytes(b"half")
    (tmp_path / ".tmpAbCdEf").write_bytes(b"half")
    (tmp_path / "last.safetensors").write_bytes(b"whole")
    sweep(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["last.safetensors"]


@pytest.mark.parametrize("at", [0, 5, 100, -1])
def test_a_file_cut_off_anywhere_is_damaged(tmp_path: Path, at: int) -> None:
    path = tmp_path / "c.safetensors"
    write(path, checkpoint())
    path.write_bytes(path.read_bytes()[:at])
    with pytest.raises(RunError) as mistake:
        read(path)
    assert str(mistake.value).startswith(f"the checkpoint {path} is damaged or cut off (")


def test_one_flipped_bit_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    write(path, checkpoint())
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunError) as mistake:
        read(path)
    assert str(mistake.value) == (
        f"the checkpoint {path} is damaged: its numbers are not those that were written (checksum)"
    )


def test_a_file_of_something_else_is_told_apart(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(RunError) as other:
        read(tmp_path / "other.safetensors")
    assert str(other.value) == (
        f"wanted a checkpoint of edgewise; {tmp_path / 'other.safetensors'} is a safetensors file of something else"
    )
    with pytest.raises(MissingError) as missing:
        read(tmp_path / "none.safetensors")
    assert str(missing.value) == f"wanted a checkpoint; there is no file {tmp_path / 'none.safetensors'}"
