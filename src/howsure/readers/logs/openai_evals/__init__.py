"""Read logs of OpenAI evals."""
