"""Sample a model through an OpenAI-compatible batch API, which costs half as much and answers within a day."""
