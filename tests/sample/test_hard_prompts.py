"""Questions of bench/hard_prompts, from which docs/prompts.md draws prompts that a person reads.

Kind of truth: what docs/prompts.md says of the files.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from howsure.cli import cli

FOLDER = Path(__file__).parents[2] / "bench/hard_prompts"


@pytest.mark.filterwarnings("ignore:some of the .* questions do not fit every value:howsure.errors.HowsureWarning")
@pytest.mark.parametrize("space", ["multiple-choice", "open", "maths"])
@pytest.mark.parametrize("end", ["", "-en"])
def test_prompts_are_drawn_from_the_questions_that_were_read(space, end):
    arguments = ["run", str(FOLDER / f"{space}{end}.yaml"), "--show-prompts", "5", "--seed", "1", "--format", "json"]
    drawn = json.loads(CliRunner().invoke(cli, arguments).stdout)
    assert len(drawn) == 5
    languages = {prompt["values"].get("language", "en") for prompt in drawn}
    assert languages == {"en"} if end else len(languages) > 1
