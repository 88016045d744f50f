"""Local models: a tiny random GPT-2 that is made here. Kind of truth: an independent slow version, and theory."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import types

import pytest

from howsure.errors import EndpointError, FatalEndpointError, InputError
from howsure.models import local
from howsure.models.local import LocalModel, compute_seed
from howsure.models.model import Request, Settings

HAS_TRANSFORMERS = bool(importlib.util.find_spec("transformers") and importlib.util.find_spec("torch"))
real = pytest.mark.skipif(not HAS_TRANSFORMERS, reason="the extra howsure[transformers] is not installed")
# Their own: torch and transformers warn of things to come in themselves.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
WORDS = ["<eos>", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "user", "system"]


def request(n=1, question="q1", first=1, text="one two", system=None, **settings):
    messages = ([{"role": "system", "content": system}] if system else []) + [{"role": "user", "content": text}]
    return Request("b", question, "v", messages, tuple(range(first, first + n)), Settings(**settings))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A GPT-2 of two layers with random weights, and a tokenizer of 13 words."""
    import tokenizers
    import torch
    import transformers

    path = tmp_path_factory.mktemp("model")
    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<eos>"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<eos>").save_pretrained(path)
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=len(WORDS), n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def model(folder):
    return LocalModel(str(folder), seed=3)


def ask(model, *args, **keys):
    return asyncio.run(model.generate(request(*args, **keys)))


def slowly(folder, tokens, count):
    """Greedy decoding, one token at a time from the logits."""
    import torch
    import transformers

    net = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokens = list(tokens)
    start = len(tokens)
    with torch.inference_mode():
        for _ in range(count):
            tokens.append(int(net(torch.tensor([tokens])).logits[0, -1].argmax()))
            if tokens[-1] == 0:
                break
    return tokens[start:]


@real
def test_greedy_is_the_most_likely_token_each_time(model, folder):
    reply = ask(model, temperature=0.0, max_tokens=6)
    told = slowly(folder, [1, 2], 6)
    assert reply.choices[0].text == " ".join(WORDS[t] for t in told if t)
    assert (reply.prompt_tokens, reply.completion_tokens) == (2, len(told))
    assert reply.choices[0].finish_reason == ("stop" if told[-1] == 0 else "length")
    assert reply.model == str(folder)


@real
def test_greedy_generations_are_copies(model):
    reply = ask(model, 3, temperature=0.0, max_tokens=4)
    assert len(set(reply.choices)) == 1
    assert len(reply.choices) == 3


@real
def test_samples_repeat_by_their_cell_and_differ_between_cells(model, folder):
    same = [ask(model, 3, max_tokens=8) for _ in range(2)] + [
        asyncio.run(LocalModel(str(folder), seed=3).generate(request(3, max_tokens=8)))
    ]
    assert same[0].choices == same[1].choices == same[2].choices
    others = [
        ask(model, 3, question="q2", max_tokens=8),
        ask(model, 3, first=4, max_tokens=8),
        asyncio.run(LocalModel(str(folder), seed=4).generate(request(3, max_tokens=8))),
    ]
    assert all(other.choices != same[0].choices for other in others)
    assert len(set(same[0].choices)) > 1


@real
def test_the_sampling_of_others_is_left_alone(model):
    import torch

    torch.manual_seed(11)
    wanted = torch.rand(3)
    torch.manual_seed(11)
    ask(model, 2, max_tokens=3)
    assert torch.equal(torch.rand(3), wanted)


@real
def test_samples_follow_the_model_s_law(model, folder):
    """First tokens of 2,000 generations against the softmax of the logits: chi-square with 12 df, p = 1e-6 at 51."""
    import torch
    import transformers

    net = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.inference_mode():
        law = torch.softmax(net(torch.tensor([[1, 2]])).logits[0, -1].double(), 0).numpy()
    reply = ask(model, 2000, max_tokens=1)
    counts = [sum(choice.text == (word if word != "<eos>" else "") for choice in reply.choices) for word in WORDS]
    assert sum(counts) == 2000
    assert sum((c - 2000 * p) ** 2 / (2000 * p) for c, p in zip(counts, law, strict=True)) < 51
    assert {choice.finish_reason for choice in reply.choices if choice.text} == {"length"}
    assert {choice.finish_reason for choice in reply.choices if not choice.text} == {"stop"}


@real
def test_extra_and_top_p_reach_the_sampler(model, folder):
    wanted = " ".join(WORDS[t] for t in slowly(folder, [1, 2], 4) if t)
    for settings in ({"extra": {"top_k": 1}}, {"top_p": 1e-9}, {"temperature": 1e-6}):
        assert {choice.text for choice in ask(model, 5, max_tokens=4, **settings).choices} == {wanted}


@real
def test_a_stop_string_ends_the_text_before_it(model):
    free = ask(model, 40, max_tokens=12)
    reply = ask(model, 40, max_tokens=12, stop=("three",))
    assert any("three" in choice.text for choice in free.choices)
    assert all("three" not in choice.text for choice in reply.choices)
    longer = zip(free.choices, reply.choices, strict=True)
    cut = [(a, b) for a, b in longer if "three" in a.text]
    assert all(b.text == a.text.partition("three")[0] and b.finish_reason == "stop" for a, b in cut)
    assert reply.completion_tokens < free.completion_tokens


@real
def test_a_prompt_longer_than_the_model_takes_is_refused(model):
    with pytest.raises(EndpointError, match="the prompt has 40 tokens, the model takes 32") as told:
        ask(model, text="one " * 40)
    assert told.value.reason == "bad_request"
    # Near its end the completion is cut to what fits.
    assert ask(model, text="one " * 30, temperature=0.0).completion_tokens <= 2


@real
def test_a_chat_template_is_used(folder, tmp_path):
    import shutil

    import transformers

    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    tokenizer.chat_template = "{% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}four"
    tokenizer.save_pretrained(tmp_path)
    reply = ask(LocalModel(str(tmp_path)), system="nine", temperature=0.0, max_tokens=3)
    prompt = [WORDS.index(word) for word in ["system", "nine", "user", "one", "two", "four"]]
    assert reply.prompt_tokens == len(prompt)
    assert reply.choices[0].text == " ".join(WORDS[t] for t in slowly(tmp_path, prompt, 3) if t)


@real
def test_without_a_template_messages_follow_each_other(model, folder):
    reply = ask(model, system="nine", temperature=0.0, max_tokens=3)
    assert reply.choices[0].text == " ".join(WORDS[t] for t in slowly(folder, [9, 1, 2], 3) if t)


@real
def test_what_is_not_there_stops_the_model(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(FatalEndpointError, match="cannot be loaded") as told:
        ask(LocalModel(str(tmp_path / "none")))
    assert told.value.reason == "not_found"


@real
def test_wrong_settings_are_refused_not_fatal(model):
    with pytest.raises(EndpointError, match="the model cannot answer") as told:
        ask(model, extra={"no_such_setting": 1})
    assert (told.value.reason, isinstance(told.value, FatalEndpointError)) == ("bad_request", False)


@real
def test_memory_that_runs_out_asks_for_fewer(model, monkeypatch):
    import torch

    def full(**_):
        raise torch.OutOfMemoryError("out of memory")

    ask(model, max_tokens=1)
    monkeypatch.setattr(model._loaded[0], "generate", full)
    with pytest.raises(EndpointError) as told:
        ask(model, 9)
    assert (told.value.reason, told.value.most) == ("n_rejected", 4)
    with pytest.raises(EndpointError) as told:
        ask(model, 1)
    assert told.value.reason == "too_large"


@real
def test_closing_gives_the_memory_back_and_it_can_be_asked_again(folder):
    async def go():
        model = LocalModel(str(folder))
        first, _ = await asyncio.gather(*[model.generate(request(2, max_tokens=4)) for _ in range(2)])
        await model.close()
        assert model._loaded is None
        return first, await model.generate(request(2, max_tokens=4))

    first, again = asyncio.run(go())
    assert first.choices == again.choices


def test_without_the_extra_the_remedy_is_to_install_it(monkeypatch):
    monkeypatch.setattr(local, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r'a local model needs transformers; pip install "howsure\[transformers\]"'):
        LocalModel("org/name")


def test_seeds_depend_on_everything_that_makes_a_cell():
    seeds = {
        compute_seed(0, "m", request()),
        compute_seed(1, "m", request()),
        compute_seed(0, "n", request()),
        compute_seed(0, "m", request(question="q2")),
        compute_seed(0, "m", request(first=2)),
    }
    assert len(seeds) == 5
    assert compute_seed(0, "m", request(2)) == compute_seed(0, "m", request(3))


class Rows(list):
    """What a stubbed model returns: rows that can be cut and listed."""

    def tolist(self):
        return list(self)

    def __getitem__(self, at):
        return Rows(super().__getitem__(at)) if isinstance(at, slice) else super().__getitem__(at)


class Encoded(dict):
    def to(self, _):
        return self


@pytest.fixture
def stubbed(monkeypatch):
    """The two classes as documented, without torch: the plumbing is tested where the extra is not installed."""
    asked = []

    class Model:
        device = "cpu"
        config = types.SimpleNamespace(max_position_embeddings=None, _commit_hash="abc")
        generation_config = types.SimpleNamespace(eos_token_id=None, to_diff_dict=lambda: {"top_k": 20})

        def to(self, _):
            return self

        def eval(self):
            return self

        def generate(self, **given):
            asked.append(given)
            return [Rows([1, 2, 3, 4, 0, 0])] * given.get("num_return_sequences", 1)

    class Tokenizer:
        eos_token_id, pad_token_id, chat_template = 0, None, None

        def __call__(self, _text, **_):
            return Encoded(input_ids=types.SimpleNamespace(shape=(1, 2)))

        def decode(self, tokens, **_):
            return " ".join(WORDS[t] for t in tokens)

    class Nothing:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    torch = types.ModuleType("torch")
    torch.random = types.SimpleNamespace(fork_rng=Nothing)
    torch.inference_mode = Nothing
    torch.manual_seed = lambda _: None
    torch.OutOfMemoryError = MemoryError
    torch.cuda = types.SimpleNamespace(is_available=lambda: False)
    transformers = types.ModuleType("transformers")
    quiet = types.SimpleNamespace(set_verbosity_error=lambda: None, disable_progress_bar=lambda: None)
    transformers.logging = quiet
    transformers.AutoTokenizer = types.SimpleNamespace(from_pretrained=lambda _: Tokenizer())
    transformers.AutoModelForCausalLM = types.SimpleNamespace(from_pretrained=lambda _, **__: Model())
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    monkeypatch.setattr(local, "find_spec", lambda name: name)
    return asked


def test_the_plumbing_by_a_stub(stubbed):
    model = LocalModel("org/name")
    reply = ask(model, 3, temperature=0.7, max_tokens=4, stop=("four",))
    assert [choice.text for choice in reply.choices] == ["three "] * 3
    assert {choice.finish_reason for choice in reply.choices} == {"stop"}
    assert (reply.prompt_tokens, reply.completion_tokens, reply.fingerprint) == (2, 6, "abc")
    wanted = {"temperature": 0.7, "top_p": 1.0, "top_k": 20, "do_sample": True, "num_return_sequences": 3}
    assert wanted.items() <= stubbed[0].items()
    assert len(stubbed[0]["stopping_criteria"]) == 1
    assert repr(model) == "LocalModel('org/name')"
    ask(model, temperature=0.0)
    assert stubbed[1]["do_sample"] is False
    assert "temperature" not in stubbed[1]
    assert stubbed[1]["max_new_tokens"] == 1024
    asyncio.run(model.close())
