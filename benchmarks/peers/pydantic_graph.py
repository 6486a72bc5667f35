"""pydantic-graph: a typed graph of functions, for orientation.

Durability: none; nothing is kept. The graph is built once, with its instrumentation off.
"""

from typing import Any, Final

from pydantic_graph import GraphBuilder, StepContext

from benchmarks.peers.serving import START, Case, in_memory, one_by_one, serve


async def step(context: StepContext) -> dict[str, int]:
    return {"value": context.inputs["value"] + 1}


def built() -> Any:
    graph = GraphBuilder(input_type=dict, output_type=dict, auto_instrument=False)
    a, b, c, d = (graph.step(step, node_id=name) for name in "abcd")
    positive = graph.match(dict, matches=lambda found: found["value"] > 0)
    graph.add(
        graph.edge_from(graph.start_node).to(a),
        graph.edge_from(a).to(b),
        graph.edge_from(b).to(graph.decision().branch(positive.to(c)).branch(graph.match(dict).to(d))),
        graph.edge_from(c).to(d),
        graph.edge_from(d).to(graph.end_node),
    )
    return graph.build()


GRAPH: Final = built()


async def run() -> Any:
    return await GRAPH.run(inputs={"value": START})


CASES: Final = {
    "linear4": Case(open=in_memory(one_by_one(run, lambda found: found["value"])), durability="nothing is kept")
}

if __name__ == "__main__":
    serve(CASES, ("pydantic-graph",))
