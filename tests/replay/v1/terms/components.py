"""Steps that use tokens, the first of them with what travelled with the run."""

import stretto
from stretto import Context


@stretto.component(version="1.0.0", effects="read")
async def ask(words: str, context: Context) -> dict[str, str]:
    context.usage(input_tokens=4, output_tokens=8)
    return {"text": f"{words}, says {context.run.baggage.get('model', 'nobody')}"}


@stretto.component(version="1.0.0", effects="pure")
async def tell(text: str, context: Context) -> dict[str, str]:
    context.usage(input_tokens=8, output_tokens=1)
    return {"text": text.upper()}
