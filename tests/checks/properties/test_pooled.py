"""One answer for a whole sequence: a mean, a class token, the last token; each right, and each wrong in one way."""

import pytest
import torch
from torch import nn

from edgewise import check
from edgewise.checks.infer import subject_of
from edgewise.checks.properties.examples.layer import Layer, attended


class Pooled(Layer):
    """Two-way attention over real tokens, then a pooling by name."""

    def __init__(self, pooling):
        super().__init__()
        self.pooling, self.head = pooling, nn.Linear(16, 3)

    def forward(self, x, mask):
        query, key, value = self.projected(x)
        keep = mask[:, None, None, :].bool() | torch.eye(x.shape[1]).bool()  # a padded place reads itself: no NaN
        y = x + self.mixed(attended(query, key, value, keep))
        return self.head(getattr(self, self.pooling)(y, mask[..., None].to(y), mask.sum(1).long()))

    def mean(self, y, mask, _):
        return (y * mask).sum(1) / mask.sum(1)

    def most(self, y, mask, _):
        return y.masked_fill(mask == 0, -1e4).amax(1)

    def first(self, y, *_):
        return y[:, 0]

    def last_real(self, y, _, many):
        return y[torch.arange(len(y)), many - 1]

    def mean_of_all(self, y, *_):
        return y.mean(1)

    def mean_over_all(self, y, mask, _):
        return (y * mask).sum(1) / y.shape[1]

    def most_of_all(self, y, *_):
        return y.amax(1)

    def last_place(self, y, *_):
        return y[:, -1]


@pytest.mark.parametrize("pooling", ["mean", "most", "first", "last_real"])
def test_a_right_pooling_is_clean(pooling):
    report = check(Pooled(pooling).eval())
    assert (report.exit_status, report.findings if pooling != "first" else ()) == (0, ())
    assert "answers once for a whole sequence" in report.subject


@pytest.mark.parametrize(
    ("pooling", "likely"),
    [
        ("mean_of_all", "a mean"),
        ("most_of_all", "beside attention"),
        ("mean_over_all", "pooling counts padding"),
        ("last_place", "take the last real token"),
    ],
)
def test_a_pooling_that_reads_padding_is_told(pooling, likely):
    (finding,) = check(Pooled(pooling).eval()).failures
    assert (finding.cause.property, finding.cause.kind) == ("padding-leak", "D4")
    assert likely in finding.cause.likely
    assert finding.cause.replay or finding.cause.measured.startswith("with ")


def test_one_answer_is_not_taken_for_that_of_a_pair_of_rows():
    class Scores(Layer):
        def forward(self, x):
            pooled = x.mean(1)
            return pooled @ pooled.T

    with pytest.raises(Exception, match="nothing for each token"):
        subject_of(Scores())


def test_a_sequence_that_is_made_shorter_is_no_answer_for_all_of_it():
    class Halved(Layer):
        def forward(self, x):
            return (x[:, ::2] + x[:, 1::2].mean(1, keepdim=True)) if x.shape[1] > 1 else x

    with pytest.raises(Exception, match="nothing for each token"):
        subject_of(Halved())
