"""Models that somebody's own code holds or makes."""

from pathlib import Path

import pytest
import torch
from torch import nn

from edgewise.errors import ArgumentError, MissingError, RunError
from edgewise.tracing import Given, feed, from_name, recorded, target

CODE = """
import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.token = nn.Embedding(50, width)
        self.layer = nn.TransformerEncoderLayer(width, 4, batch_first=True)

    def forward(self, tokens):
        return self.layer(self.token(tokens))


class Letters:
    def encode(self, text):
        return [ord(letter) % 50 for letter in text]

    def decode(self, ids):
        return "".join(chr(48 + one) for one in ids)


def build():
    return Net()


def both():
    return Net(), Letters()


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def bad():
    raise ValueError("no such luck")


class Wants(nn.Module):
    def __init__(self, width, heads):
        super().__init__()


def some():
    return torch.tensor([[1, 2, 3]])


net = Net()
number = 3
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "written.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return "written.py"


@pytest.mark.parametrize("name", ["net", "Net", "build", "both"])
def test_a_module_a_class_and_a_function_that_makes_one_are_models(file: str, name: str) -> None:
    found = target(f"{file}:{name}")
    assert isinstance(found.model, nn.Module)
    assert not found.model.training
    assert found.reads == "random tokens"


def test_an_importable_module_is_named_without_its_file(file: str) -> None:
    assert target("written:net").name == "written:net"


def test_a_function_that_wants_arguments_is_a_function_of_attention(file: str) -> None:
    found = target(f"{file}:attention")
    record = recorded(found, feed(found, Given()))
    assert [site.name for site in record.sites] == ["attention"]
    assert str(record.calls[0].graph) == "causal()"
    assert record.proof.exact


def test_a_tokenizer_that_comes_with_the_model_reads_for_it(file: str) -> None:
    found = target(f"{file}:both")
    fed = feed(found, Given(text="abc"))
    assert fed.inputs.tolist() == [[47, 48, 49]]
    record = recorded(found, fed)
    assert record.tokens == (("_", "`", "a"),)
    assert record.inputs == {"text": "abc"}


def test_a_dtype_is_what_the_weights_become(file: str) -> None:
    found = target(f"{file}:net", dtype=torch.bfloat16)
    assert found.model.token.weight.dtype == torch.bfloat16
    assert recorded(found, feed(found, Given())).calls[0].dtype == "bfloat16"


def test_inputs_may_be_named_too(file: str) -> None:
    assert from_name(f"{file}:some").tolist() == [[1, 2, 3]]
    found = target(f"{file}:net")
    assert recorded(found, feed(found, Given(inputs=from_name(f"{file}:some")))).calls[0].rows == 3


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        (
            "written.py",
            ArgumentError,
            "wanted file.py:attr, the name of what is in the file too; got 'written.py': try",
        ),
        ("nope.py:net", MissingError, "wanted a file of code; there is no file nope.py"),
        ("no_such_module_here:net", MissingError, "wanted the module no_such_module_here; there is no module"),
        ("written.py:nett", ArgumentError, "wanted nett of written.py:nett; there is none; it has net"),
        ("written.py:number", ArgumentError, "wanted a module, a function that makes one, or one of attention; "),
        ("written.py:bad", RunError, r"calling written.py:bad failed at .*written.py:38: ValueError: no such luck"),
        ("written.py:Wants", ArgumentError, r"is a class that wants arguments \(width, heads\): name a function that"),
    ],
)
def test_what_is_no_model_is_said_in_one_sentence(file: str, name: str, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said) as raised:
        target(name)
    assert "\n" not in str(raised.value)


def test_code_that_lacks_a_package_says_which(tmp_path: Path) -> None:
    (tmp_path / "wants.py").write_text("import no_such_package_here\n")
    with pytest.raises(MissingError, match=r"needs the package no_such_package_here: pip install no_such_package_here"):
        target(f"{tmp_path}/wants.py:net")


def test_a_model_without_a_tokenizer_says_what_to_give(file: str) -> None:
    with pytest.raises(MissingError, match=r"came without a tokenizer: give --ids 1,2,3, or let the function return"):
        feed(target(f"{file}:net"), Given(text="abc"))
    with pytest.raises(ArgumentError, match=r"has no way of its own to go on with a text: leave --generate out"):
        feed(target(f"{file}:net"), Given(ids=(1, 2), generate=3))
    with pytest.raises(ArgumentError, match=r"has no processor for pictures and sounds: give --inputs"):
        feed(target(f"{file}:net"), Given(image="x.png"))


def test_a_name_that_is_no_name_lists_the_forms() -> None:
    with pytest.raises(ArgumentError, match=r"a target is a hub name .*a folder, a .gguf file, .*; got 'no such name'"):
        target("no such name")
    with pytest.raises(MissingError, match=r"wanted a model; ./no/such/folder is not there"):
        target("./no/such/folder")
    with pytest.raises(ArgumentError, match=r"wanted module:attr or file.py:attr; got 'some'"):
        from_name("some")
