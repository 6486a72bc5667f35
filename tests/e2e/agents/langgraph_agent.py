"""An agent in LangGraph with one tool, as its users write it: it knows its model by OPENAI_BASE_URL, and nothing else.

    python langgraph_agent.py MODEL QUESTION SEED [stream]

Prints how the conversation went as one line of JSON.
"""

import asyncio
import json
import sys

from langchain_core.messages import messages_to_dict
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

DESKS = {"parcel": "orders", "money": "refunds", "human": "person"}


@tool  # type: ignore[untyped-decorator]  # its package is in another environment
def look_up(subject: str) -> str:
    """Say which desk a subject belongs to."""
    return DESKS.get(subject, "nobody knows")


def main(model: str, question: str, seed: int, *, streaming: bool) -> None:
    llm = ChatOpenAI(model=model, seed=seed, temperature=1.0, max_completion_tokens=24, streaming=streaming)
    bound = llm.bind_tools([look_up])

    async def agent(state: MessagesState) -> dict[str, object]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode([look_up]))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    done = asyncio.run(graph.compile().ainvoke({"messages": [("user", question)]}, {"recursion_limit": 12}))
    print(json.dumps(messages_to_dict(done["messages"])))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), streaming="stream" in sys.argv[4:])
