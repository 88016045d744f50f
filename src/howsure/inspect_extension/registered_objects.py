"""What Inspect loads by its entry point, so that its command line knows `howsure/NAME`."""

from howsure.inspect_extension.noise_metrics import data_stderr, prediction_stderr, total_stderr

__all__ = ["data_stderr", "prediction_stderr", "total_stderr"]
