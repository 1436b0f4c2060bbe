"""What is handed over in a dict is found by the keys that the code asks for."""

import torch
from torch import nn

import edgewise
from edgewise.checks.infer import subject_of


class Reads(nn.Module):
    def __init__(self, causal=True):
        super().__init__()
        self.embed, self.causal = nn.Embedding(20, 16), causal

    def forward(self, batch):
        x = self.embed(batch["input_ids"])
        keep = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool)
        keep = keep.tril() if self.causal else keep
        if "attention_mask" in batch:
            keep = keep & batch["attention_mask"].bool()[:, None]
        weights = (x @ x.mT / 4).masked_fill(~keep, -1e9).softmax(-1)
        return {"logits": weights @ x}


def test_entries_are_arguments_and_those_that_may_be_missing_are_found():
    subject = subject_of(Reads())
    assert (subject.mapping, subject.main, subject.mask.name) == ("batch", ("input_ids",), "attention_mask")
    assert str(subject).startswith("called as Reads({input_ids=ids below 20 (batch, tokens), attention_mask=True")
    assert subject.code() == "model(dict(input_ids=x))"


def test_a_fault_behind_a_dict_is_told_with_a_replay_that_runs():
    assert not edgewise.check(Reads(), graph="causal()").findings
    report = edgewise.check(Reads(causal=False), graph="causal()", only=["future-leak"])
    assert [one.cause.property for one in report.findings] == ["future-leak"]
    assert "model(dict(input_ids=x" in str(report)


def test_what_is_no_dict_is_left_alone():
    class Plain(nn.Module):
        def forward(self, x):
            return {"out": x}["out"]

    assert subject_of(Plain()).mapping == ""
