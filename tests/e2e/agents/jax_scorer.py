"""A component in JAX that speaks the protocol by itself, HTTP alone: it scores a state, and pulls gradients back.

Needs jax and nothing of Stretto. Prints its port.
"""

import base64
import json
import math
import struct
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

CARD = {
    "name": "scorer", "version": "1.0.0", "kind": "jax", "digest": "jax-scorer-1", "verbs": ["execute", "vjp"],
    "effects": {"*": "pure"},
    "input": {"type": "object", "required": ["state", "factor"], "properties": {
        "state": {"type": "array", "items": {"type": "number"}, "minItems": 6, "maxItems": 6},
        "factor": {"type": "number", "default": 1.5},
    }},
    "output": {"type": "object", "properties": {
        "score": {"type": "number"}, "told": {"type": "array", "items": {"type": "number"}},
    }},
    "tensors": {
        "inputs": [{"name": "state", "shape": [6]}],
        "outputs": [{"name": "score"}, {"name": "told", "shape": [4]}],
    },
}  # fmt: skip

WEIGHTS = jnp.array([[math.sin(row + 2 * column) for column in range(4)] for row in range(6)], jnp.float32)


def forward(state: Any, factor: float) -> dict[str, Any]:
    hidden = jax.nn.relu(state @ WEIGHTS) * factor
    return {"score": jnp.tanh(hidden).sum(), "told": jax.nn.softmax(hidden)}


def read(text: str) -> dict[str, Any]:
    """Tensors of a safetensors file."""
    content = base64.b64decode(text)
    (length,) = struct.unpack("<Q", content[:8])
    header, numbers = json.loads(content[8 : 8 + length]), content[8 + length :]
    return {
        name: np.frombuffer(numbers[slice(*told["data_offsets"])], "<f4").reshape(told["shape"])
        for name, told in header.items()
    }


def written(name: str, array: Any) -> str:
    numbers = np.asarray(array, "<f4").tobytes()
    told = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [0, len(numbers)]}
    header = json.dumps({name: told}).encode()
    header += b" " * (-len(header) % 8)
    return base64.b64encode(struct.pack("<Q", len(header)) + header + numbers).decode()


def pulled(message: dict[str, Any]) -> str:
    factor = message["input"]["factor"]
    answer, pull = jax.vjp(lambda state: forward(state, factor), jnp.asarray(read(message["inputs"])["state"]))
    given = read(message["cotangents"])
    (gradient,) = pull({name: jnp.asarray(given.get(name, jnp.zeros_like(each))) for name, each in answer.items()})
    return written("state", gradient)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # as http.server has it
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body: dict[str, Any]
        if self.path.endswith("/describe"):
            body = {"protocols": ["1.0"], "cards": [CARD]}
        elif self.path.endswith("/vjp"):
            body = {"gradients": pulled(message)}
        else:
            told = message["input"]
            answer = forward(jnp.asarray(told["state"], jnp.float32), told["factor"])
            body = {"output": {name: each.tolist() for name, each in answer.items()}}
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    server.serve_forever()
