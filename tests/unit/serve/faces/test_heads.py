"""What a request says beside its body."""

from stretto.serve.faces.heads import Heads, heads_in

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_the_last_of_several_counts_and_states_make_one_list() -> None:
    headers = [
        (b"idempotency-key", b"k1"),
        (b"idempotency-key", b"k\xe9"),
        (b"traceparent", PARENT.encode()),
        (b"tracestate", b"a=1"),
        (b"tracestate", b"b=2"),
        (b"host", b"x"),
    ]
    assert heads_in(headers) == Heads(key="k\u00e9", traceparent=PARENT, tracestate="a=1,b=2")
    assert heads_in(()) == Heads()
