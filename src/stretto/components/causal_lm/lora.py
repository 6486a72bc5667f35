"""Low-rank changes of a model's layers (arXiv:2106.09685, section 4.1)."""

from typing import Any

from torch import nn

from stretto.components.causal_lm.options import Lora
from stretto.types.errors import UsageError


def adapt(name: str, model: Any, lora: Lora) -> None:
    """Put the changes beside the layers that they are of. Raises UsageError for layers that the model does not have."""
    from peft import LoraConfig, inject_adapter_in_model

    config = LoraConfig(r=lora.rank, lora_alpha=lora.counts, target_modules=[*lora.targets])
    try:
        inject_adapter_in_model(config, model)
    except ValueError as error:
        there = {path.rpartition(".")[2] for path, layer in model.named_modules() if isinstance(layer, nn.Linear)}
        raise UsageError(
            f"component '{name}': `lora` names {', '.join(lora.targets)}, and its model has no such layer; it has "
            f"{', '.join(sorted(there))}"
        ) from error
    for weights in model.parameters():
        if weights.requires_grad:  # of a model in bfloat16 too: small steps would be lost in it, and no file holds it
            weights.data = weights.data.float()
