"""What a component reports for learning, as protobuf. Needs the extra ``grpc``."""

from typing import Any

from stretto.acp import messages as m
from stretto.acp.v1 import acp_pb2 as pb


def action_of(p: Any) -> m.Action:  # a pb.Action, whose stubs know less than its fields
    """The choice that a protobuf holds."""
    return m.Action(
        name=p.name,
        chosen=p.chosen,
        support=tuple(p.support),
        available=tuple(p.available),
        logprob=p.logprob,
        propensity=p.propensity,
        policy=p.policy,
        forced=p.forced,
    )


def model_call_of(p: Any) -> m.ModelCall:  # as above
    """The model call that a protobuf holds."""
    return m.ModelCall(
        model=p.model,
        prompt_ids=_array(p, "prompt_ids"),
        completion_ids=_array(p, "completion_ids"),
        logprobs=_array(p, "logprobs"),
        mask=_array(p, "mask"),
        policy_versions=tuple(m.PolicyVersion(policy=each.policy, tokens=each.tokens) for each in p.policy_versions),
        finish_reason=p.finish_reason,
        prompt_tokens=p.prompt_tokens,
        completion_tokens=p.completion_tokens,
        messages_json=p.messages_json,
        text=p.text,
    )


def _array(p: Any, field: str) -> m.Array | None:
    if not p.HasField(field):
        return None
    array = getattr(p, field)
    return m.Array(content=array.content, digest=array.digest)


def action_proto(a: m.Action) -> pb.Action:
    """A choice as protobuf."""
    return pb.Action(
        name=a.name,
        chosen=a.chosen,
        support=a.support,
        available=a.available,
        logprob=a.logprob,
        propensity=a.propensity,
        policy=a.policy,
        forced=a.forced,
    )


def model_call_proto(c: m.ModelCall) -> pb.ModelCall:
    """A model call as protobuf."""
    return pb.ModelCall(
        model=c.model,
        prompt_ids=_array_proto(c.prompt_ids),
        completion_ids=_array_proto(c.completion_ids),
        logprobs=_array_proto(c.logprobs),
        mask=_array_proto(c.mask),
        policy_versions=[pb.PolicyVersion(policy=each.policy, tokens=each.tokens) for each in c.policy_versions],
        finish_reason=c.finish_reason,
        prompt_tokens=c.prompt_tokens,
        completion_tokens=c.completion_tokens,
        messages_json=c.messages_json,
        text=c.text,
    )


def _array_proto(array: m.Array | None) -> pb.Array | None:
    return None if array is None else pb.Array(content=array.content, digest=array.digest)
