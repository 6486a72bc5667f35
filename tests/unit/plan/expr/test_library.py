"""The adapter to the Rust library: reading and writing CEL changes nothing of its meaning, and nothing escapes it."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from stretto.plan.expr import ExprProblems, compile_expression
from stretto.plan.expr.check import Checked, check
from stretto.plan.expr.emit import emit
from stretto.plan.expr.library import FAILURES, _library, compile_program, to_json
from stretto.plan.expr.parse import parse
from stretto.plan.expr.semantics import NoValue
from stretto.plan.expr.syntax import Binary
from stretto.plan.valuetype import FLOAT
from stretto.types.errors import ExpressionError
from tests.unit.plan.expr.scopes import SchemaScope

NOTHING = SchemaScope({})

ROOT = Path(__file__).parents[4]
"""Where the tests are packages, for the processes that these tests start."""

numbers = st.sampled_from(["0", "1", "2", "-3", "7", "0x10", "1.5", "-0.5", "2e3", "9223372036854775807", "3u"])
texts = st.sampled_from(
    ["''", "'a'", '"b\\n"', "r'\\d'", "'é😀'", "'\\u00e9\\x41\\101'", "'''c'd'''", "b'\\xff'", "'12'"]
)
constants = numbers | texts | st.sampled_from(["true", "false", "null", "[1, 2]", "['a', 'b']", "{'a': 1}", "[]"])


def _wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||", "in"])
    functions = st.sampled_from(["int", "double", "string", "uint", "bytes", "dyn", "timestamp", "duration"])
    return st.one_of(
        st.builds("{} {} {}".format, inner, operators, inner),  # the library's own precedence, without parentheses
        st.builds("({}) {} ({})".format, inner, operators, inner),
        st.builds("-({})".format, inner),
        st.builds("!({})".format, inner),
        st.builds("({}) ? {} : {}".format, inner, inner, inner),
        st.builds("{}({})".format, functions, inner),
        st.builds("[{}, {}].map(x, x + {})".format, inner, inner, inner),
        st.builds("[{}].filter(x, x == {})".format, inner, inner),
        st.builds("({}).contains({})".format, inner, inner),
    )


expressions = st.recursive(constants, _wider, max_leaves=6)


def _outcome(evaluate: Callable[[], Any]) -> Any:
    try:
        return evaluate()
    except (*FAILURES, NoValue):
        return NoValue


@settings(
    max_examples=500,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],  # most of what is built is ill-typed
)
@given(source=expressions)
def test_what_is_read_and_written_again_means_what_it_meant(source: str) -> None:
    try:
        checked = check(parse(source), source, NOTHING)
    except ExprProblems:
        assume(False)
    assume(not checked.problems)
    ours = _outcome(lambda: compile_program(checked)([]))
    theirs = _outcome(lambda: to_json(_library().compile(source).execute({})))
    assume(ours is not NoValue or "0 - b" not in emit(checked).text)  # of a boolean, the library takes minus
    assert _says_more(checked, theirs) or _is_same(checked, ours, theirs), emit(checked).text


def _says_more(checked: Checked, theirs: Any) -> bool:
    """Where the library has no value and Stretto may: integers beside doubles, string() of a boolean."""
    return theirs is NoValue and (_is_mixed(checked) or "type(" in emit(checked).text)


def _is_same(checked: Checked, ours: Any, theirs: Any) -> bool:
    """Beside a double, an integer is one to Stretto; the library looks at the values that it happens to meet."""
    return repr(ours) == repr(theirs) or (_is_mixed(checked) and type(ours) is float and ours == theirs)


def _is_mixed(checked: Checked) -> bool:
    return any(isinstance(node, Binary) and found == FLOAT for node, found in checked.types.items())


@settings(max_examples=500, deadline=None)
@given(source=expressions)
def test_an_expression_gives_json_or_says_why_not(source: str) -> None:
    try:
        expression = compile_expression(source, NOTHING)
    except ExprProblems:
        return
    try:
        value = expression.evaluate([])
    except ExpressionError as error:
        value = str(error)
    assert isinstance(value, dict | list | str | int | float | None)
    assert "Check function" not in str(value)
    assert "Undefined" not in str(value)


def test_evaluators_are_shared_by_threads() -> None:
    scope = SchemaScope({"n": {"type": "integer"}})
    evaluate = compile_expression("n * 2 + 1", scope).evaluate
    results: list[list[Any]] = [[] for _ in range(4)]

    def work(of: list[Any]) -> None:
        of.extend(evaluate([n]) for n in range(500))

    threads = [threading.Thread(target=work, args=(of,)) for of in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(of == [n * 2 + 1 for n in range(500)] for of in results)


@pytest.mark.parametrize(
    "shape", ["({})", "[{}]", "{{'a': {}}}", "size([{}])", "!({})", "true ? {} : 0", "[1].all(x, {})"]
)
def test_the_deepest_expression_fits_a_small_stack(shape: str) -> None:
    """In a process of its own: an overflow in the library would end it."""
    source = "true"
    while True:
        wider = shape.format(source)
        try:
            parse(wider)
        except ExprProblems:
            break
        source = wider
    program = (
        "import sys, threading\n"
        "from stretto.plan.expr.check import check\n"
        "from stretto.plan.expr.library import compile_program\n"
        "from stretto.plan.expr.parse import parse\n"
        "from stretto.plan.expr.semantics import NoValue\n"
        "from tests.unit.plan.expr.scopes import SchemaScope\n"
        "def work():\n"
        f"    source = {source!r}\n"
        "    try:\n"
        "        compile_program(check(parse(source), source, SchemaScope({})))([])\n"
        "    except NoValue:\n"
        "        pass\n"
        "    print('fits')\n"
        "threading.stack_size(512 * 1024)\n"
        "thread = threading.Thread(target=work)\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert ended.stdout.strip() == "fits", ended.stderr


def test_only_an_expression_that_needs_it_loads_the_library() -> None:
    program = (
        "import sys\n"
        "from stretto.plan.expr import compile_expression\n"
        "from tests.unit.plan.expr.scopes import SchemaScope\n"
        "scope = SchemaScope({'n': {'type': 'integer'}})\n"
        "compile_expression('n > 1 && n in [2, 3]', scope)\n"
        "print('cel.cel' in sys.modules)\n"
        "compile_expression('string(n)', scope)\n"
        "print('cel.cel' in sys.modules, 'cel' in sys.modules)\n"
        "import cel\n"
        "print(cel.evaluate('1 + 1'))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert ended.stdout.split("\n")[:3] == ["False", "True False", "2"]
