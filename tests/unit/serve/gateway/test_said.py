"""What a request says: beginnings, answers, and what makes two of them the same."""

from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from stretto.serve.gateway.said import Messages, Prompt, meaning_of, prompt_of
from stretto.serve.refused import Refused

TEXTS = st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), st.text()), min_size=1, max_size=6)


def conversation(said: list[tuple[str, str]]) -> list[Any]:
    return [{"role": role, "content": text} for role, text in said]


@given(before=TEXTS, answer=st.text(), after=TEXTS)
def test_a_conversation_begins_with_the_one_and_the_answer_that_it_goes_on_with(
    before: list[tuple[str, str]], answer: str, after: list[tuple[str, str]]
) -> None:
    message: Any = {"role": "assistant", "content": answer}
    length, meaning = Messages(conversation(before)).with_answer(message)
    longer = Messages([*conversation(before), message, *conversation(after)])
    assert list(longer.beginnings({length})) == [(length, meaning)]
    assert longer.form_of(len(before)) == Messages(conversation(before)).form_of(len(before))
    assert longer.after(length) == conversation(after)


@given(one=TEXTS, other=TEXTS)
def test_conversations_are_the_same_when_they_say_the_same(
    one: list[tuple[str, str]], other: list[tuple[str, str]]
) -> None:
    assert (Messages(conversation(one)).whole == Messages(conversation(other)).whole) is (one == other)


@given(text=st.text(), answer=st.text(), rest=st.text(), others=st.sets(st.integers(0, 50)))
def test_a_prompt_begins_with_the_text_that_it_goes_on_with(
    text: str, answer: str, rest: str, others: set[int]
) -> None:
    length, meaning = Prompt(text).with_answer({"content": answer})
    found = dict(Prompt(text + answer + rest).beginnings({length, *others}))
    assert found[length] == meaning
    assert list(found) == sorted(found, reverse=True)


def call(arguments: Any) -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"role": "assistant", "content": None}, {"role": "assistant", "content": "", "refusal": None}),
        ({"role": "user", "content": "a b"}, {"role": "user", "content": [{"type": "text", "text": "a b"}]}),
        (
            {"role": "assistant", "tool_calls": [call('{"a": 1, "b": 2}')]},
            {"role": "assistant", "content": None, "tool_calls": [call('{"b":2,"a":1}')]},
        ),
        ({"role": "assistant", "tool_calls": [call({})]}, {"role": "assistant", "tool_calls": [call("")]}),
        ({"role": "assistant", "content": "x", "reasoning_content": "y"}, {"role": "assistant", "content": "x"}),
        ({"role": "assistant", "tool_calls": []}, {"role": "assistant", "tool_calls": None, "audio": None}),
    ],
)
def test_how_a_message_is_written_does_not_matter(one: Any, other: Any) -> None:
    assert meaning_of(one) == meaning_of(other)
    assert Messages([one]).form_of(1) != Messages([other]).form_of(1)


@pytest.mark.parametrize(
    "other",
    [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "a "},
        {"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": "a"}}]},
        {"role": "assistant", "content": "a", "tool_calls": [call("{}")]},
        {"role": "assistant", "content": "a", "tool_call_id": "c"},
        {"role": "assistant", "content": "a", "function_call": {"name": "f", "arguments": "{}"}},
    ],
)
def test_who_says_what_matters(other: Any) -> None:
    assert meaning_of({"role": "assistant", "content": "a"}) != meaning_of(other)


def test_arguments_that_are_no_json_are_the_text_that_they_are() -> None:
    one: Any = {"role": "assistant", "tool_calls": [call("{a")]}
    other: Any = {"role": "assistant", "tool_calls": [call("{b")]}
    assert meaning_of(one) != meaning_of(other)


@pytest.mark.parametrize("given", [[1, 2, 3], ["a", "b"], [[1], [2]]])
def test_token_ids_and_several_prompts_are_gone_on_with_by_nothing(given: Any) -> None:
    said = prompt_of(given)
    assert list(said.beginnings({1, 2, 3})) == []
    assert said.whole == prompt_of(orjson.loads(orjson.dumps(given))).whole


@pytest.mark.parametrize("given", [None, [], 7, {}])
def test_what_is_no_prompt_is_refused(given: Any) -> None:
    with pytest.raises(Refused, match="`prompt` is missing or empty"):
        prompt_of(given)
