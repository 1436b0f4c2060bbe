import json

from edgewise.views import Output, scene


def test_a_scene_is_json_and_says_what_the_record_is(shown):
    said = json.loads(json.dumps(scene(shown), allow_nan=False))
    assert said["scene"] == 1
    assert said["target"] == "a <model>"
    assert said["tokens"][0][9] == "</script><img onerror=x>"
    assert [site["name"] for site in said["sites"]] == ["h.0.attn", "h.1.attn"]
    assert said["sites"][0]["calls"][0]["graph"] == "causal()"
    assert [one["head"] for one in said["sites"][1]["doing"]] == [0, 1, 2, 3]


def test_what_needs_a_model_is_said_to_need_it(shown):
    assert scene(shown)["live"]["swap"] == ("this is a record without its model: open the model itself to change it")


def test_what_the_model_said_is_in_the_scene(shown):
    said = scene(shown, output=Output(((" dog", 0.5),), loss=1.25))["output"]
    assert said == {"next": [{"token": " dog", "probability": 0.5}], "loss": 1.25}
