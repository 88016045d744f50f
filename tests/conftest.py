"""What all tests share: how hypothesis searches, that an interrupt is one, and the command as a user types it."""

import gc
import os
import signal
import tempfile

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

# No deadlines: these machines are noisy. In CI the same examples each time; elsewhere new ones.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# A shell starts background jobs with SIGINT ignored, which all that they start inherit; tests of Ctrl-C need it back.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    """Search less in the everyday tests, and keep all tests from the user's caches of Hugging Face and terminal width."""
    if "not long" in config.option.markexpr:  # 100 examples by default: make test-all takes them
        settings.register_profile(
            "everyday", parent=settings.get_profile(settings.get_current_profile_name()), max_examples=30
        )
        settings.load_profile("everyday")
    folder = tempfile.TemporaryDirectory(prefix="howsure-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    # Packages of Hugging Face read these variables when they are imported.
    for name in ("HF_HUB_CACHE", "HF_DATASETS_CACHE"):
        os.environ.pop(name, None)
    os.environ["HF_HOME"] = folder.name
    os.environ.pop("COLUMNS", None)


pytest_plugins = ["helpers.chromium_window"]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """The collectors of a file below this folder; the examples in docstrings are those of `src`."""
    return [collector for collector in (yield) if not isinstance(collector, DoctestModule)]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without the garbage collector, take the 20,000 tests out of what it visits later, and let it visit less."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 100)


def pytest_unconfigure():
    """Give everything back to the garbage collector, or DuckDB says at the end that it leaks what was never freed."""
    gc.unfreeze()


@pytest.fixture
def howsure(capsys):
    """The command in this process: its exit code, and what it wrote."""
    from howsure.cli import main

    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(one) for one in arguments])
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return call
