from typing import Any

import pytest
from mcp_types import CallToolResult, TextContent

from stretto.components.mcp.answer import output_of


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ('{"order": 7}', {"order": 7}),
        ("[1, 2]", [1, 2]),
        ("7", "7"),
        ("null", "null"),
        ("{'order': 7}", "{'order': 7}"),
        ("[NaN]", "[NaN]"),
        ('{"number": 99999999999999999999}', {"number": 99999999999999999999}),
    ],
)
def test_text_is_read_where_it_is_json_and_kept_where_it_is_not(text: str, read_as: Any) -> None:
    result = CallToolResult(content=[TextContent(type="text", text=text)])
    assert output_of(result)["result"] == read_as
