"""What single architectures do that others do not: seen whole, or said to be seen and not understood."""

import warnings

import pytest
import torch

from edgewise.errors import TraceError
from edgewise.tracing import called, record, trace
from edgewise.tracing.tiny import tiny

transformers = pytest.importorskip("transformers", reason="needs the extra: pip install 'edgewise[transformers]'")


@pytest.fixture(autouse=True)
def quiet() -> None:
    warnings.filterwarnings("ignore", module="transformers")


def test_a_sink_that_differs_from_query_to_query_is_said_and_the_rest_is_captured() -> None:
    made = tiny("inkling2")
    with torch.no_grad(), trace(made.model) as run:
        called(made.model, made.inputs)
    why = run.unexplained["model.language_model.layers.0.self_attn"]
    assert why.startswith("their sinks are not one a head: they differ from query to query, (")
    assert "model.language_model.layers.0.self_attn" not in {call.site.name for call in run.calls}


def test_a_model_whose_config_names_no_backend_runs_the_eager_one() -> None:
    made = tiny("fun_asr_nano")
    routes = {call.route for call in record(made.model, made.inputs).calls}
    assert routes == {"transformers: sdpa", "transformers: eager"}


@pytest.mark.parametrize("name", ["vits", "nystromformer"])
def test_models_that_write_into_their_attention_s_output_are_recorded(name: str) -> None:
    made = tiny(name)
    with torch.no_grad(), trace(made.model) as run:
        called(made.model, made.inputs)
    with pytest.raises(TraceError, match="trace with copy=True"):
        run.record()
    assert record(made.model, made.inputs).proof.exact
