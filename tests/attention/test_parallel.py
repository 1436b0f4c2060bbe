"""Work in pieces: each on one thread, errors and settings come back."""

import threading

import pytest
import torch

from edgewise.attention.parallel import at_once, cut


def test_pieces_cover_the_whole_in_order_and_differ_by_one_at_most() -> None:
    for length in range(1, 20):
        for threads in range(1, 8):
            pieces = cut(length, threads)
            assert [n for piece in pieces for n in range(piece.start, piece.stop)] == list(range(length))
            sizes = [piece.stop - piece.start for piece in pieces]
            assert max(sizes) - min(sizes) <= 1
            assert len(pieces) == min(length, threads)


def test_each_job_has_a_thread_and_torch_s_threads_are_given_back() -> None:
    before = torch.get_num_threads()
    seen: list[tuple[int, int, bool]] = []
    together = threading.Barrier(3)

    def look() -> None:
        together.wait(10)
        seen.append((threading.get_ident(), torch.get_num_threads(), torch.is_grad_enabled()))

    at_once([look] * 3)
    assert len({thread for thread, _, _ in seen}) == 3
    assert {count for _, count, _ in seen} == {1}
    assert not any(grad for _, _, grad in seen)
    assert torch.get_num_threads() == before


def test_an_error_in_a_job_is_raised_when_all_are_done() -> None:
    done: list[int] = []

    def fails() -> None:
        raise ValueError("here")

    with pytest.raises(ValueError, match="here"):
        at_once([lambda: done.append(0), fails, lambda: done.append(2)])
    assert sorted(done) == [0, 2]


def test_inference_mode_reaches_every_job() -> None:
    with torch.inference_mode():
        made = torch.zeros(3)

        def add(place: int) -> None:
            made[place] += 1

        at_once([lambda place=place: add(place) for place in range(3)])
    assert made.tolist() == [1, 1, 1]
