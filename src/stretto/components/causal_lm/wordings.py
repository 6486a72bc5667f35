"""How a model says the alternatives of choices: their texts as its tokens."""

from collections.abc import Mapping, Sequence

from stretto.components.causal_lm.words import Words
from stretto.types.errors import UsageError


def worded(name: str, words: Words, chooses: Mapping[str, Mapping[str, str]]) -> dict[str, list[list[int]]]:
    """Choice → the tokens of each alternative's text.

    Raises UsageError for a text of no token, and where one alternative begins another. `name` is the component's.
    """
    found = {
        choice: [_tokens(name, words, choice, alternative, text) for alternative, text in texts.items()]
        for choice, texts in chooses.items()
    }
    for choice, texts in found.items():
        _hold_apart(name, choice, [*chooses[choice]], texts)
    return found


def _tokens(name: str, words: Words, choice: str, alternative: str, text: str) -> list[int]:
    tokens = words.tokens([(text, True)])
    if not tokens:
        raise UsageError(
            f"component '{name}': alternative '{alternative}' of '{choice}' is {text!r}, of which its model's "
            "tokenizer makes nothing; give it a text that the model can say"
        )
    return tokens


def _hold_apart(name: str, choice: str, names: Sequence[str], texts: Sequence[Sequence[int]]) -> None:
    """No alternative begins another: it would be the likelier one whatever the model thinks."""
    for one, shorter in zip(names, texts, strict=True):
        for other, longer in zip(names, texts, strict=True):
            if one != other and [*longer[: len(shorter)]] == [*shorter]:
                raise UsageError(
                    f"component '{name}': alternative '{one}' of '{choice}' is how '{other}' begins, so that it could "
                    "never be the less likely one; end both by something, such as a full stop"
                )
