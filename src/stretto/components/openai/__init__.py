"""Kind ``openai``: a model behind any server of the OpenAI chat completions API: vLLM, SGLang, llama.cpp, OpenAI."""

from stretto.components.openai.model import OpenAiModel
from stretto.components.openai.settings import Prices

__all__ = ["OpenAiModel", "Prices"]
