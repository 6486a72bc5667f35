"""Collects the problems of a file, so that all are told together."""

from typing import Final, NoReturn

from stretto.spec.codes import SpecCode
from stretto.types.errors import Problem, SpecError

MAX_PROBLEMS: Final = 100
"""Told of one file; whoever has more has the wrong file, and the rest would only scroll the first away."""


class Report:
    """The problems found so far, each once."""

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}  # a dict keeps order; an aliased value is read, and wrong, several times
        self._keys: set[tuple[str, int, int]] = set()
        """Where keys stand that are no text."""

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, problem: Problem) -> None:
        """Keep a problem, unless the very same is there, or its place is a key that was told to be no text."""
        place = (problem.file, problem.line, problem.column)
        if place in self._keys:
            return
        if problem.code == SpecCode.KEY_TYPE:
            self._keys.add(place)
        self._found[problem] = None

    def into(self, other: "Report") -> None:
        """Tell another report what was kept here."""
        for problem in self._found:
            other.add(problem)

    def fail(self, problem: Problem) -> NoReturn:
        """Raise SpecError with this problem, after which nothing more can be read, and all that were kept before."""
        self.add(problem)
        raise self._error()

    def raise_if_any(self) -> None:
        """Raise SpecError with every problem kept; do nothing when there is none."""
        if self._found:
            raise self._error()

    def _error(self) -> SpecError:
        problems = sorted(self._found, key=lambda problem: (problem.file, problem.line, problem.column))
        hidden = len(problems) - MAX_PROBLEMS
        if hidden > 0:
            note = f"{hidden} more problems were found and are not listed"
            problems[MAX_PROBLEMS:] = [Problem(code=SpecCode.MORE, message=note, file=problems[0].file)]
        return SpecError(problems)
