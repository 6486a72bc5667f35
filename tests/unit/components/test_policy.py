"""The trainable policy as a component: what it sees, how it chooses, what it records, what it refuses."""

import asyncio
import json
import math
import subprocess
import sys
from collections import Counter
from itertools import repeat
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st

from stretto.components.policy import SoftmaxPolicy, build_policy, draw, draws
from stretto.components.policy_features import about_of, features_of
from stretto.components.policy_options import PolicyKeywords, PolicyOptions
from stretto.components.policy_spec import FeatureSpec
from stretto.components.policy_weights import PolicyWeights
from stretto.types.budget import Budget, BudgetSpec
from stretto.types.enums import Effect
from stretto.types.errors import ComponentError, StoreError, UsageError
from stretto.types.ids import RunId, StepPath
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Call, Request, Response, RunInfo
from stretto.types.protocols import Opens, Trainable

TOOLS = ("find_user", "get_order", "cancel", "end")


def ask(policy: SoftmaxPolicy, data: JsonObject, seed: int = 0, path: str = "planner") -> Response:
    run = RunInfo(id=RunId("r"), workflow_run_id="w", workflow="w", version="1", seed=seed)
    call = Call(run, StepPath(path), 1, "", Effect.PURE, None, Budget.start(BudgetSpec(), 0.0))
    return asyncio.run(policy(Request(data, call)))


def trained(folder: Path, policy: SoftmaxPolicy, **logits: float) -> SoftmaxPolicy:
    """The policy with weights on the bias only, so that its logits are known."""
    dense_FK = np.zeros((policy.options.buckets, len(policy.options.alternatives)))
    dense_FK[0] = [logits.get(name, 0.0) for name in policy.options.alternatives]
    return policy.with_weights(str(PolicyWeights.from_dense(policy.spec, dense_FK).save(folder)))


# what it sees


def buckets_of(data: JsonObject, **spec: Any) -> dict[int, float]:
    indices, values = features_of(FeatureSpec(**spec), data)
    return dict(zip(indices, values, strict=True))


def test_features_are_the_same_in_every_release() -> None:
    data: JsonObject = {"words": "Cancel order #W12", "state": {"round": 3, "user": None, "items": ["mug"]}}
    indices, values = features_of(FeatureSpec(), data)
    assert indices == [0, 16675, 19457, 9581, 6421, 6860, 33303, 54918, 6332, 52035]
    assert values[1:6] == [0.2 / math.sqrt(5)] * 5
    assert values[6:] == [1.0] * 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Where is it?", "where IS it"),
        ("order #W2378156", "order #W9999999"),
        ("zip 10001", "zip 94016"),
        (["cancel it"], "cancel it"),
        ("我要退貨", "我 要 退 貨"),
    ],
)
def test_texts_that_say_the_same_look_the_same(one: Any, other: Any) -> None:
    assert buckets_of({"words": one}) == buckets_of({"words": other})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"words": "cancel it"}, {"words": "it cancel"}),
        ({"state": {"a": "x"}}, {"state": {"b": "x"}}),
        ({"state": {"n": 3}}, {"state": {"n": 4}}),
        ({"state": {"n": 1}}, {"state": {"n": True}}),
        ({"state": {"n": None}}, {"state": {"n": "None"}}),
        ({"state": {"n": 0.5}}, {"state": {"n": 0.9}}),
        ({"state": []}, {"state": None}),
        ({"state": "cancel"}, {"words": "cancel"}),
    ],
)
def test_inputs_that_differ_look_different(one: JsonObject, other: JsonObject) -> None:
    assert buckets_of(one) != buckets_of(other)


@pytest.mark.parametrize(("near", "also"), [(1000, 1020), (-5e9, -5.1e9), (0.33, 0.34)])
def test_large_numbers_and_fractions_are_told_apart_by_magnitude(near: float, also: float) -> None:
    assert buckets_of({"state": near}) == buckets_of({"state": also})


def test_a_text_weighs_the_same_however_long_it_is() -> None:
    for words in ("cancel", "cancel the order please " * 20 + "now or tomorrow"):
        values = [v for bucket, v in buckets_of({"words": words}, state=(), text_scale=0.5).items() if bucket != 0]
        assert math.isclose(sum(v * v for v in values), 0.25)


def test_missing_and_null_fields_read_as_nothing_said() -> None:
    assert buckets_of({}, state=()) == buckets_of({"words": None}, state=()) == buckets_of({"words": ""}, state=())


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=12,
)


@given(words=st.text(), state=json_values)
def test_any_json_has_features_in_range_each_once(words: str, state: Any) -> None:
    indices, values = features_of(FeatureSpec(buckets=64), {"words": words, "state": state})
    assert indices[0] == 0
    assert len(set(indices)) == len(indices) == len(values)
    assert all(0 <= i < 64 for i in indices)
    assert all(math.isfinite(v) and v > 0 for v in values)


def test_a_text_field_that_is_no_text_is_refused() -> None:
    with pytest.raises(
        ComponentError, match="text field 'words' is dict; expected a string, a list of strings, or null"
    ):
        ask(SoftmaxPolicy("planner", TOOLS), {"words": {"a": 1}})


def test_a_fact_is_the_same_whichever_alternative_it_is_true_of() -> None:
    spec = FeatureSpec(about=("about",), about_scale=1.0)
    data: JsonObject = {
        "about": {"cancel": {"write": "asked"}, "end": {"write": "asked", "tries": 1}, "get_order": None}
    }
    nothing, null, cancel, end = about_of(spec, TOOLS, data)
    assert nothing == ()
    assert len(null) == len(cancel) == 1
    assert set(cancel) < set(end)
    assert about_of(spec, TOOLS, {}) == about_of(spec, TOOLS, {"about": None}) == [()] * 4


@given(about=st.dictionaries(st.sampled_from(TOOLS), json_values))
def test_any_json_about_alternatives_has_buckets_in_range_each_once(about: Any) -> None:
    known = about_of(FeatureSpec(about=("about",), about_scale=1.0, buckets=64), TOOLS, {"about": about})
    assert all(0 < bucket < 64 and len(set(buckets)) == len(buckets) for buckets in known for bucket in buckets)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ([1], "field 'about' is list; expected a mapping from alternatives to what is known of each, or null"),
        ({"refund": 1}, r"field 'about' tells of \['refund'\], which it does not choose from; its alternatives are"),
    ],
)
def test_what_is_told_of_no_alternative_is_refused(about: Json, message: str) -> None:
    with pytest.raises(ComponentError, match=message):
        ask(SoftmaxPolicy("planner", TOOLS, about="about"), {"about": about})


# how it chooses


def test_untrained_every_alternative_is_equally_likely() -> None:
    response = ask(SoftmaxPolicy("planner", TOOLS), {"words": "hello"})
    (action,) = response.actions
    assert response.output == {"action": action.chosen, "confidence": 0.25}
    assert action.support == TOOLS
    assert action.available == ()
    assert math.isclose(action.logprob, math.log(0.25))
    assert action.propensity == 0.25
    assert not action.forced


def test_a_prior_makes_an_alternative_rare_before_anything_is_learnt() -> None:
    policy = SoftmaxPolicy("planner", TOOLS, prior={"end": -3.0})
    chosen = Counter(ask(policy, {}, seed=seed).actions[0].chosen for seed in range(2000))
    assert math.isclose(chosen["end"] / 2000, math.exp(-3) / (3 + math.exp(-3)), abs_tol=0.01)


def test_choices_follow_the_probabilities_of_the_weights(tmp_path: Path) -> None:
    policy = trained(tmp_path, SoftmaxPolicy("planner", TOOLS), cancel=2.0, end=-1.0)
    weights = {"find_user": 1.0, "get_order": 1.0, "cancel": math.exp(2), "end": math.exp(-1)}
    chosen = Counter(ask(policy, {}, seed=seed).actions[0].chosen for seed in range(4000))
    for name, weight in weights.items():
        assert math.isclose(chosen[name] / 4000, weight / sum(weights.values()), abs_tol=0.02)


def test_what_is_known_of_an_alternative_counts_for_each_that_it_is_true_of(tmp_path: Path) -> None:
    policy = SoftmaxPolicy("planner", TOOLS, about="about", about_scale=0.5, prior={"end": 1.0})
    asked: JsonObject = {"write": "asked"}
    dense_FK = np.zeros((policy.options.buckets, 5))
    dense_FK[about_of(policy.spec.features, TOOLS, {"about": {"end": asked}})[3], -1] = 6.0
    knowing = policy.with_weights(str(PolicyWeights.from_dense(policy.spec, dense_FK).save(tmp_path)))
    cases: list[tuple[JsonObject, str, float]] = [
        ({}, "end", math.exp(1) / (math.exp(1) + 3)),
        ({"end": asked}, "end", math.exp(4) / (math.exp(4) + 3)),
        ({"end": asked, "cancel": {"write": "guessed"}}, "end", math.exp(4) / (math.exp(4) + 3)),
        ({"cancel": asked}, "cancel", math.exp(3) / (math.exp(3) + math.exp(1) + 2)),
    ]
    for about, chosen, probability in cases:
        (action,) = ask(knowing.with_sampling(False), {"about": about}).actions
        assert action.chosen == chosen
        assert math.isclose(action.logprob, math.log(probability))


def test_temperature_flattens_the_probabilities(tmp_path: Path) -> None:
    hot = trained(tmp_path, SoftmaxPolicy("planner", TOOLS, temperature=2.0), cancel=2.0).with_sampling(False)
    assert math.isclose(ask(hot, {}).actions[0].logprob, 1.0 - math.log(3 + math.e))


def test_the_same_seed_and_path_choose_alike_and_others_do_not() -> None:
    policy = SoftmaxPolicy("planner", [f"a{i}" for i in range(50)])
    first = [ask(policy, {}, seed=s, path=f"talk[{r}]/planner").output for s in range(5) for r in range(5)]
    again = [ask(policy, {}, seed=s, path=f"talk[{r}]/planner").output for s in range(5) for r in range(5)]
    assert first == again
    assert len({json.dumps(output) for output in first}) > 10


@given(seed=st.integers(0, 2**63 - 1), path=st.text())
def test_draws_lie_in_the_unit_interval(seed: int, path: str) -> None:
    assert 0.0 <= draw(seed, path.encode(errors="ignore").decode()) < 1.0


def test_draws_are_the_same_in_every_release() -> None:
    assert draw(7, "talk[1]/planner") == 0.026998379874398792


@given(seeds=st.lists(st.integers(-(2**63), 2**63 - 1)), path=st.text())
def test_draws_of_many_runs_are_those_of_each(seeds: list[int], path: str) -> None:
    path = path.encode(errors="ignore").decode()
    assert draws(seeds, repeat(path)) == [draw(seed, path) for seed in seeds]


def test_what_is_not_available_is_never_chosen() -> None:
    policy = SoftmaxPolicy("planner", TOOLS)
    for seed in range(50):
        (action,) = ask(policy, {"available": ["end", "cancel"]}, seed=seed).actions
        assert action.chosen in ("end", "cancel")
        assert action.available == (False, False, True, True)
        assert math.isclose(action.propensity, 0.5)


def test_a_choice_of_one_is_forced_and_certain() -> None:
    (action,) = ask(SoftmaxPolicy("planner", TOOLS), {"available": ["end"]}).actions
    assert (action.chosen, action.forced, action.logprob, action.propensity) == ("end", True, 0.0, 1.0)


def test_without_sampling_the_likeliest_is_taken_and_recorded_as_certain_to_be_taken(tmp_path: Path) -> None:
    policy = trained(tmp_path, SoftmaxPolicy("planner", TOOLS), cancel=0.1).with_sampling(False)
    actions = [ask(policy, {}, seed=seed).actions[0] for seed in range(20)]
    assert {action.chosen for action in actions} == {"cancel"}
    assert {action.propensity for action in actions} == {1.0}
    assert actions[0].logprob < 0.0
    assert not actions[0].forced


@pytest.mark.parametrize(
    ("available", "message"),
    [
        ([], "nothing to choose from: 'available' is empty"),
        (["refund"], r"does not know 'refund', which 'available' lists; it chooses from \['find_user'"),
        ([3], "does not know 3"),
        ("end of day", "does not know 'end of day'"),
    ],
)
def test_a_wrong_list_of_what_is_available_is_refused(available: Any, message: str) -> None:
    with pytest.raises(ComponentError, match=message) as caught:
        ask(SoftmaxPolicy("planner", TOOLS), {"available": available})
    assert not caught.value.retryable


def test_extreme_weights_neither_overflow_nor_make_a_probability_of_zero_chosen(tmp_path: Path) -> None:
    policy = trained(tmp_path, SoftmaxPolicy("planner", TOOLS), cancel=1e6, end=-1e6)
    for seed in range(20):
        assert ask(policy, {}, seed=seed).output == {"action": "cancel", "confidence": 1.0}


# what it is


def test_it_is_a_trainable_component_that_opens() -> None:
    policy = SoftmaxPolicy("planner", TOOLS)
    assert isinstance(policy, Trainable)
    assert isinstance(policy, Opens)
    assert policy.card.kind == "policy"
    assert policy.card.trainable
    assert policy.card.effect_of("") is Effect.PURE


def test_its_schemas_accept_what_it_takes_and_gives_and_nothing_else() -> None:
    policy = SoftmaxPolicy("planner", TOOLS, text=("words", "history"), output="tool")
    takes = jsonschema_rs.validator_for(dict(policy.card.input))
    gives = jsonschema_rs.validator_for(dict(policy.card.output))
    data: JsonObject = {"words": "hi", "history": ["a", "b"], "state": {"any": [1]}, "available": ["end"]}
    assert takes.is_valid(data)
    assert takes.is_valid({"words": None, "available": None})
    assert gives.is_valid(ask(policy, data).output)
    wrongs: list[JsonObject] = [{"word": "hi"}, {"words": 3}, {"available": ["refund"]}, {"available": []}]
    for wrong in wrongs:
        assert not takes.is_valid(wrong)
    told = jsonschema_rs.validator_for(dict(SoftmaxPolicy("planner", TOOLS, about="about").card.input))
    assert told.is_valid({"about": {"end": {"any": [1]}, "cancel": None}})
    assert not told.is_valid({"about": {"refund": 1}})
    assert not told.is_valid({"about": ["end"]})


def test_its_digest_changes_with_weights_and_options_and_nothing_else(tmp_path: Path) -> None:
    policy = SoftmaxPolicy("planner", TOOLS)
    moved = trained(tmp_path, policy, end=1.0)
    assert policy.card.digest == SoftmaxPolicy("planner", list(TOOLS)).card.digest
    assert len({policy.card.digest, moved.card.digest, policy.with_sampling(False).card.digest}) == 3
    assert len({policy.weights_digest, moved.weights_digest}) == 2
    assert moved.with_sampling(False).weights_digest == moved.weights_digest
    assert policy.weights.digest == policy.weights_digest


def test_one_that_reads_nothing_about_alternatives_has_the_digests_it_had_before_it_could() -> None:
    policy = SoftmaxPolicy("planner", TOOLS)
    assert b"about" not in policy.spec.header
    knowing = SoftmaxPolicy("planner", TOOLS, about="about")
    louder = SoftmaxPolicy("planner", TOOLS, about="about", about_scale=1.0)
    assert len({policy.weights_digest, knowing.weights_digest, louder.weights_digest}) == 3
    assert len({policy.card.digest, knowing.card.digest, louder.card.digest}) == 3
    assert knowing.weights.digest == knowing.weights_digest


def test_making_one_imports_no_numpy() -> None:
    code = (
        "import sys; from stretto.components.policy import build_policy; "
        "build_policy('planner', {'alternatives': ['a', 'b']}).card; print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# its declaration


def test_a_declaration_makes_the_same_component_as_python() -> None:
    declared = build_policy(
        "planner", {"alternatives": list(TOOLS), "text": "words", "prior": {"end": -3}, "ngrams": [1]}
    )
    assert declared.card == SoftmaxPolicy("planner", TOOLS, prior={"end": -3.0}, ngrams=[1]).card


def test_a_declared_checkpoint_starts_at_the_folder_of_the_file(tmp_path: Path) -> None:
    moved = trained(tmp_path, SoftmaxPolicy("planner", TOOLS), end=1.0)
    named = f"{moved.weights_digest}.safetensors"
    assert build_policy("planner", {"alternatives": list(TOOLS), "checkpoint": named}, tmp_path).card == moved.card


def test_keywords_in_python_are_the_options_of_a_file() -> None:
    assert {"alternatives", *PolicyKeywords.__annotations__} == set(PolicyOptions.__struct_fields__)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "policy 'planner': .*`alternatives`"),
        ({"alternatives": ["a"]}, r"alternatives are \['a'\]; expected two or more"),
        ({"alternatives": ["a", ""]}, "expected two or more names"),
        ({"alternatives": ["a", "a"]}, "repeat a name"),
        ({"alternatives": "ab"}, "Expected `array`, got `str`"),
        ({"temperture": 2}, "unknown field `temperture`.*options are alternatives, text"),
        ({"temperature": 0}, "temperature is 0.0; expected a number above 0"),
        ({"temperature": "warm"}, "Expected `float`, got `str`"),
        ({"prior": {"c": 1}}, r"prior names \['c'\], not among the alternatives"),
        ({"text": [], "state": []}, "reads no field"),
        ({"text": ["a"], "state": ["a"]}, "each input field once"),
        ({"text": ["available"]}, "both a feature and the list"),
        ({"about": ["available"]}, "both a feature and the list"),
        ({"about": ["state"]}, "each input field once.*about .*overlap"),
        ({"about": "about", "about_scale": 0}, "about_scale is 0.0; expected a number above 0"),
        ({"about_scale": 2}, "about_scale has no effect without `about`"),
        ({"output": "confidence"}, "name the choice otherwise"),
        ({"buckets": 1}, "buckets is 1; expected 2 or more"),
        ({"ngrams": [0]}, r"ngrams is \[0\]"),
        ({"text_scale": 0}, r"text_scale is 0.0.*text: \[\]"),
        ({"checkpoint": "missing.safetensors"}, "no file at missing.safetensors"),
    ],
)
def test_a_wrong_option_is_one_clear_error(options: JsonObject, message: str) -> None:
    given: JsonObject = {"alternatives": ["a", "b"], **options} if options else {}
    with pytest.raises(UsageError, match=message):
        build_policy("planner", given)


# its checkpoints


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    policy = SoftmaxPolicy("planner", TOOLS, buckets=50)
    dense_FK = np.zeros((50, 4))
    dense_FK[[3, 7]] = np.random.default_rng(0).normal(size=(2, 4))
    weights = PolicyWeights.from_dense(policy.spec, dense_FK)
    path = weights.save(tmp_path)
    assert path.name == f"{weights.digest}.safetensors"
    back = PolicyWeights.load(path, policy.spec)
    assert back.digest == weights.digest
    assert np.array_equal(back.dense_FK, dense_FK)
    assert path.read_bytes() == PolicyWeights.load(path, policy.spec).save(tmp_path / "again").read_bytes()
    assert [p.name for p in tmp_path.glob(".*")] == []


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"alternatives": ("get_order", "find_user", "cancel", "end")}, "its alternatives are"),
        ({"alternatives": ("find_user", "end")}, "its alternatives are"),
        ({"buckets": 512}, "its features are .*'buckets': 65536"),
        ({"ngrams": [1, 2, 3]}, "its features are"),
        ({"prior": {"end": -1}}, "its prior are"),
        ({"about": "about"}, "its features are .*'about'"),
    ],
)
def test_a_checkpoint_of_another_policy_is_refused_by_what_differs(tmp_path: Path, other: Any, message: str) -> None:
    moved = trained(tmp_path, SoftmaxPolicy("planner", TOOLS), end=1.0)
    with pytest.raises(UsageError, match=message):
        build_policy("planner", {"alternatives": list(TOOLS), "checkpoint": moved.options.checkpoint, **other})


@pytest.mark.parametrize("keep", [0, 7, 200, -1])
def test_a_checkpoint_cut_short_is_refused(tmp_path: Path, keep: int) -> None:
    path = Path(trained(tmp_path, SoftmaxPolicy("planner", TOOLS), end=1.0).options.checkpoint or "")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(StoreError, match="not a whole safetensors file"):
        SoftmaxPolicy("planner", TOOLS, checkpoint=path)


def test_a_checkpoint_whose_numbers_were_changed_is_refused(tmp_path: Path) -> None:
    path = Path(trained(tmp_path, SoftmaxPolicy("planner", TOOLS), end=1.0).options.checkpoint or "")
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match="not those of its name"):
        SoftmaxPolicy("planner", TOOLS, checkpoint=path)


def test_a_safetensors_file_that_is_no_policy_is_refused(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"x": np.zeros(3)}, tmp_path / "x.safetensors")
    with pytest.raises(UsageError, match="not a policy's checkpoint"):
        SoftmaxPolicy("planner", TOOLS, checkpoint=tmp_path / "x.safetensors")


@pytest.mark.parametrize(
    ("rows", "values", "message"),
    [
        (np.array([0], np.int64), np.zeros((1, 3)), r"values of shape \(1, 3\); expected \(1, 4\)"),
        (np.array([0], np.int32), np.zeros((1, 4)), "expected rows: int64"),
        (np.array([70000], np.int64), np.zeros((1, 4)), "rows outside 0 to 65535"),
        (np.array([5, 4], np.int64), np.zeros((2, 4)), "out of order"),
        (np.array([5], np.int64), np.full((1, 4), np.nan), "not finite"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, rows: Any, values: Any, message: str) -> None:
    from stretto.components.tensor_file import write_tensors

    policy = SoftmaxPolicy("planner", TOOLS)
    write_tensors(tmp_path / "w.safetensors", {"rows": rows, "values": values}, policy.spec.header)
    with pytest.raises(StoreError, match=message):
        policy.with_weights(str(tmp_path / "w.safetensors"))


def test_weights_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(UsageError, match=r"shape \(3, 4\); buckets and alternatives make it \(65536, 4\)"):
        PolicyWeights.from_dense(SoftmaxPolicy("planner", TOOLS).spec, np.zeros((3, 4)))


def test_a_folder_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot write"):
        PolicyWeights.zero(SoftmaxPolicy("planner", TOOLS).spec).save(tmp_path / "file" / "below")


@pytest.mark.parametrize("more", [{}, {"about": "about"}, {"about": ("about", "more"), "about_scale": 2.0}])
def test_options_survive_their_own_encoding(more: Any) -> None:
    options = SoftmaxPolicy("planner", TOOLS, prior={"end": -3.0}, **more).options
    assert msgspec.json.decode(msgspec.json.encode(options), type=PolicyOptions) == options
