"""Stretto runs an LLM-agent workflow in production and trains it from its own runs.

The public door. Names are imported when they are first used, so ``import stretto`` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from stretto.components.causal_lm.made import causal_lm
    from stretto.components.mcp import McpServer, McpSession
    from stretto.components.memory import MemorySearch, RecencyMemory
    from stretto.components.openai import OpenAiModel
    from stretto.components.policy import SoftmaxPolicy
    from stretto.components.python import Context, component
    from stretto.components.reward import CompositeReward, reward
    from stretto.components.torch.decorator import differentiable
    from stretto.components.torch.shape import OneOf, Shape
    from stretto.engine.request import RunRequest
    from stretto.learn.explain.run import explain
    from stretto.learn.learning_policy import LearningPolicy
    from stretto.record.model import Annotation, Run, StepRecord
    from stretto.runtime.load import load
    from stretto.runtime.workflow import Workflow
    from stretto.store.sqlite import Store
    from stretto.types.budget import BudgetSpec
    from stretto.types.enums import Durability, Effect, Reason, RunStatus, StepStatus
    from stretto.types.errors import (
        Code,
        ComponentError,
        InDoubtError,
        InputError,
        ReplayError,
        SpecError,
        StoreError,
        StrettoError,
        UsageError,
    )
    from stretto.types.learning import Action, ModelCall, Reward
    from stretto.types.messages import Request, Response, Usage
    from stretto.types.signals import Cotangents, Signal

_HOMES = {
    "Action": "stretto.types.learning",
    "Annotation": "stretto.record.model",
    "BudgetSpec": "stretto.types.budget",
    "Code": "stretto.types.errors",
    "ComponentError": "stretto.types.errors",
    "CompositeReward": "stretto.components.reward",
    "Context": "stretto.components.python",
    "Cotangents": "stretto.types.signals",
    "Durability": "stretto.types.enums",
    "Effect": "stretto.types.enums",
    "InDoubtError": "stretto.types.errors",
    "InputError": "stretto.types.errors",
    "LearningPolicy": "stretto.learn.learning_policy",
    "McpServer": "stretto.components.mcp",
    "McpSession": "stretto.components.mcp",
    "MemorySearch": "stretto.components.memory",
    "ModelCall": "stretto.types.learning",
    "OneOf": "stretto.components.torch.shape",
    "OpenAiModel": "stretto.components.openai",
    "Reason": "stretto.types.enums",
    "RecencyMemory": "stretto.components.memory",
    "ReplayError": "stretto.types.errors",
    "Request": "stretto.types.messages",
    "Response": "stretto.types.messages",
    "Reward": "stretto.types.learning",
    "Run": "stretto.record.model",
    "RunRequest": "stretto.engine.request",
    "RunStatus": "stretto.types.enums",
    "Shape": "stretto.components.torch.shape",
    "Signal": "stretto.types.signals",
    "SoftmaxPolicy": "stretto.components.policy",
    "SpecError": "stretto.types.errors",
    "StepRecord": "stretto.record.model",
    "StepStatus": "stretto.types.enums",
    "Store": "stretto.store.sqlite",
    "StoreError": "stretto.types.errors",
    "StrettoError": "stretto.types.errors",
    "Usage": "stretto.types.messages",
    "UsageError": "stretto.types.errors",
    "Workflow": "stretto.runtime.workflow",
    "causal_lm": "stretto.components.causal_lm.made",
    "component": "stretto.components.python",
    "differentiable": "stretto.components.torch.decorator",
    "explain": "stretto.learn.explain.run",
    "load": "stretto.runtime.load",
    "reward": "stretto.components.reward",
}

__all__ = [
    "Action",
    "Annotation",
    "BudgetSpec",
    "Code",
    "ComponentError",
    "CompositeReward",
    "Context",
    "Cotangents",
    "Durability",
    "Effect",
    "InDoubtError",
    "InputError",
    "LearningPolicy",
    "McpServer",
    "McpSession",
    "MemorySearch",
    "ModelCall",
    "OneOf",
    "OpenAiModel",
    "Reason",
    "RecencyMemory",
    "ReplayError",
    "Request",
    "Response",
    "Reward",
    "Run",
    "RunRequest",
    "RunStatus",
    "Shape",
    "Signal",
    "SoftmaxPolicy",
    "SpecError",
    "StepRecord",
    "StepStatus",
    "Store",
    "StoreError",
    "StrettoError",
    "Usage",
    "UsageError",
    "Workflow",
    "causal_lm",
    "component",
    "differentiable",
    "explain",
    "load",
    "reward",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'stretto' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
