"""Keys of runs, names of models, and what a gateway is told."""

from datetime import timedelta
from typing import Any

import pytest

from stretto.serve.gateway.keys import id_in, key_of, own_key, split_path
from stretto.serve.gateway.models import Models, component_name
from stretto.serve.gateway.settings import GatewaySettings
from stretto.serve.refused import Refused
from stretto.types.errors import UsageError
from stretto.types.ids import new_run_id


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/run/k1/v1/chat/completions", ("k1", "/v1/chat/completions")),
        ("/run//v1/models", ("", "/v1/models")),
        ("/v1/models", (None, "/v1/models")),
        ("/runs/k1/end", (None, "/runs/k1/end")),
        ("/run/k1", (None, "/run/k1")),
    ],
)
def test_a_path_is_split_into_key_and_rest(path: str, found: tuple[str | None, str]) -> None:
    assert split_path(path) == found


@pytest.mark.parametrize(
    ("in_path", "headers", "key"),
    [
        ("k1", {}, "k1"),
        (None, {"x-stretto-run": "k2"}, "k2"),
        ("k1", {"x-stretto-run": "k1", "authorization": "Bearer known"}, "k1"),
        (None, {"authorization": "Bearer known"}, "known"),
        (None, {"authorization": "bearer run-9"}, "run-9"),
        (None, {"authorization": "Bearer sk-secret"}, ""),
        (None, {"authorization": "Bearer run- 9"}, ""),
        (None, {"authorization": "Basic run-9"}, ""),
        (None, {}, ""),
    ],
)
def test_a_key_is_found_where_it_travels(in_path: str | None, headers: dict[str, str], key: str) -> None:
    assert key_of(in_path, headers, {"known"}.__contains__) == key


@pytest.mark.parametrize("key", ["", "-a", "a b", "a/b", "ä", "a" * 129, "$memory"])
def test_what_can_be_no_key_is_refused(key: str) -> None:
    with pytest.raises(Refused, match="cannot be the key of a run; expected letters, digits"):
        key_of(key, {}, lambda _: True)


def test_a_key_of_the_gateways_own_names_its_run() -> None:
    run_id = new_run_id()
    assert id_in(own_key(run_id)) == run_id == id_in(run_id)
    assert id_in("run-7") is None


@pytest.mark.parametrize(
    ("model", "name"),
    [("smollm2", "smollm2"), ("Qwen/Qwen3-8B", "Qwen-Qwen3-8B"), ("", "model"), ("/.", "model"), ("ü" * 3, "model")],
)
def test_a_model_has_a_name_that_a_record_can_hold(model: str, name: str) -> None:
    assert component_name(model) == name


def test_two_models_never_share_a_component() -> None:
    models = Models(GatewaySettings(upstream="http://127.0.0.1:8000/v1"))
    names = [models.of(model).name for model in ("a/b", "a-b", "a/b", "a_b")]
    assert names[0] == names[2] == "a-b"
    assert names[1].startswith("a-b-")
    assert names[3] == "a_b"
    assert models.pin("a/b")[1] != models.pin("a-b")[1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"extra_body": {"stream": True}}, "--extra-body holds `stream`"),
        ({"upstream": "127.0.0.1:8000"}, "--upstream is '127.0.0.1:8000'"),
        ({"upstream": "http://a/v1/chat/completions"}, "leave `/chat/completions` out"),
        ({"name": "a b"}, "--name is 'a b'"),
        ({"idle": timedelta(0)}, "--idle is 0"),
        ({"max_body_bytes": 0}, "--max-body-bytes is 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        GatewaySettings(**{"upstream": "http://127.0.0.1:8000/v1", **options}).check()
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("value", "says"), [("", "which is not set"), ("a\nb", "holds a character that no header may")]
)
def test_a_key_that_cannot_be_sent_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, value: str, says: str) -> None:
    monkeypatch.setenv("MODEL_KEY", value)
    with pytest.raises(UsageError, match=says):
        GatewaySettings(upstream="http://127.0.0.1:8000/v1", key_env="MODEL_KEY").address()
