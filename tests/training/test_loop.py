import math
import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from edgewise.errors import ArgumentError, RunError
from edgewise.ladder import Size, rung
from edgewise.training import Checkpoint, Corpus, Evaluated, History, Progress, Recipe, Step, Stepped, Watcher, fit
from edgewise.training.distributed import World
from edgewise.training.loop import Loop

SIZE = Size(vocabulary=11, block=8, width=16, heads=2, layers=1)
RECIPE = Recipe(steps=12, batch=4, evaluate_every=5, warm_up=3)


def corpus(length: int = 3000) -> Corpus:
    # Steps of one to three around a circle of eleven: there is something to learn, and some doubt left.
    return Corpus.of(np.random.default_rng(0).integers(1, 4, length).cumsum() % 11, SIZE.block)


class Kept:
    """Keeps checkpoints as a file would: what they hold cannot change afterwards."""

    def __init__(self) -> None:
        self.all: list[tuple[Checkpoint, bool]] = []

    def __call__(self, checkpoint: Checkpoint, best: bool) -> None:
        copied = [{name: one.clone() for name, one in part.items()} for part in (checkpoint.model, checkpoint.step)]
        self.all.append((Checkpoint(*copied, checkpoint.progress), best))


def loop(recipe: Recipe = RECIPE, size: Size = SIZE, **given: Any) -> Loop:
    model = rung("gpt").build(size, seed=recipe.seed)
    return Loop(model, corpus(), size.block, recipe, Step(model, recipe), **given)


class Stub(Step):
    """A step whose losses and gradient norms are given."""

    def __init__(self, losses: list[float], norms: list[float] | None = None, validation: float = 2.0) -> None:
        self._losses, self._norms = iter(losses), iter(norms or [1.0] * len(losses))
        self._validation = validation

    def __call__(self, batches: list[tuple[Tensor, Tensor]], learning_rate_factor: float) -> Tensor:
        self.gradient_norm = torch.tensor(next(self._norms))
        return torch.tensor(next(self._losses))

    def loss(self, tokens: Tensor, targets: Tensor) -> Tensor:
        return torch.tensor(self._validation)

    def state_dict(self) -> dict[str, Tensor]:
        return {}


def stubbed(step: Step, **given: Any) -> Loop:
    return Loop(rung("gpt").build(SIZE), corpus(), SIZE.block, RECIPE, step, **given)


def test_a_loop_evaluates_before_the_first_step_each_time_it_is_due_and_at_the_end() -> None:
    history = History()
    progress = loop(watchers=[history]).run()
    assert [one.step for one in history.evaluations] == [0, 5, 10, 12]
    assert history.evaluations[0].training_loss is None
    assert history.evaluations[0].validation_loss == pytest.approx(math.log(11), abs=0.1)
    assert progress.step == 12
    assert progress.validation_loss == history.evaluations[-1].validation_loss
    assert progress.best_loss == min(one.validation_loss for one in history.evaluations)


def test_fit_trains_the_model_that_someone_holds() -> None:
    model = rung("gpt").build(SIZE)
    history = History()
    progress = fit(model, corpus(), SIZE.block, replace(RECIPE, steps=150, learning_rate=0.01), watchers=[history])
    assert progress.validation_loss is not None
    assert progress.validation_loss < history.evaluations[0].validation_loss - 0.5
    again = rung("gpt").build(SIZE)
    assert fit(again, corpus(), SIZE.block, replace(RECIPE, steps=150, learning_rate=0.01)).validation_loss == (
        progress.validation_loss
    )


def test_training_leaves_torchs_own_generator_as_it_was() -> None:
    before = torch.get_rng_state()
    loop(size=replace(SIZE, dropout=0.1)).run()
    torch.testing.assert_close(torch.get_rng_state(), before)


@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_a_run_restored_from_any_checkpoint_ends_with_the_same_bits(dropout: float, optimiser: Any) -> None:
    size, recipe = replace(SIZE, dropout=dropout), replace(RECIPE, optimiser=optimiser, steps=8, evaluate_every=3)
    kept = Kept()
    loop(recipe, size, keep=kept, keep_seconds=0).run()
    last, _ = kept.all[-1]
    assert [checkpoint.progress.step for checkpoint, _ in kept.all] == list(range(9))
    for checkpoint, _ in kept.all[:-1]:
        again, ending = loop(recipe, size, keep=(other := Kept())), Kept()
        again.restore(checkpoint)
        again.keep = ending
        again.run()
        found, _ = ending.all[-1]
        assert not other.all
        assert found.progress.best_loss == last.progress.best_loss
        for part, same in ((last.model, found.model), (last.step, found.step)):
            for name in part:
                torch.testing.assert_close(same[name], part[name], rtol=0, atol=0)


def test_the_best_checkpoint_is_the_one_with_the_lowest_validation_loss() -> None:
    kept = Kept()
    history = History()
    loop(replace(RECIPE, learning_rate=0.5, steps=30), keep=kept, watchers=[history]).run()
    best = [checkpoint.progress for checkpoint, is_best in kept.all if is_best][-1]
    lowest = min(history.evaluations, key=lambda one: one.validation_loss)
    assert (best.step, best.best_loss, best.best_step) == (lowest.step, lowest.validation_loss, lowest.step)


def test_accumulating_two_batches_is_one_batch_of_twice_the_size() -> None:
    class Losses(Watcher):
        def __init__(self) -> None:
            self.all: list[float] = []

        def stepped(self, stepped: Stepped) -> None:
            self.all.append(stepped.loss)

    whole, parts = Losses(), Losses()
    loop(replace(RECIPE, batch=8), watchers=[whole]).run()
    loop(replace(RECIPE, batch=4, accumulate=2), watchers=[parts]).run()
    torch.testing.assert_close(torch.tensor(parts.all), torch.tensor(whole.all), rtol=1e-4, atol=1e-5)


def test_a_loss_that_is_no_number_stops_with_step_windows_and_the_last_good_checkpoint() -> None:
    kept = Kept()
    broken = stubbed(Stub([3.0] * 6 + [math.nan]), keep=kept, kept_where="runs/a-1/last.safetensors")
    with pytest.raises(RunError) as mistake:
        broken.run()
    starts = ", ".join(str(start) for start in broken.starts(6)[0])
    assert str(mistake.value) == (
        f"the loss is nan at step 7, on the windows that begin at training tokens {starts}; "
        f"the last good checkpoint is runs/a-1/last.safetensors; "
        f"try a lower learning rate (it is {RECIPE.learning_rate:g}) or more warm-up"
    )
    assert [checkpoint.progress.step for checkpoint, _ in kept.all] == [0, 5]


def test_a_gradient_that_is_no_number_stops_before_a_broken_model_is_kept() -> None:
    kept = Kept()
    with pytest.raises(RunError, match=r"^the gradient's norm is inf at step 5, .*; no checkpoint was kept; "):
        stubbed(Stub([3.0] * 6, [1.0] * 4 + [math.inf] * 2), keep=kept, keep_seconds=0).run()
    assert kept.all[-1][0].progress.step == 4


def test_a_validation_loss_that_is_no_number_stops_the_run() -> None:
    with pytest.raises(RunError) as mistake:
        stubbed(Stub([], validation=math.inf), kept_where="last").run()
    assert str(mistake.value) == "the validation loss is inf after step 0; the last good checkpoint is last"


def test_a_batch_of_many_windows_names_the_first_eight() -> None:
    model = rung("gpt").build(SIZE)
    many = Loop(model, corpus(), 8, replace(RECIPE, batch=9), Stub([math.nan]))
    with pytest.raises(RunError, match=r"training tokens (\d+, ){8}…;"):
        many.run()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_the_step_at_hand_before_it_stops(number: signal.Signals) -> None:
    class Interrupt(Watcher):
        told: str = ""

        def stepped(self, stepped: Stepped) -> None:
            if stepped.step == 3:
                signal.raise_signal(number)

        def say(self, line: str) -> None:
            self.told = line

    kept, interrupt = Kept(), Interrupt()
    with pytest.raises(KeyboardInterrupt if number is signal.SIGINT else SystemExit):
        loop(keep=kept, watchers=[interrupt]).run()
    assert kept.all[-1][0].progress.step == 3
    assert interrupt.told == "stopped after step 3, all of it saved"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_stops_at_once() -> None:
    class Impatient(Watcher):
        def stepped(self, stepped: Stepped) -> None:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    kept = Kept()
    with pytest.raises(KeyboardInterrupt):
        loop(keep=kept, watchers=[Impatient()]).run()
    assert kept.all[-1][0].progress.step == 0


def test_watchers_hear_of_the_end_however_it_comes() -> None:
    class Heard(Watcher):
        ends = 0

        def ended(self) -> None:
            self.ends += 1

        def evaluated(self, evaluated: Evaluated) -> None:
            if evaluated.step == 5:
                raise ValueError("a watcher fails")

    heard = Heard()
    with pytest.raises(ValueError, match="a watcher fails"):
        loop(watchers=[heard]).run()
    assert heard.ends == 1


def test_a_batch_is_shared_out_evenly_or_not_at_all() -> None:
    assert [World(rank, 3).slice(12) for rank in range(3)] == [slice(0, 4), slice(4, 8), slice(8, 12)]
    with pytest.raises(ArgumentError) as mistake:
        World(0, 5).slice(12)
    assert str(mistake.value) == "batch must be a multiple of the 5 processes that share it; got 12; try 15"


def test_progress_counts_the_seconds_before_it_was_cut_off() -> None:
    resumed = loop()
    kept = Kept()
    loop(keep=kept).run()
    checkpoint, _ = kept.all[1]
    resumed.restore(Checkpoint(checkpoint.model, checkpoint.step, replace(checkpoint.progress, seconds=100.0)))
    assert 100 < resumed.run().seconds < 200
    assert Progress().seconds == 0
