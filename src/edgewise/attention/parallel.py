"""Several pieces of work at once, each on one thread of its own.

torch's way is to split every operation over all threads and to wait for the last of them each time. Work that is cut
into pieces first waits once, keeps each piece in one core's cache, and does not stand still where other programs
compete for the cores.
"""

import threading
from collections.abc import Callable, Sequence

import torch

__all__ = ["at_once", "cut"]


def cut(length: int, threads: int) -> list[slice]:
    """`length` things in a row, cut into one piece a thread: equal ones, the first ones longer by one if need be."""
    pieces = max(1, min(length, threads))
    ends = [length * (piece + 1) // pieces for piece in range(pieces)]
    return [slice(start, stop) for start, stop in zip([0, *ends], ends, strict=False)]


def at_once(jobs: Sequence[Callable[[], None]]) -> None:
    """Run all jobs, each on one thread and without recording gradients; return when all are done.

    A single job runs as it is, on all of torch's threads. The first error that a job raises is raised here.
    """
    if len(jobs) == 1:
        jobs[0]()
        return
    threads, inference = torch.get_num_threads(), torch.is_inference_mode_enabled()
    errors: list[BaseException] = []

    def alone(job: Callable[[], None]) -> None:
        torch.set_num_threads(1)
        try:
            with torch.inference_mode(inference), torch.no_grad():
                job()
        except BaseException as error:  # it is raised again below, in the caller's thread
            errors.append(error)

    others = [threading.Thread(target=alone, args=(job,)) for job in jobs[1:]]
    try:
        for other in others:
            other.start()
        alone(jobs[0])
    finally:
        for other in others:
            if other.ident is not None:
                other.join()
        torch.set_num_threads(threads)
    if errors:
        raise errors[0]
