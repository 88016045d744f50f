"""Which stop strings are sent with a prompt: expectations written by hand."""

from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.models.model import Settings
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
