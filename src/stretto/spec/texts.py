"""The kinds of text in a workflow file: names, paths, references and expressions."""

import re
from typing import Final

from stretto.spec.codes import SpecCode
from stretto.spec.shapes import Rule, Text

IDENTIFIER: Final = r"[A-Za-z_][A-Za-z0-9_]*"

MAX_NAME_CHARS: Final = 64
"""Names are parts of run ids, step paths and metric labels, all of which are bounded."""

GIVEN_ROOTS: Final = ("input", "memory", "resources", "run", "steps", "round", "index")
"""Roots of the context that Stretto writes itself."""

CEL_KEYWORDS: Final = ("true", "false", "null", "in")
"""Words of CEL's own grammar, which can name nothing, not even a field (cel-spec langdef, section "Syntax")."""

CEL_RESERVED: Final = (
    *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package"),
    *("namespace", "return", "var", "void", "while"),
)
"""Words that CEL keeps from being names, for languages that embed it. They may still be fields: ``input.if``."""


def _as_identifier(text: str) -> str:
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:MAX_NAME_CHARS]
    return f"_{name}" if name[:1].isdigit() else name


def _as_path(text: str) -> str:
    return ".".join(_as_identifier(part) for part in re.sub(r"\[.*?\]", "", text).split(".") if part)


def _as_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.")[:MAX_NAME_CHARS]


def _as_semver(text: str) -> str:
    numbers = re.findall(r"\d+", text)[:3]
    return ".".join([*(str(int(number)) for number in numbers), *["0"] * (3 - len(numbers))]) if numbers else ""


_IS_IDENTIFIER: Final = Rule(
    pattern=f"^{IDENTIFIER}$",
    message="cannot be read in an expression",
    expected="letters, digits and _, not beginning with a digit",
    mend=_as_identifier,
)
_IS_SHORT: Final = Rule(
    pattern=f"^.{{1,{MAX_NAME_CHARS}}}$", message="is too long", expected=f"at most {MAX_NAME_CHARS} characters"
)


def _not_one_of(words: tuple[str, ...], message: str, expected: str) -> Rule:
    return Rule(pattern=f"^(?!(?:{'|'.join(words)})$)", message=message, expected=expected)


EXPRESSION: Final = Text(expected="an expression: a path like input.query, or CEL, in quotes", is_code=True)

CONTEXT_PATH: Final = Text(expected="a path like plan.steps")

FIELD: Final = Text(expected="the name of a field")

PROSE: Final = Text(expected="text")

STEP_NAME: Final = Text(
    expected="the name of a step",
    rules=(
        _IS_IDENTIFIER,
        _IS_SHORT,
        _not_one_of(CEL_KEYWORDS, "is a word of CEL", "a name that is no word of CEL"),
    ),
)

VARIABLE: Final = Text(
    expected="a name for a variable",
    rules=(
        _IS_IDENTIFIER,
        _IS_SHORT,
        _not_one_of((*GIVEN_ROOTS, "carry"), "is given by Stretto already", "a name of your own"),
        _not_one_of((*CEL_KEYWORDS, *CEL_RESERVED), "is a word of CEL", "a name that is no word of CEL"),
    ),
)

TARGET: Final = Text(
    expected="a path in the context to write to, like plan.steps",
    rules=(
        Rule(
            pattern=rf"^(?!(?:{'|'.join(GIVEN_ROOTS)})(?:[.\[]|$))",
            message="begins with a root that is given and cannot be written",
            expected=f"a path that does not begin with {', '.join(GIVEN_ROOTS)}",
            code=SpecCode.TARGET,
        ),
        Rule(
            pattern=rf"^{IDENTIFIER}(?:\.{IDENTIFIER})*$",
            message="is no path that can be written",
            expected="names joined by dots, without indices: reply.text",
            code=SpecCode.TARGET,
            mend=_as_path,
        ),
    ),
)

REFERENCE: Final = Text(
    expected="the name of a component, with or without a version: llm-planner@2.1.0",
    rules=(
        Rule(
            pattern=r"^[^\s@]+(?:@[^\s@]+)?$",
            message="is no name of a component",
            expected="a name without spaces, with or without a version: llm-planner@2.1.0",
            mend=lambda text: re.sub(r"\s+", "-", text.strip()),
        ),
    ),
)

COMPONENT_NAME: Final = Text(
    expected="a name for a component",
    rules=(
        Rule(
            pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
            message="is no name for a component",
            expected="letters, digits, '_', '.' and '-'",
            mend=_as_name,
        ),
        _IS_SHORT,
    ),
)

WORKFLOW_NAME: Final = Text(
    expected="a name",
    rules=(
        Rule(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
            message="is no name for a workflow: it becomes a part of every run id",
            expected="letters, digits, '_', '.' and '-'",
            mend=_as_name,
        ),
        _IS_SHORT,
    ),
)

VERSION: Final = Text(
    expected="a version in quotes: major.minor.patch",
    rules=(
        Rule(
            pattern=r"^(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$",
            message="is no semantic version",
            expected="major.minor.patch",
            mend=_as_semver,
        ),
    ),
)

PYTHON_FILE: Final = Text(
    expected="the path of a Python file",
    rules=(Rule(pattern=r"\.py$", message="is no Python file", expected="a path that ends in .py"),),
)


def name_from_file(file: str) -> str:
    """A workflow's name when its file gives none: the file's own, without its ending."""
    stem = re.split(r"[\\/]", file)[-1].rsplit(".", 1)[0]
    return _as_name(stem) or "workflow"
