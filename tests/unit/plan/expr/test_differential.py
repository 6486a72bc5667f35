"""The Python closures against the Rust library: on every expression both can evaluate, they agree."""

from typing import Any

from hypothesis import assume, given, settings, strategies as st

from stretto.plan.expr.check import Checked, check
from stretto.plan.expr.closures import compile_closure
from stretto.plan.expr.library import compile_program
from stretto.plan.expr.parse import parse
from stretto.plan.expr.problem import ExprCode, ExprProblems
from stretto.plan.expr.semantics import NoValue
from tests.unit.plan.expr.scopes import SchemaScope

EDGES = [2**53, 2**53 + 1, 2.0**53, 2**63 - 1, -(2**63), 2.0**63, 0, -0.0, 1, 1.0, 1.5]
NO_VALUE = object()

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from(EDGES),
    st.sampled_from(["", "a", "b", "ab", "é", "😀"]),
)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abx"), inner, max_size=3)
)

DYN_SCOPE = SchemaScope({"a": {}, "b": {}, "c": {}})
TYPED_SCHEMAS = {
    "a": {"type": ["number", "null"]},
    "b": {"type": ["integer", "null"]},
    "c": {
        "type": "array",
        "items": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "string"}}},
    },
}
TYPED_SCOPE = SchemaScope(TYPED_SCHEMAS)
typed_frames = st.tuples(
    st.one_of(st.none(), st.integers(-3, 3), st.sampled_from(EDGES)),
    st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([2**53 + 1, 2.0])),
    st.lists(
        st.fixed_dictionaries({}, optional={"x": st.sampled_from(EDGES), "y": st.sampled_from(["a", "b"])}), max_size=3
    ),
)

literals = st.sampled_from(
    [
        "null",
        "true",
        "false",
        "0",
        "1",
        "-1",
        "1.0",
        "1.5",
        "9007199254740993",
        "9007199254740992.0",
        "''",
        "'a'",
        "'ab'",
        "'é'",
    ]
)
paths = st.sampled_from(["a", "b", "c", "a.x", "a[0]", "a['b']", "b.a.x", "b[1].a", "c[0][0]", "c.a[0]"])


def _wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "&&", "||", "+", "-", "*", "/", "%"])
    variable = st.sampled_from(["v", "w"])
    item = st.sampled_from(
        ["{0}", "{0}.x", "{0}[0]", "{0} == 1", "{0}.a < 2", "{0} != a", "has({0}.a)", "{0} == 'a'", "{0} + 1 > 2"]
    )
    macro = st.sampled_from(["all", "exists", "exists_one", "filter", "map"])
    return st.one_of(
        st.builds("({} {} {})".format, inner, binary, inner),
        st.builds("!({})".format, inner),
        st.builds("-({})".format, inner),
        st.builds("(({}) ? ({}) : ({}))".format, inner, inner, inner),
        st.builds("size({})".format, inner),
        st.builds("({}).{}({})".format, inner, st.sampled_from(["contains", "startsWith", "endsWith"]), inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("{{'a': {}, 'b': {}}}".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from([".a", "[0]", ".b.x", "[1][0]"])),
        st.builds("({})[{}]".format, inner, inner),
        st.builds("has(({}).a)".format, inner),
        st.builds(lambda t, m, v, i: f"({t}).{m}({v}, {i.format(v)})", inner, macro, variable, item),
        st.builds(lambda t, m, v, i: f"({t}).{m}({v}, {i} == {v})", inner, macro, variable, inner),
        st.builds(lambda t, v, w: f"c.map({v}, ({t}).exists({w}, {w} == {v}))", inner, variable, variable),
    )


dyn_expressions = st.recursive(literals | paths, _wider, max_leaves=5)
typed_expressions = st.recursive(
    literals | st.sampled_from(["a", "b", "c", "c[0]", "c[0].x", "c[1].y", "c.filter(v, v.x > a)"]),
    lambda inner: _wider(inner) | st.sampled_from(["c.map(v, v.x)", "c.exists(v, v.x == a)", "c.all(v, v.y != 'a')"]),
    max_leaves=5,
)


def _checked(source: str, scope: SchemaScope) -> Checked:
    try:
        checked = check(parse(source), source, scope)
    except ExprProblems:  # nested too deep
        assume(False)
    # What can never work is still evaluated here, as long as there is something to read: both must refuse it alike.
    assume(all(problem.code in (ExprCode.TYPE, ExprCode.NEVER) for problem in checked.problems))
    assume(not any("has nothing at" in one.message or "counts from" in one.message for one in checked.problems))
    return checked


def _outcome(run: Any, frame: list[Any]) -> Any:
    try:
        return run(frame)
    except NoValue:
        return NO_VALUE


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON to a reader of doubles: 2 and 2.0 are one number, true is none."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return float(one) == float(other)
    return one is other or (isinstance(one, str) and one == other)


def _agree(source: str, scope: SchemaScope, frame: list[Any]) -> None:
    checked = _checked(source, scope)
    closure = compile_closure(checked)
    assert closure is not None
    ours, theirs = _outcome(closure, frame), _outcome(compile_program(checked), frame)
    assert _known_difference(source, frame, theirs) or _same(ours, theirs), f"{ours!r} is not {theirs!r}"


def _known_difference(source: str, frame: list[Any], theirs: Any) -> bool:
    """The library lets an error at one item decide `all` and `exists`, and goes over an object's keys in any order."""
    if theirs is NO_VALUE and (".all(" in source or ".exists(" in source):
        return True
    return (".map(" in source or ".filter(" in source) and "{" in source + str(frame)


@settings(max_examples=400, deadline=None)
@given(source=dyn_expressions, frame=st.tuples(json_values, json_values, json_values))
def test_closures_agree_with_the_library_on_values_of_any_type(source: str, frame: tuple[Any, ...]) -> None:
    _agree(source, DYN_SCOPE, list(frame))


@settings(max_examples=300, deadline=None)
@given(source=typed_expressions, frame=typed_frames)
def test_closures_agree_with_the_library_on_typed_values(source: str, frame: tuple[Any, ...]) -> None:
    _agree(source, TYPED_SCOPE, list(frame))
