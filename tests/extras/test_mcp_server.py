"""The server of tools, by the client of the protocol's own library. Kind of truth: what the commands print."""

import asyncio
import json
import sys

import pytest

from howsure.errors import InputError
from howsure.extras.mcp_server import COMMANDS, run_command


@pytest.fixture
def table(tmp_path):
    lines = [f"{m},q{q},{int(q < n)}" for m, n in (("low", 8), ("high", 32)) for q in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["model,question,score", *lines]))
    return str(tmp_path / "t.csv")


async def _ask(calls):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(command=sys.executable, args=["-m", "howsure", "mcp"])
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        names = [tool.name for tool in (await session.list_tools()).tools]
        return names, [await session.call_tool(name, arguments) for name, arguments in calls]


def test_a_client_gets_the_answers_of_the_commands(table):
    pytest.importorskip("mcp")
    calls = [
        ("compare", {"paths": [table]}),
        ("score", {"paths": [table], "options": ["--format", "json"]}),
        ("score", {"paths": [f"{table}.none"]}),
        ("preview", {"paths": [table], "options": ["--output=x.yaml"]}),
        ("help", {"command": "rank"}),
        ("compare", {"paths": [table], "by": ["subject"]}),
    ]
    names, answers = asyncio.run(_ask(calls))
    assert set(names) == {*COMMANDS, "help"}
    compared, scored, missing, writing, page, unknown = (answer.content[0].text for answer in answers)
    assert compared.startswith("high is better than low")
    assert [row["score"] for row in json.loads(scored)] == [0.8, 0.2]
    assert "no such file" in missing
    assert "writes or sends" in writing
    assert [answer.is_error for answer in answers] == [False, False, True, True, False, True]
    assert "by" in unknown
    assert "--average" in page


@pytest.mark.parametrize("option", ["-ox.yaml", "-o", "--output", "--output=x", "--sets=judge:m", "--sets"])
def test_nothing_is_written_or_asked(table, option):
    with pytest.raises(InputError, match="writes or sends"):
        run_command("audit", [table], [option])
