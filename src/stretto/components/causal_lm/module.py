"""A stock causal language model as a module of fields: soft prompts and texts in, choices and hidden states out.

Shape letters: B rows, S places of a soft prompt, D the width of an embedding.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from stretto.components.causal_lm.base import Base
from stretto.components.causal_lm.continuing import Read, alternatives, read, whole
from stretto.components.causal_lm.lora import adapt
from stretto.components.causal_lm.options import EMBEDDINGS, Gives, LmOptions
from stretto.components.causal_lm.prompt import Prompt
from stretto.components.causal_lm.saying import say
from stretto.components.causal_lm.sequence import laid_out
from stretto.components.causal_lm.wordings import worded
from stretto.components.python.decorator import MARK
from stretto.types.errors import ContractError, UsageError
from stretto.types.json import Json


class CausalLm(nn.Module):
    """Reads a prompt made of fields, and tells how likely it goes on by alternatives, or the state that it is in.

    The model's own weights are frozen, and shared by all copies; what learns is low-rank changes of them, and soft
    prompts. `state_dict` has what learns, and the digest of the model that it was learnt on.
    """

    def __init__(self, name: str, base: Base, options: LmOptions) -> None:
        """Raises UsageError for options that do not fit the model."""
        super().__init__()
        self.name = name
        self.options = options
        self._base = base
        self.words = base.words
        self.model: Any = base.body()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(options.seed)
            if options.lora is not None:
                adapt(name, self.model, options.lora)
            self.soft = nn.ParameterDict(
                {each: self._first(soft.tokens) for each, soft in options.soft_prompts.items() if soft.learnt}
            )
        self._learns = frozenset(each for each, weights in self.named_parameters() if weights.requires_grad)
        self._texts = worded(name, self.words, options.chooses)
        longest = max((len(text) for texts in self._texts.values() for text in texts), default=1)
        further = max(longest, options.max_tokens, 1) - 1
        self._prompt = Prompt(name, self.words, options, window=self.window, further=further)
        self.register_state_dict_post_hook(_keep_what_learns)  # type: ignore[no-untyped-call]  # torch's own
        self.register_load_state_dict_post_hook(_want_what_learns)  # type: ignore[no-untyped-call]  # as above

    # sizes

    @property
    def width(self) -> int:
        """Of an embedding, D, and so of a soft prompt's tokens."""
        return int(self.model.get_input_embeddings().weight.shape[1])

    @property
    def hidden_width(self) -> int:
        """Of the last layer's state."""
        return int(self.model.get_output_embeddings().weight.shape[1])

    @property
    def window(self) -> int | None:
        """Most tokens of a prompt and what comes after it; None where the model does not say."""
        told = getattr(self.model.config, "max_position_embeddings", None)
        return told if isinstance(told, int) and told > 0 else None

    def table_of(self, field: str) -> Tensor | None:
        """The embeddings [V, D] that a field is made of, or read as; None of other fields."""
        is_read = field in self.options.soft_prompts and not self.options.soft_prompts[field].learnt
        if not is_read and field != EMBEDDINGS:
            return None
        table: Tensor = self.model.get_input_embeddings().weight
        return table

    # calls

    def forward(self, **fields: Any) -> dict[str, Tensor]:
        """Soft prompts as [B, S, D] and texts as lists of B values; returns tensors by the names of what comes out."""
        pieces = self._prompt.rows(fields)
        softs = self._softs(fields, len(pieces))
        for row in pieces:
            self._prompt.hold(row)
        layer = self.model.get_input_embeddings()
        prompts = laid_out(pieces, softs, layer, device=layer.weight.device)
        found = read(self.model, prompts)
        out = {Gives.HIDDEN.value: found.hidden_BH} if Gives.HIDDEN in self.options.gives else {}
        for choice, texts in self._texts.items():  # past what listens to the layer: alternatives are no prompt
            out[choice] = alternatives(self._anew(found), texts, layer.forward)
        if Gives.TEXT in self.options.gives:
            said = say(self._anew(found), self.options.max_tokens, self.ends, layer)
            out |= {Gives.TEXT.value: said.ids_BN, EMBEDDINGS: whole(said.vectors_BND)}
        return out

    def _anew(self, found: Read) -> Read:
        """The same, with a cache that holds the prompts alone: what was said after them is in it from then on."""
        is_unused = found.cache.get_seq_length() == found.prompts.mask_BT.shape[1]
        return found if is_unused else read(self.model, found.prompts)

    @property
    def ends(self) -> frozenset[int]:
        """Tokens that end what the model says."""
        told = getattr(self.model.generation_config, "eos_token_id", None)
        told = self.words.tokenizer.eos_token_id if told is None else told
        return frozenset([] if told is None else [told] if isinstance(told, int) else told)

    def unfit(self, **fields: Any) -> list[int]:
        """Rows whose prompts are longer than the model reads, or empty."""
        return self._prompt.unfit(fields)

    def spell(self, ids: Sequence[int]) -> list[str]:
        """Each token as people read it."""
        return self.words.spell(ids)

    @property
    def word_layers(self) -> list[str]:
        """Names of the layer that embeds words; others embed places."""
        words = self.model.get_input_embeddings()
        return [name for name, layer in self.named_modules() if layer is words]

    def _softs(self, fields: Mapping[str, Any], rows: int) -> dict[str, Tensor]:
        softs: dict[str, Tensor] = {}
        for name, soft in self.options.soft_prompts.items():
            given = self.soft[name].expand(rows, -1, -1) if soft.learnt else fields[name]
            if not given.is_floating_point():
                raise ContractError(
                    f"component '{self.name}' is given the soft prompt '{name}' as {given.dtype}, through which no "
                    "gradient passes; expected embeddings, which are real numbers"
                )
            if given.shape[1:] != (soft.tokens, self.width):
                raise ContractError(
                    f"component '{self.name}' is given the soft prompt '{name}' of shape {[*given.shape[1:]]}, where "
                    f"its model takes {[soft.tokens, self.width]}: {soft.tokens} tokens, each as wide as an embedding"
                )
            softs[name] = given.to(self.model.get_input_embeddings().weight.dtype)
        return softs

    # making

    def _first(self, tokens: int) -> nn.Parameter:
        """Embeddings of words drawn at random: nearer to a prompt than noise is (arXiv:2104.08691, section 3.2)."""
        weight = self.model.get_input_embeddings().weight
        drawn = torch.randint(len(weight), (tokens,)).to(weight.device)
        return nn.Parameter(weight[drawn].detach().float().clone())

    def get_extra_state(self) -> Tensor:
        """The digest of the model: part of every checkpoint, and of what actions are pinned to."""
        return torch.frombuffer(bytearray(self._base.digest), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        """Raises UsageError where weights were learnt on another model."""
        learnt_on = bytes(state.tolist())
        if learnt_on != self._base.digest:
            raise UsageError(
                f"the checkpoint was learnt on the model {learnt_on.hex()[:8]}, and component '{self.name}' has "
                f"{self._base.digest.hex()[:8]}: give the model that it was learnt on, or train again"
            )

    def learnt_with(self) -> dict[str, Json]:
        """What decides what a checkpoint's numbers mean, and is in none of them."""
        lora = self.options.lora
        if lora is None:
            return {}
        layers = {each.partition(".lora_")[0] for each in self._learns if each.startswith("model.")}
        kinds = sorted({layer.rpartition(".")[2] for layer in layers})
        return {"lora.rank": lora.rank, "lora.alpha": lora.counts, "lora.targets": [*kinds]}

    def extra_repr(self) -> str:
        """What decides beside the model's layers: the component's digest covers it."""
        return self.options.described

    def __deepcopy__(self, memo: dict[int, Any]) -> "CausalLm":
        """A copy that learns on its own: what is frozen stands in both."""
        memo |= {id(each): each for each in self.parameters() if not each.requires_grad}
        memo[id(self._base)] = self._base
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__dict__ = {key: copy.deepcopy(value, memo) for key, value in vars(self).items() if key != MARK}
        return made


def _keep_what_learns(module: nn.Module, state: dict[str, Any], prefix: str, _metadata: Any) -> None:
    """Leave the frozen weights out of what is saved."""
    assert isinstance(module, CausalLm)
    own = {prefix + each for each in (*module._learns, "_extra_state")}  # noqa: SLF001  # its own hook
    for key in [key for key in state if key.startswith(prefix) and key not in own]:
        del state[key]


def _want_what_learns(module: nn.Module, keys: Any) -> None:
    """Miss nothing of the frozen weights in what is loaded."""
    assert isinstance(module, CausalLm)
    learns = module._learns  # noqa: SLF001  # its own hook
    keys.missing_keys[:] = [
        key for key in keys.missing_keys if ".model." not in f".{key}" or any(key.endswith(each) for each in learns)
    ]
