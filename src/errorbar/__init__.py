"""errorbar: error bars for evaluations of language models."""
