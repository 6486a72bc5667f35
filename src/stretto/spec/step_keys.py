"""What may stand in a step: the tables, and how each becomes its model."""

from typing import Any, Final

from stretto.spec.codes import SpecCode
from stretto.spec.estimate_keys import ESTIMATE
from stretto.spec.field_sources import field_mappings
from stretto.spec.model import (
    AliasSpec,
    EstimateSpec,
    ForEachSpec,
    MergeSpec,
    OnItemError,
    RepeatSpec,
    ResilienceSpec,
    StepSpec,
)
from stretto.spec.nested import Entries, Items
from stretto.spec.records import Fields, Forward, Key, Record
from stretto.spec.resilience_keys import RESILIENCE
from stretto.spec.shapes import Choice, Number, Whole
from stretto.spec.source import Located
from stretto.spec.texts import (
    CONTEXT_PATH,
    EXPRESSION,
    FIELD,
    PROSE,
    REFERENCE,
    STEP_NAME,
    TARGET,
    VARIABLE,
)
from stretto.types.enums import Estimator
from stretto.types.json import JsonObject

STEPS: Final[Items[StepSpec]] = Items(item=Forward(lambda: STEP), what="steps")

BODY: Final = Key(
    "steps", STEPS, means="the body, done in every round", example="steps: [...]", required=True, also=("body", "do")
)
CARRY: Final = Key(
    "carry",
    field_mappings(VARIABLE, "a name, and its value before the first round"),
    means="what a round sees of the one before: a name, and its value before the first round",
    example='carry: {facts: "input.facts"}',
)
UNTIL: Final = Key(
    "until",
    EXPRESSION,
    means="asked after each round; the loop ends when it is true",
    example='until: "planner.done"',
    also=("end", "stop"),
    akin=("while",),
)
MAX_ROUNDS: Final = Key(
    "max_rounds",
    Whole(minimum=1, maximum=10_000),
    means="the hard limit, which holds whatever `until` says",
    example="max_rounds: 8",
    required=True,
    also=("max", "limit", "max_iterations", "times"),
)


def _repeat(fields: Fields) -> RepeatSpec:
    steps, carry, until, rounds = fields.get(BODY), fields.get(CARRY), fields.get(UNTIL), fields.get(MAX_ROUNDS)
    return RepeatSpec(steps=steps or (), carry=carry or (), until=until, max_rounds=rounds or 1)


REPEAT: Final = Record(
    "repeat",
    means="a loop with a hard limit",
    keys=(BODY, CARRY, UNTIL, MAX_ROUNDS),
    build=_repeat,
    is_thing=False,
)

NAME: Final = Key(
    "name",
    STEP_NAME,
    means="how other steps and the record call it",
    example='name: "planner"',
    required=True,
    also=("id", "key", "step"),
)
COMPONENT: Final = Key(
    "component",
    REFERENCE,
    means="the component that is called",
    example='component: "llm-planner"',
    also=("uses", "use", "call", "tool", "agent", "model", "run", "kind", "type"),
)
CONDITION: Final = Key(
    "condition",
    EXPRESSION,
    means="the step is skipped when it is false",
    example="condition: \"plan.steps[0].type == 'api_call'\"",
    also=("if", "when", "guard", "only_if"),
)
INPUT_MAPPING: Final = Key(
    "input_mapping",
    field_mappings(FIELD, "a field of the input, and where its value comes from", minimum=0),
    means="the fields that the component sees, and where each comes from",
    example='input_mapping: {user_query: "input.query"}',
    also=("input", "inputs", "with", "args", "arguments", "params", "in"),
)
OUTPUT_MAPPING: Final = Key(
    "output_mapping",
    Entries(key=FIELD, value=TARGET, build=AliasSpec, what="a field of the output, and the context path it gets"),
    means="short names in the context for fields of the output",
    example='output_mapping: {action_plan: "plan.steps"}',
    also=("output", "outputs", "out", "result"),
)
NEEDS: Final = Key(
    "needs",
    Items(item=STEP_NAME, what="step names"),
    means="steps that must end before this one, beyond those it reads",
    example="needs: [planner]",
    also=("depends_on", "after", "requires", "dependencies"),
)
FOR_EACH: Final = Key(
    "for_each",
    EXPRESSION,
    means="the list for each item of which the step is done",
    example='for_each: "input.orders"',
    also=("foreach", "for", "map", "each", "items"),
)
AS: Final = Key(
    "as",
    VARIABLE,
    means="name of the item in the body; `item` when absent",
    example="as: order",
    also=("item", "var"),
)
MAX_PARALLEL: Final = Key(
    "max_parallel",
    Whole(minimum=1, maximum=10_000),
    means="how many items at once",
    example="max_parallel: 4",
    also=("concurrency", "parallel", "parallelism"),
)
ON_ITEM_ERROR: Final = Key(
    "on_item_error",
    Choice(OnItemError, null=OnItemError.NULL),
    means="whether an item that fails fails the step, or gives null",
    example="on_item_error: null",
    also=("on_error",),
)
STEP_BODY: Final = Key(
    "steps",
    STEPS,
    means="the body of `for_each`, when it is more than one component",
    example="steps: [...]",
    also=("body", "do"),
)
REPEAT_KEY: Final = Key(
    "repeat",
    REPEAT,
    means=REPEAT.means,
    example='repeat: {steps: [...], until: "planner.done", max_rounds: 8}',
    also=("loop", "while", "until"),
)
WORKFLOW: Final = Key(
    "workflow",
    PROSE,
    means="another workflow, by its file or name",
    example="workflow: refund.yaml",
    also=("subworkflow", "sub_workflow", "include"),
)
MERGE: Final = Key(
    "merge",
    Entries(
        key=TARGET,
        value=Items(item=CONTEXT_PATH, what="paths of step outputs", minimum=2),
        build=MergeSpec,
        what="a context path, and the outputs it may come from",
    ),
    means="one context path with several writers: the first that is not null",
    example='merge: {reply.text: ["steps.answer.text", "steps.soothe.text"]}',
)
RESILIENCE_KEY: Final = Key("resilience", RESILIENCE, means=RESILIENCE.means, example="resilience: {timeout: 800ms}")
ESTIMATE_KEY: Final = Key("estimate", ESTIMATE, means=ESTIMATE.means, example="estimate: {tokens: 1500}")
SHARE: Final = Key(
    "share",
    Number(above=0, maximum=1),
    means="largest part of the budget left that the step may spend",
    example="share: 0.5",
)

ESTIMATOR: Final = Key(
    "estimator",
    Choice(Estimator),
    means="how a differentiable component's choice is learnt from",
    example="estimator: enumerate",
)

DOES: Final[tuple[Key[Any], ...]] = (COMPONENT, WORKFLOW, REPEAT_KEY, STEP_BODY)
"""A step has exactly one of these."""

OF_FOR_EACH: Final[tuple[Key[Any], ...]] = (STEP_BODY, AS, MAX_PARALLEL, ON_ITEM_ERROR)
"""Nothing without `for_each`."""

_STEP_RULES: Final[JsonObject] = {
    "oneOf": [{"required": [key.name]} for key in DOES],
    "dependentRequired": {key.name: [FOR_EACH.name] for key in OF_FOR_EACH},
    "dependentSchemas": {
        REPEAT_KEY.name: {"not": {"anyOf": [{"required": [FOR_EACH.name]}, {"required": [INPUT_MAPPING.name]}]}},
        STEP_BODY.name: {"not": {"required": [INPUT_MAPPING.name]}},
    },
}


def _step(fields: Fields) -> StepSpec:
    _check_what_it_does(fields)
    _check_effects(fields)
    return StepSpec(
        span=fields.node.span,
        name=fields.get(NAME) or Located("", fields.node.span),  # a missing name was reported: this is never used
        component=fields.get(COMPONENT),
        workflow=fields.get(WORKFLOW),
        repeat=fields.get(REPEAT_KEY),
        for_each=_for_each(fields) if FOR_EACH in fields else None,
        condition=fields.get(CONDITION),
        input_mapping=fields.get(INPUT_MAPPING),
        output_mapping=fields.get(OUTPUT_MAPPING) or (),
        merge=fields.get(MERGE) or (),
        needs=fields.get(NEEDS) or (),
        resilience=fields.get(RESILIENCE_KEY) or ResilienceSpec(),
        estimate=fields.get(ESTIMATE_KEY) or EstimateSpec(),
        share=fields.get(SHARE),
        estimator=fields.get(ESTIMATOR),
    )


def _for_each(fields: Fields) -> ForEachSpec | None:
    over = fields.get(FOR_EACH)
    if over is None:
        return None
    return ForEachSpec(
        over=over,
        item=fields.get(AS),
        max_parallel=fields.get(MAX_PARALLEL),
        on_item_error=fields.get(ON_ITEM_ERROR) or OnItemError.FAIL,
        steps=fields.get(STEP_BODY) or (),
    )


def _check_what_it_does(fields: Fields) -> None:
    does = [key for key in DOES if key in fields]
    if not does and not fields.meant & {key.name for key in DOES}:
        what = "maps over a list and does nothing with its items" if FOR_EACH in fields else "does nothing"
        fields.report.add(
            fields.node.span.problem(
                SpecCode.STEP_KIND,
                f"this step {what}",
                expected="`component`, `workflow`, `repeat`, or `for_each` with `steps`",
                suggestion=COMPONENT.example,
            )
        )
    for second in does[1:]:
        message = f"a step does one thing, and this one has `{does[0].name}` and `{second.name}`"
        expected = "one of `component`, `workflow`, `repeat`, or `for_each` with `steps`"
        fields.problem(second, SpecCode.STEP_KIND, message, expected=expected, suggestion="make two steps of it")
    if REPEAT_KEY in fields and FOR_EACH in fields:
        message = "a step that maps over a list cannot be a loop itself"
        suggestion = "for_each: ..., steps: [a step with the repeat]"
        fields.problem(REPEAT_KEY, SpecCode.STEP_KIND, message, expected="one of the two", suggestion=suggestion)


def _check_effects(fields: Fields) -> None:
    if FOR_EACH not in fields:
        for key in OF_FOR_EACH:
            if key in fields:
                message = f"`{key.name}` does nothing without `for_each`"
                suggestion = "for_each: ..., or repeat: {steps: ...}" if key is STEP_BODY else FOR_EACH.example
                fields.problem(key, SpecCode.NO_EFFECT, message, expected="`for_each` beside it", suggestion=suggestion)
    if INPUT_MAPPING in fields and (REPEAT_KEY in fields or STEP_BODY in fields):
        message = "`input_mapping` does nothing here, since this step calls no component itself"
        expected = "an `input_mapping` in each step of the body"
        fields.problem(INPUT_MAPPING, SpecCode.NO_EFFECT, message, expected=expected)


STEP: Final[Record[StepSpec]] = Record(
    "step",
    means="one place where a component is called, or a loop over such places",
    keys=(
        NAME,
        COMPONENT,
        CONDITION,
        INPUT_MAPPING,
        OUTPUT_MAPPING,
        NEEDS,
        FOR_EACH,
        AS,
        MAX_PARALLEL,
        ON_ITEM_ERROR,
        STEP_BODY,
        REPEAT_KEY,
        WORKFLOW,
        MERGE,
        RESILIENCE_KEY,
        ESTIMATE_KEY,
        SHARE,
        ESTIMATOR,
    ),
    build=_step,
    later={
        "tunable": "remove it, and set the figure by hand",
        "capabilities": "remove it; what a component may do, its own declaration says",
    },
    rules=_STEP_RULES,
)
