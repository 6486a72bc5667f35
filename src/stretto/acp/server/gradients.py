"""A request for a gradient, and what came of it, held to the card's tensors. Imported with its first such request."""

from stretto.acp import messages as m, tensors
from stretto.acp.names import Reason
from stretto.acp.server.refusal import refusal
from stretto.types.card import Tensors
from stretto.types.errors import Code, ContractError


def hold_request(name: str, told: Tensors, request: m.VjpRequest) -> None:
    """Raises AcpError for tensors that are none of the card's, and where there is nothing to pull back."""
    for what, content, declared in (
        ("inputs", request.inputs, told.inputs),
        ("cotangents", request.cotangents, told.outputs),
    ):
        try:
            tensors.read(content, declared)
        except ValueError as error:
            raise refusal(Code.INVALID_ARGUMENT, Reason.CONTRACT, f"`{what}` for '{name}' hold {error}") from error
    if not request.cotangents:
        raise refusal(Code.INVALID_ARGUMENT, Reason.CONTRACT, f"no `cotangents` say what '{name}' is to pull back")
    if not request.inputs and not request.gradient_handle:
        text = f"neither `inputs` nor `gradientHandle` say where '{name}' is to be differentiated"
        raise refusal(Code.INVALID_ARGUMENT, Reason.CONTRACT, text)


def hold_gradients(name: str, told: Tensors, request: m.VjpRequest, gradients: bytes) -> None:
    """Raises ContractError for gradients that are not those of the inputs that were given."""
    given = tensors.read(request.inputs, told.inputs)
    asked = [each for each in told.inputs if each.name in given or not given]
    try:
        tensors.read(gradients, asked, whole=True)
    except ValueError as error:
        raise ContractError(f"`vjp` of component '{name}' returned {error}") from error
