"""What made a language model choose so: told of the words of its prompt, and of a soft prompt's numbers."""

from typing import Any

import pytest

from stretto.components.causal_lm.made import component_in
from stretto.learn.explain.choice import explain_choice
from stretto.testing.request import request_for
from tests.unit.components.causal_lm.test_module import QUEUES, reader, states


@pytest.mark.parametrize("queues", [QUEUES, ["billing", "orders"]], ids=["several tokens", "one token"])
def test_a_choice_is_attributed_to_words_of_the_prompt_as_people_read_them(queues: object) -> None:
    module = reader(chooses={"queue": queues})
    request: dict[str, Any] = {"text": "my parcel is late", "state": states(1)[0].tolist()}
    (action,) = component_in(module)._answer(request_for(**request)).actions
    found = explain_choice(component_in(module), request, action)
    words = sorted((part for part in found.parts if part.place is not None), key=lambda part: part.place or 0)
    assert [part.text for part in words] == ["<s>", "Ticket", ":", "my", "parcel", "is", "late", "Queue", ":"]
    assert all(part.adds for part in words)
    assert set(found.fields) == {"state", "model.model.embed_tokens"}
    assert found.residual < 0.02
