"""Sample a model through an OpenAI-compatible batch API: half the price, results within a day."""
