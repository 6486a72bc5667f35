"""What a program wrote as the answer to one request."""

import msgspec

from stretto.components.exec.codecs import Decoder, UnreadableError, shown
from stretto.components.exec.exits import last_words
from stretto.components.exec.scalars import same
from stretto.types.json import JsonObject


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How the answer to a request is read."""

    decoder: Decoder
    correlate: str
    """Field whose value an answer has from its request; empty where nothing tells whose it is."""
    request: JsonObject

    def of(self, data: bytes, stderr: bytes) -> JsonObject:
        """The answer that bytes are. Raises UnreadableError for none, with what was said beside it: many that cannot do
        what they are asked say so there, and end as if they had."""
        try:
            answer = self.decoder.decode(data)
            self._check_whose(answer)
        except UnreadableError as error:
            if not stderr.strip():
                raise
            raise UnreadableError(f"{error}{last_words(stderr)}") from error
        return answer

    def _check_whose(self, answer: JsonObject) -> None:
        if not self.correlate:
            return
        found, wanted = answer.get(self.correlate), self.request.get(self.correlate)
        if not same(found, wanted):
            raise UnreadableError(
                f"the answer to another request: `{self.correlate}` is {shown(found)}; expected {shown(wanted)}"
            )
