"""The server of llama.cpp with a small model, as package xllamacpp carries it: PORT KEY MODEL_FILE."""

import sys
import time
from importlib import import_module


def main(port: int, key: str, file: str) -> None:
    xllamacpp = import_module("xllamacpp")  # not among the project's packages
    params = xllamacpp.CommonParams()
    params.model.path = file
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.api_keys = [key]
    params.n_ctx = 2048
    params.n_parallel = 2
    params.cpuparams.n_threads = 2
    params.use_jinja = True
    params.offline = True
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
