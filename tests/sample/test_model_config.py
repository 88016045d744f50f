"""The models of an experiment and their clients. Kind of truth: written by hand from the APIs of the vendors."""

from __future__ import annotations

import msgspec
import pytest

from howsure.errors import InputError
from howsure.sample.experiment import ModelConfig, parse_experiment
from howsure.sample.model_config import open_model


def test_lists_of_settings_are_models_with_labels():
    text = "{benchmark: b, greedy: true, models: [{model: simulated/small, label: s, temperature: [0.5, 1], top_p: [0.9, 1], choices: 4}]}"
    models = parse_experiment(text).models
    assert [m.label for m in models] == [
        "s:temperature=0.5,top_p=0.9",
        "s:temperature=0.5,top_p=1",
        "s:temperature=1,top_p=0.9",
        "s:temperature=1,top_p=1",
        "s:greedy",
    ]
    assert [(m.settings.temperature, m.settings.top_p) for m in models] == [
        (0.5, 0.9),
        (0.5, 1),
        (1, 0.9),
        (1, 1),
        (0, None),
    ]
    assert {m.choices for m in models} == {4}


def test_a_completion_is_bounded_by_what_endpoints_of_reasoning_models_call_it():
    text = "{benchmark: b, models: [{model: m, base_url: 'http://h', extra: {max_completion_tokens: 77}}], budget: {tokens: 99}}"
    assert parse_experiment(text).models[0].max_completion_tokens == 77


def test_a_seed_at_temperature_0_repeats_requests_of_one_generation():
    text = (
        "{benchmark: b, generations: 30, models: [{model: m, base_url: 'http://h', choices: 8, temperature: 0, "
        "extra: {seed: 123}}]}"
    )
    [model] = parse_experiment(text).models
    assert (model.choices, model.generations, model.settings.extra) == (1, 30, {"seed": 123})


@pytest.mark.parametrize("temperature", ["0.7", "[0, 0.7]"])
def test_a_seed_at_other_temperatures_makes_copies(temperature):
    text = f"{{benchmark: b, generations: 2, models: [{{model: m, base_url: 'http://h', temperature: {temperature}, extra: {{seed: 1}}}}]}}"
    with pytest.raises(InputError, match="temperature: 0, to see whether the endpoint is deterministic"):
        parse_experiment(text)


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("temperature: hot", "temperature: 'hot' is not allowed; give a number"),
        ("temperature: -1", "temperature: -1 is not allowed; give a number >= 0"),
        ("temperature: .nan", "temperature: nan is not allowed; give a number"),
        ("temperature: .inf", "temperature: inf is not allowed; give a number <= 100"),
        ("top_p: 0", "top_p: 0 is not allowed; give a number > 0"),
        ("max_tokens: 0", "max_tokens: 0 is not allowed; give a whole number >= 1"),
        ("stop: {a: 1}", "stop: {'a': 1} is not allowed; give text or a list"),
        ("max_concurrent: 0", "max_concurrent: 0 is not allowed"),
        ("extra: {n: 4}", "extra.n: extra cannot set 'n'; the sampler sets it"),
        ("extra: {seed: 4}", "extra.seed: extra sets 'seed' with several generations; remove it"),
        ("extra: {generationConfig: {seed: 4}}", "extra.generationConfig.seed: extra sets 'seed' with several"),
        ("extra: {generationConfig: {topP: 0.5}}", "extra.generationConfig.topP: extra cannot set 'topP'"),
        (
            "api_key: sk-planted-1",
            "api_key: unknown key 'api_key'; put the value into an environment variable, and name",
        ),
        ("dialect: claude", "dialect: unknown dialect 'claude'"),
        ("extra: {api_key: sk-1}", "extra.api_key: extra contains 'api_key'; put a key into an environment variable"),
        ("base_url: localhost:8000", "base_url: 'localhost:8000' is not the address of an endpoint; write it as"),
        ("base_url: 'http://a:b'", "base_url: 'http://a:b' is not the address of an endpoint"),
        ("base_url: 'ftp://host'", "base_url: 'ftp://host' is not the address"),
        ("base_url: 'http://me:sk-secret@host/v1'", "base_url: base_url contains a user, a query or a fragment; put"),
        ("base_url: 'me:sk-secret@host'", "base_url: 'host' is not the address of an endpoint"),
        ("base_url: 'http://host/sk-planted-0123456789/v1'", "base_url: base_url contains a key in its path; put"),
        ("base_url: 'http://host/v1;key=sk-secret'", "base_url: base_url contains a key in its path; put"),
        ("extra: {headers: {x-api-key: sk-1}}", "extra.headers.x-api-key: extra contains 'x-api-key'; put a key"),
        (
            "extra: {tools: [{authorization: sk-1}]}",
            "extra.tools[0].authorization: extra contains 'authorization'; put",
        ),
        ("extra: {user: Bearer sk-0123456789abc}", "extra.user: extra contains 'user'; put a key"),
        ("key_env: sk-planted-0123456789", "key_env: key_env is not the name of an environment variable; write"),
        ("temperature: sk-planted-0123456789", "temperature: '***' is not allowed; give a number"),
        ("base_url: 'http://host/v1?key=sk-secret'", "base_url: base_url contains a user, a query or a fragment; put"),
    ],
)
def test_what_is_wrong_with_a_model(field, told):
    url = "" if "base_url" in field else ", base_url: 'http://h/v1'"
    with pytest.raises(InputError) as error:
        parse_experiment(f"benchmark: b\nmodels:\n  - simulated/m\n  - {{model: m, {field}{url}}}\n", where="e.yaml")
    assert f"e.yaml:4: models[1].{told}" in str(error.value)
    assert "sk-" not in str(error.value)


@pytest.mark.parametrize(
    ("line", "kind", "name", "base_url", "key_env"),
    [
        ("openai/gpt-x", "endpoint", "gpt-x", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("anthropic/claude-x", "anthropic", "claude-x", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        ("google/gemini-x", "gemini", "gemini-x", "https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
        ("{model: gemini/g, key_env: K}", "gemini", "g", "https://generativelanguage.googleapis.com", "K"),
        ("bedrock/x.claude", "provider", "bedrock/x.claude", "", ""),
        # Where an address is given it is OpenAI's dialect, unless another is named.
        ("{model: anthropic/claude-x, base_url: 'http://h/v1'}", "endpoint", "anthropic/claude-x", "http://h/v1", ""),
        ("{model: anthropic/c, base_url: 'http://h', dialect: anthropic}", "anthropic", "c", "http://h", ""),
        ("{model: org/g, base_url: 'http://h', dialect: gemini}", "gemini", "org/g", "http://h", ""),
    ],
)
def test_a_name_or_a_dialect_says_how_a_model_is_asked(line, kind, name, base_url, key_env):
    (entry,) = parse_experiment(f"benchmark: b\nmodels: [{line}]\n").models
    assert (entry.kind, entry.name, entry.base_url, entry.key_env) == (kind, name, base_url, key_env)
    assert entry.is_billed


def test_what_a_dialect_needs_and_bounds_is_part_of_the_model():
    text = "benchmark: b\ngenerations: 20\nmodels:\n  - {model: anthropic/c, choices: 4}\n  - gemini/g\n  - openai/o\n"
    anthropic, gemini, openai = parse_experiment(text).models
    # The Messages API takes no request without max_tokens: so the budget has a bound, and the manifest the number.
    assert [entry.settings.max_tokens for entry in (anthropic, gemini, openai)] == [8192, None, None]
    assert [entry.max_completion_tokens for entry in (anthropic, gemini, openai)] == [8192, None, None]
    assert [entry.choices for entry in (anthropic, gemini, openai)] == [1, 8, None]


@pytest.mark.parametrize(
    ("kind", "speaks"),
    [
        ("endpoint", "Endpoint"),
        ("completions", "TextEndpoint"),
        ("anthropic", "AnthropicEndpoint"),
        ("gemini", "GeminiEndpoint"),
    ],
)
def test_each_dialect_has_its_client(kind, speaks):
    entry = ModelConfig("m", "m", kind, base_url="http://h", key_env="K")
    model = open_model(entry, None, environ={"K": "sk-1"})
    assert repr(model) == f"{speaks}('http://h', 'm')"


def test_text_completions_need_a_limit_of_tokens():
    line = "{model: m, base_url: 'http://h/v1/completions', dialect: completions%s}"
    (config,) = parse_experiment(f"benchmark: b\nmodels: [{line % ', max_tokens: 8'}]\n").models
    assert (config.kind, config.base_url, config.max_completion_tokens) == ("completions", "http://h/v1", 8)
    with pytest.raises(InputError, match=r"models\[0\]: text completions need max_tokens; set max_tokens"):
        parse_experiment(f"benchmark: b\nmodels: [{line % ''}]\n")


def test_a_constant_seed_is_fine_for_one_generation():
    text = "benchmark: b\nmodels: [{model: m, base_url: 'http://h', extra: {seed: 4}}]\ngenerations: 1\n"
    assert parse_experiment(text).models[0].settings.extra == {"seed": 4}


def entry(**keys):
    return msgspec.structs.replace(ModelConfig("m", "m", "endpoint", "http://h/v1", "MY_KEY"), **keys)


def test_the_key_comes_from_its_variable_and_is_never_shown():
    model = open_model(entry(), None, environ={"MY_KEY": " sk-planted-key\n"})
    assert model._key == "sk-planted-key"
    assert "planted" not in repr(model) + repr(entry()) + str(vars(model).keys())


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({}, "m: the environment variable MY_KEY has no key; export MY_KEY=..., or name another"),
        ({"MY_KEY": " \n"}, "m: the environment variable MY_KEY has no key"),
        ({"MY_KEY": "sk-pla\nnted"}, "m: the key in MY_KEY cannot be sent; set it again"),
        ({"MY_KEY": "sk-plañted"}, "m: the key in MY_KEY cannot be sent"),
    ],
)
def test_a_missing_or_broken_key(environ, told):
    with pytest.raises(InputError) as error:
        open_model(entry(), None, environ=environ)
    assert told in str(error.value)
    assert "sk-" not in str(error.value)


def test_no_key_is_needed_where_none_is_named():
    assert open_model(entry(key_env=""), None, environ={})._key == ""
