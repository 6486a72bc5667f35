"""A plan as lines that people and programs read: each step with its place in the order."""

from collections.abc import Iterator
from typing import assert_never

import msgspec

from stretto.cli.words import count_text
from stretto.plan.model import AnyOp, Block, CallOp, Fallback, LoopOp, MapOp, Plan, SubOp, block_in
from stretto.spec.durations import render, render_s
from stretto.types.card import ANY_ACTION, Card
from stretto.types.enums import Effect
from stretto.types.protection import HedgeRule, StreakRule


class StepLine(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a plan."""

    path: str
    """With the steps that it stands in: ``talk/executor``."""
    depth: int
    order: int
    """1-based; steps of one body with the same number do not wait for each other."""
    together: bool
    """Another step of the body has the same number."""
    after: tuple[str, ...]
    """The steps that it waits for."""
    calls: str
    """Component, sub-workflow, or what kind of body it has."""
    effect: Effect | None
    """None when it depends on the action, or when the step calls nothing itself."""
    rules: tuple[str, ...]
    """Condition, bounds, resilience and estimate, in words."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def step_lines(plan: Plan) -> list[StepLine]:
    """Every step, those of bodies after the step that they stand in."""
    return list(_lines(plan.body, "", 0))


def effects_of(card: Card, most: int = 3) -> str:
    """A card's effects in words: all when there are few, counted by kind otherwise."""
    named = {action: effect for action, effect in card.effects.items() if action != ANY_ACTION}
    other = card.effects.get(ANY_ACTION)
    if not named:
        return str(other or Effect.WRITE)
    if len(named) > most:
        parts = [f"{count} {effect}" for effect in Effect if (count := list(named.values()).count(effect))]
    else:
        parts = [f"{action}: {effect}" for action, effect in named.items()]
    return ", ".join([*parts, f"others: {other}"] if other else parts)


def limits_of(plan: Plan) -> list[str]:
    """The durability and the budget in words."""
    budget = plan.budget
    limits = (("retries", budget.retries), ("tokens", budget.tokens), ("cost", budget.cost))
    words = [f"durability {plan.durability}"]
    if budget.deadline is not None:
        reserve = f" ({render(budget.reserve)} of it for fallbacks)" if budget.reserve else ""
        words.append(f"deadline {render(budget.deadline)}{reserve}")
    return [*words, *(f"{name} ≤ {value:,}" for name, value in limits if value is not None)]


def protection_of(plan: Plan, component: str) -> list[str]:
    """What protects a component, in words; the quota only where it was declared."""
    words = []
    streak = plan.streaks.get(component, StreakRule())
    if streak != StreakRule():
        words.append(
            f"not asked after {count_text(streak.after, 'failure')} in a row, for {render_s(streak.retry_after_s)}"
        )
    rules = plan.protections.get(component)
    if rules is None:
        return words
    if rules.breaker is not None:
        words.append(f"breaker at {rules.breaker.failure_rate:.0%} failures")
    if rules.bulkhead is not None:
        limit = rules.bulkhead.limit
        words.append(f"{'as many as it bears' if limit is None else f'at most {limit:,}'} at once")
    if rules.quota is not None:
        words.append(f"retries at most {rules.quota.ratio:.0%} of its calls")
    return words


def fallback_of(plan: Plan) -> str:
    """What answers in the workflow's place, and when, in words; empty when nothing does."""
    business = plan.business
    if business is None:
        return ""
    streak = business.streak
    times = "once a run has failed" if streak.after == 1 else f"after {streak.after:,} failures in a row"
    words = [
        f"{business.op.component_name} answers for a run that fails",
        f"{times} without trying, for {render_s(streak.retry_after_s)}",
    ]
    if business.exercise is not None:
        days = render_s(business.exercise.every_s)
        words.append(f"exercised every {days} by {100 * business.exercise.share:.3g} % of the runs")
    if business.expectations:
        words.append(f"expected of it: {', '.join(each.name for each in business.expectations)}")
    return "; ".join(words)


def _lines(block: Block, prefix: str, depth: int) -> Iterator[StepLine]:
    orders, before = _orders(block)
    for index, op in enumerate(block.ops):
        path = prefix + op.name
        yield StepLine(
            path=path,
            depth=depth,
            order=orders[index],
            together=orders.count(orders[index]) > 1,
            after=tuple(block.ops[each].name for each in before[index]),
            calls=_calls(op),
            effect=_effect(op),
            rules=tuple(_rules(op)),
        )
        body = block_in(op)
        if body is not None and body.ops[0].name:  # a map over one component has a body without a name of its own
            yield from _lines(body, f"{path}/", depth + 1)


def _orders(block: Block) -> tuple[list[int], list[list[int]]]:
    """For each step, its number in the order and which steps it waits for."""
    count = len(block.ops)
    before: list[list[int]] = [[] for _ in range(count)]
    if block.linear:
        before = [[index - 1] if index else [] for index in range(count)]
    else:
        for index, children in enumerate(block.children):
            for child in children:
                before[child].append(index)
    orders: list[int] = []
    for waits in before:
        orders.append(1 + max((orders[each] for each in waits), default=0))
    return orders, before


def _calls(op: AnyOp) -> str:
    if isinstance(op, CallOp):
        return op.component_name
    if isinstance(op, SubOp):
        return f"workflow {op.plan.name} {op.plan.version}"
    if isinstance(op, MapOp):
        each = op.sole_call
        return f"{each.component_name + ' ' if each else ''}for each of {op.over_source}"
    if isinstance(op, LoopOp):
        until = f" until {op.until_source}" if op.until_source else ""
        return f"repeat{until}, at most {op.max_rounds} rounds"
    assert_never(op)


def _effect(op: AnyOp) -> Effect | None:
    call = op.sole_call if isinstance(op, MapOp) else op
    return call.effect if isinstance(call, CallOp) and not call.action_field else None


def _rules(op: AnyOp) -> Iterator[str]:
    if op.guard_source:
        yield f"if {op.guard_source}"
    if isinstance(op, MapOp):
        yield f"{op.max_parallel} at a time" if op.max_parallel > 1 else "one at a time"
        if op.null_on_error:
            yield "a failed item is null"
    if op.share is not None:
        yield f"at most {op.share:.0%} of the budget"
    call = op.sole_call if isinstance(op, MapOp) else op
    if isinstance(call, CallOp):
        yield from _call_rules(call)


def _call_rules(op: CallOp) -> Iterator[str]:
    if op.timeout_s is not None:
        yield f"timeout {render_s(op.timeout_s)}"
    if op.hedge is not None:
        yield _hedge(op.hedge)
    if op.retry.max_attempts > 1:
        yield f"{op.retry.max_attempts} attempts"
    if op.estimate_tokens:
        yield f"about {op.estimate_tokens:,} tokens"
    if op.estimate_cost:
        yield f"about {op.estimate_cost:g} in cost"
    if op.fallback is not None:
        yield f"else {_stand_in(op.fallback)}"


def _hedge(rule: HedgeRule) -> str:
    after = "once slower than usual" if rule.after_s is None else f"after {render_s(rule.after_s)}"
    return f"hedged {after}" + (f" by up to {rule.copies} copies" if rule.copies > 1 else "")


def _stand_in(fallback: Fallback) -> str:
    if fallback.op is not None:
        return fallback.op.component_name
    if fallback.source:
        return fallback.source
    return "left out" if fallback.output == b"null" else "a fixed output"
