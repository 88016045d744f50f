"""A Model Context Protocol server: what the commands that only read print, for assistants that call tools.

Each tool runs one command in a process of its own, so that nothing but its answer reaches the client. Commands that
sample, write files or ask a judge are no tools.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version

from howsure.errors import InputError, require_modules

__all__ = ["COMMANDS", "run_command", "serve"]

#: Commands that read results and print; none of them writes or sends anything.
COMMANDS = (
    *("score", "compare", "rank", "variants", "repeats", "attempts", "curve", "questions"),
    *("audit", "plan", "preview", "show", "explain"),
)
#: Options of these commands with which they would write a file, or ask a model that may cost money.
_REFUSED = ("-o", "--output", "--sets")
_INSTRUCTIONS = (
    "Error bars for evaluations of language models. Read results (run folders, logs of other programs, tables) with a "
    "tool named like the command; `options` are those of the command line, which the tool help lists. Begin with "
    "preview where a file is unknown. Say the first sentence of an answer, its interval and its claim; never report a "
    "difference that the answer says cannot be told apart."
)


def run_command(command: str, paths: list[str], options: list[str]) -> str:
    """Return what a command prints: its answer and its notes.

    Parameters
    ----------
    command
        One of `COMMANDS`.
    paths
        Paths of results, or the words that `explain` explains.
    options
        Further options, as on the command line.

    Raises
    ------
    InputError
        If an option would write a file or ask a model, or with the line of the command where it fails.

    Examples
    --------
    >>> run_command("explain", ["p_holm"], ["--format", "csv"]).splitlines()[1].partition(",")[0]
    'p_holm'
    """
    for option in options:
        if option.partition("=")[0] in _REFUSED or (option.startswith("-o") and not option.startswith("--")):
            raise InputError(f"{option} writes or sends something", where=command, remedy="run it in a terminal")
    call = [sys.executable, "-m", "howsure", command, *options, "--", *paths]
    done = subprocess.run(  # noqa: S603  # this program, without a shell; options that write are refused above
        call, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        raise InputError(" ".join((done.stderr or done.stdout).split()), where=command)
    return done.stdout + done.stderr


def serve(descriptions: Mapping[str, str]) -> None:
    """Answer the requests of one client on stdin and stdout until it leaves.

    Parameters
    ----------
    descriptions
        What each of `COMMANDS` does, for the client.

    Raises
    ------
    InputError
        If the package mcp is missing (extra ``mcp``).
    """
    require_modules("howsure mcp", "mcp", "mcp")
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool

    def make_tool(command: str) -> Tool:
        def tool(paths: list[str], options: list[str] | None = None) -> str:
            try:
                return run_command(command, paths, options or [])
            except InputError as error:
                raise ToolError(str(error)) from error

        new = Tool.from_function(tool, name=command, description=descriptions[command])
        arguments = new.fn_metadata.arg_model
        arguments.model_config["extra"] = "forbid"  # an argument that is no parameter would be left out in silence
        arguments.model_rebuild(force=True)
        new.parameters = arguments.model_json_schema()
        return new

    server = MCPServer(
        "howsure", instructions=_INSTRUCTIONS, version=version("howsure"), tools=[make_tool(one) for one in COMMANDS]
    )

    @server.tool("help", description="List the options of a command of howsure.")
    def help_page(command: str) -> str:
        return run_command(command, [], ["--help"]) if command in COMMANDS else f"commands: {', '.join(COMMANDS)}"

    server.run("stdio")
