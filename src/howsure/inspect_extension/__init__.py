"""An extension of Inspect: noise components as metrics, and early stopping.

=====================  =============================================================================
noise_metrics          `data_stderr`, `prediction_stderr`, `total_stderr`
interval_stopping      `IntervalStopping`, which ends a task when its interval is narrow enough
registered_objects     what the entry point of Inspect loads
=====================  =============================================================================

Inspect is imported by these modules only, and the statistics when the first number is computed.
"""
