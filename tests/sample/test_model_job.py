"""Which stop strings are sent with a prompt: expectations written by hand."""

import pytest

from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.models.model import Choice, Reply, Settings
from howsure.prompts.variants import FixedPrompt
from howsure.sample.experiment import parse_experiment
from howsure.sample.model_config import ModelConfig
from howsure.sample.model_job import ModelJob, add_stops
from howsure.sample.resume import PromptTask
from howsure.scorers.numbers import extract_number

ONE = [{"role": "user", "content": "Question: 1 + 1?\nAnswer:"}]
TWO = [{"role": "user", "content": "Question: 2 + 2?\nAnswer: 4\n\nQuestion: 1 + 1?\nAnswer:"}]
MARKER = "\nQuestion:"


def test_the_marker_of_a_question_is_sent_with_prompts_that_show_solved_ones():
    assert add_stops(Settings(), TWO, (MARKER,)) == Settings(stop=(MARKER,))
    assert add_stops(Settings(stop=("END",)), TWO, (MARKER,)).stop == ("END", MARKER)
    assert add_stops(Settings(stop=(MARKER,)), TWO, (MARKER,)).stop == (MARKER,)
    assert add_stops(Settings(stop=("a", "b", "c", "d")), TWO, (MARKER,)).stop == ("a", "b", "c", "d")
    assert add_stops(Settings(), ONE, (MARKER,)) == Settings()
    assert add_stops(Settings(), TWO, ()) == Settings()


def test_a_request_has_them_unless_the_experiment_says_otherwise():
    template = "Question: 2 + 2?\nAnswer: 4\n\nQuestion: {question}\nAnswer:"
    benchmark = Benchmark("sums", [Question("q", "1 + 1?", "2")], Prompt(template=template), extract=extract_number)
    variants = [FixedPrompt(benchmark, benchmark.prompt)]

    def stop(**keys):
        config = ModelConfig(label="m", name="m", **keys)
        job = ModelJob(config, benchmark, benchmark.questions, variants, writer=None)
        return job.build_request(PromptTask(0, 0, (1,))).settings.stop

    assert stop(kind="endpoint") == (MARKER,)
    assert stop(kind="endpoint", prompt_stops=False) is None
    assert stop(kind="simulated") is None
    text = "{benchmark: population, models: [{model: m, base_url: 'http://localhost/v1', prompt_stops: false}]}"
    assert not parse_experiment(text).models[0].prompt_stops


@pytest.mark.parametrize(
    ("texts", "tokens", "finish", "expected"),
    [
        (["a" * 300, "b" * 400], lambda _: (2050, 8), "stop", ["just as many tokens as max_tokens", "300 to 400 char"]),
        (["a" * 300, "b" * 400], lambda _: (2050, 7), "stop", ["300 to 400 char"]),
        (["a" * 300, "b" * 400], lambda i: (2050 + i, 8), "length", []),
        (["a" * 300, "b" * 330], lambda _: (2050, 7), "stop", []),
    ],
)
def test_cut_replies_and_cut_prompts_are_said(texts, tokens, finish, expected):
    questions = [Question(f"q{i}", texts[i % 2], "2") for i in range(10)]
    benchmark = Benchmark("b", questions, Prompt(template="{question}"), extract=extract_number)
    config = ModelConfig("m", "m", "endpoint", settings=Settings(max_tokens=4))
    job = ModelJob(config, benchmark, questions, [FixedPrompt(benchmark, benchmark.prompt)], writer=None)
    for i in range(10):
        prompt, completion = tokens(i)
        choices = tuple(Choice(f"{i} {k}", finish) for k in range(2))
        reply = Reply(choices, prompt_tokens=prompt, completion_tokens=completion)
        task = PromptTask(i, 0, (1, 2))
        job.record_reply(task, job.build_request(task), reply)
        job.bill(None, reply)
    assert len(job.notes) == len(expected)
    assert all(part in note for part, note in zip(expected, job.notes, strict=True))
