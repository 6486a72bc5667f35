"""The graph of a decision model: what its edges join, that it never comes back to itself and gets somewhere."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from stretto.components.rules.codes import RuleCode
from stretto.components.rules.model import Edge, Model, ModelNode, NodeKind
from stretto.spec.nodes import quote
from stretto.spec.report import Report
from stretto.spec.suggest import nearest


def check_graph(model: Model, report: Report) -> tuple[ModelNode, ...]:
    """The nodes in an order in which each comes after all that it reads; empty after reporting what is wrong."""
    wrong = [each for each in (_edge_problem(edge, model, report) for edge in model.edges) if each]
    starts, ends = model.of_kind(NodeKind.INPUT), model.of_kind(NodeKind.OUTPUT)
    if len(starts) != 1:
        message = f"the model has {len(starts) or 'no'} input node{'s' if len(starts) > 1 else ''}"
        report.add((starts[1] if starts else model).span.problem(RuleCode.PATH, message, expected="exactly one"))
    if not ends:
        report.add(model.span.problem(RuleCode.PATH, "the model has no output node", expected="one or more"))
    if wrong or len(starts) != 1 or not ends:
        return ()
    order = _in_order(model, report)
    if order:
        _check_paths(model, starts[0], ends, report)
    return order


def _edge_problem(edge: Edge, model: Model, report: Report) -> bool:
    """Whether an edge was refused."""
    for key, name in (("sourceId", edge.source), ("targetId", edge.target)):
        if name not in model.nodes:
            there = {node.id: f"{node.name} ({node.id})" for node in model.nodes.values()}
            problem = edge.span.problem(
                RuleCode.EDGE,
                f"`{key}` of an edge is {quote(name)}, and there is no node of that id",
                expected=f"one of {', '.join(there.values())}",
                suggestion=nearest(name, there) or "",
            )
            report.add(problem)
            return True
    source = model.nodes[edge.source]
    branches = [formula.key for formula in source.formulas]
    if source.kind is NodeKind.SWITCH and edge.branch not in branches:
        message = (
            f"an edge leaves the switch {quote(source.name)} by {quote(edge.branch)}, which none of its branches is"
        )
        report.add(edge.span.problem(RuleCode.EDGE, message, expected=f"`sourceHandle`: one of {', '.join(branches)}"))
        return True
    return False


def _in_order(model: Model, report: Report) -> tuple[ModelNode, ...]:
    """Kahn's algorithm; what is left over lies on a cycle, or behind one."""
    waits = {name: {edge.source for edge in model.edges if edge.target == name} for name in model.nodes}
    order: list[ModelNode] = []
    while ready := [name for name, sources in waits.items() if not sources]:
        for name in ready:
            del waits[name]
            order.append(model.nodes[name])
        for sources in waits.values():
            sources.difference_update(ready)
    if waits:
        loop = _cycle(waits)
        names = " → ".join(model.nodes[name].name for name in (*loop, loop[0]))
        message = f"these nodes come back to themselves: {names}"
        report.add(model.nodes[loop[0]].span.problem(RuleCode.CYCLE, message, expected="rules that end"))
        return ()
    return tuple(order)


def _cycle(waits: Mapping[str, set[str]]) -> list[str]:
    """One cycle among nodes each of which waits for another of them, in the order of its edges."""
    at, seen = next(iter(waits)), list[str]()
    while at not in seen:
        seen.append(at)
        at = min(waits[at])
    return seen[seen.index(at) :][::-1]


def _check_paths(model: Model, start: ModelNode, ends: Iterable[ModelNode], report: Report) -> None:
    """Each node must lie on a way from the input to an output: elsewhere it decides nothing."""
    forth, back = defaultdict(set), defaultdict(set)
    for edge in model.edges:
        forth[edge.source].add(edge.target)
        back[edge.target].add(edge.source)
    after, before = _reached([start.id], forth), _reached([end.id for end in ends], back)
    if not after & {end.id for end in ends}:
        message = "no way leads from the input to an output, so the rules answer nothing"
        report.add(start.span.problem(RuleCode.PATH, message, expected="edges that join them"))
        return
    for node in model.nodes.values():
        if node.id not in after & before:
            side = "from the input" if node.id not in after else "to an output"
            message = f"no way leads {side} {'to' if node.id not in after else 'from'} the node {quote(node.name)}"
            report.add(
                node.span.problem(RuleCode.PATH, message, expected="edges that join it", suggestion="or remove it")
            )


def _reached(starts: Iterable[str], steps: Mapping[str, set[str]]) -> set[str]:
    found, at_hand = set[str](), list(starts)
    while at_hand:
        name = at_hand.pop()
        if name not in found:
            found.add(name)
            at_hand += steps.get(name, ())
    return found
