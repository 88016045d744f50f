"""Tasks of Inspect as benchmarks of an experiment: run by Inspect, read into a run folder.

===============  =======================================================================
task_request     what a worker is to run, from an experiment; what has no effect is refused
task_worker      the process that runs Inspect for one model
task_run         runs the workers, and adds the rows of their growing logs to the run folder
===============  =======================================================================
"""
