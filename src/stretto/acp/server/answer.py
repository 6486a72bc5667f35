"""What a component answered, in the form in which it is kept and sent: its output encoded once."""

import msgspec
import orjson

from stretto.acp import messages as m
from stretto.acp.reported import NOTHING, Reported
from stretto.types.json import JsonObject


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to plan, execute or observe."""

    result: m.Result
    output: bytes
    """JSON text of an object."""
    execute_action: m.ExecuteAction | None = None
    gradient_handle: str = ""
    reported: Reported = NOTHING
    """For learning."""

    @property
    def size(self) -> int:
        """Bytes, about."""
        return len(self.output) + self.reported.size

    def again(self) -> "Answer":
        """The same, marked as the stored answer of an earlier call; nothing was waited for, or worked on, now."""
        result = msgspec.structs.replace(self.result, replayed=True, queue_ms=0.0, service_ms=0.0)
        return msgspec.structs.replace(self, result=result)

    def response(self, *, as_text: bool) -> m.CallResponse:
        """As a message, its output an object or JSON text."""
        output: JsonObject = {} if as_text else orjson.loads(self.output)
        reported = self.reported
        return m.CallResponse(
            result=self.result,
            output=output,
            output_json=self.output.decode() if as_text else "",
            execute_action=self.execute_action,
            gradient_handle=self.gradient_handle,
            actions=reported.actions,
            model_calls=reported.model_calls,
            blobs=reported.blobs,
        )

    def json(self) -> bytes:
        """The response message in its JSON form, the output put in as it is."""
        more = b""
        if self.execute_action is not None:
            more += b',"executeAction":' + _encode(self.execute_action)
        if self.gradient_handle:
            more += b',"gradientHandle":' + _encode(self.gradient_handle)
        if self.reported is not NOTHING:
            more += self._reported_json()
        return b'{"result":%b,"output":%b%b}' % (_encode(self.result), self.output, more)

    def _reported_json(self) -> bytes:
        reported = self.reported
        fields = ((b"actions", reported.actions), (b"modelCalls", reported.model_calls), (b"blobs", reported.blobs))
        return b"".join(b',"%b":%b' % (name, _encode(told)) for name, told in fields if told)


_encode = msgspec.json.Encoder().encode
