"""What all tests share: how hypothesis searches."""

import os

from hypothesis import settings

# No deadlines: these machines are noisy. In CI the same examples each time; elsewhere new ones.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
