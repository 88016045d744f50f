"""Models that draw from recorded results. Kinds of truth: theory (shares, independence), tables by hand."""

import asyncio
import math

import numpy as np
import pytest
from helpers.scripted_model import sums

from howsure.benchmarks import load
from howsure.errors import InputError, UnknownNameError
from howsure.models.model import Request, Settings
from howsure.models.replay import ReplayModel

TABLE = "question,model,score\nq1,a,0\nq1,a,0.5\nq1,a,0.5\nq1,a,1\nq2,a,1\nq1,b,1\nq2,c,0\nq1,c,1\n"


@pytest.fixture
def benchmark(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    return load({"replay": "t.csv"}, base=tmp_path)


def ask(model, generations, question="q1", *, variant="v", name="t", settings=None):
    request = Request(name, question, variant, [], tuple(generations), settings or Settings())
    return [float(choice.text) for choice in asyncio.run(model.generate(request)).choices]


def test_draws_have_the_recorded_shares(benchmark):
    """Theory: shares 1/4, 1/2, 1/4 within 4 standard errors of 20,000 draws; neighbours are independent."""
    model = ReplayModel("replay/a", benchmark)
    drawn = np.array(ask(model, range(1, 20_001)))
    for score, share in ((0, 0.25), (0.5, 0.5), (1, 0.25)):
        assert abs(np.mean(drawn == score) - share) < 4 * math.sqrt(share * (1 - share) / 20_000)
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 4 / math.sqrt(20_000)
    assert set(ask(model, range(1, 100), "q2")) == {1.0}
    assert [model.outcomes[question.id].mean for question in model.benchmark.questions] == [0.5, 1.0]


def test_a_cell_is_the_same_whenever_it_is_asked_for(benchmark):
    model = ReplayModel("a", benchmark)
    at_once = ask(model, range(1, 201))
    assert [ask(ReplayModel("a", benchmark), [g])[0] for g in range(200, 0, -1)] == at_once[::-1]
    others = [
        ask(ReplayModel("a", benchmark, seed=1), range(1, 201)),
        ask(model, range(1, 201), variant="w"),
        ask(model, range(201, 401)),
    ]
    for other in others:
        assert 0.2 < np.mean(np.array(other) == at_once) < 0.55  # 3/8 by chance
    asyncio.run(model.close())


def test_what_is_not_recorded_is_refused(benchmark):
    with pytest.raises(UnknownNameError, match="t: unknown model 'replay/aa'; did you mean 'replay/a'"):
        ReplayModel("aa", benchmark)
    with pytest.raises(InputError, match=r"replay/b: no recorded score of 1 of 2 questions, the first 'q2'; use only"):
        ReplayModel("b", benchmark)
    with pytest.raises(InputError, match="replay/a: the benchmark has no recorded results; name a table"):
        ReplayModel("a", sums(2))
    model = ReplayModel("a", benchmark)
    with pytest.raises(UnknownNameError, match="t: unknown question 'q7'"):
        ask(model, [1], "q7")
    with pytest.raises(UnknownNameError, match="unknown benchmark 'other'"):
        ask(model, [1], name="other")
    with pytest.raises(InputError, match="replay/a: a recorded model takes no settings; leave temperature"):
        ask(model, [1], settings=Settings(temperature=0.0))
