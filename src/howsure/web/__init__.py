"""The local web application: the review of questions, and the live page of a run.

access         who may send requests: token, cookie, and the headers of every response
server         a server on 127.0.0.1, in the foreground or in a thread
review_pages   the review: its queue, questions and forms
live_page      the report of a run while it is sampled
"""

from howsure.errors import InputError

try:
    import jinja2  # noqa: F401  here, so that a missing extra gives one clear message
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ModuleNotFoundError as error:
    what = f"the review and the live page need {error.name}"
    raise InputError(what, remedy="pip install 'howsure[web]'") from error
