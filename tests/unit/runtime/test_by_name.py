"""What is asked for a name it has not says which it has."""

import pytest

from stretto.runtime.by_name import ByName
from stretto.types.errors import UsageError
from tests.unit.runtime.conftest import WorkflowOf
from tests.unit.runtime.test_settings import desk

KNOWN = ByName("the desk has no setting", {"ask.timeout": 1, "ask.priority": 2})


def test_it_is_a_mapping() -> None:
    assert KNOWN["ask.timeout"] == 1
    assert KNOWN.get("nope") is None
    assert dict(KNOWN) == {"ask.timeout": 1, "ask.priority": 2}


@pytest.mark.parametrize(
    ("known", "name", "told"),
    [
        (KNOWN, "ask.timout", "the desk has no setting 'ask.timout'; did you mean 'ask.timeout'?"),
        (KNOWN, "zzz", "the desk has no setting 'zzz'; there are: ask.timeout, ask.priority"),
        (
            ByName("the desk has counted no call of", {}),
            "api",
            "the desk has counted no call of 'api'; there are: none",
        ),
    ],
)
def test_a_name_that_is_not_there_gets_the_nearest_or_all(known: ByName[int], name: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        known[name]
    assert str(caught.value) == told


def test_what_a_workflow_counts_and_lists_answers_so(workflow_of: WorkflowOf) -> None:
    workflow = desk(workflow_of)
    with pytest.raises(UsageError, match="workflow 'desk' has so far counted no call of component 'api'"):
        workflow.protections["api"]
    with pytest.raises(UsageError, match="workflow 'desk' has so far counted no fallback of component 'api'"):
        workflow.fallbacks.components["api"]
    with pytest.raises(UsageError, match=r"did you mean 'steps.ask.timeout'"):
        workflow.settings["steps.ask.timeuot"]
