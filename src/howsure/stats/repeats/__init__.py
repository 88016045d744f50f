"""Repeated runs of the same evaluation: summaries, drift, copies, prediction intervals, resampling.

runs                   mean and standard deviation of each run; tests for drift and for copied runs
independence           signs that generations are copies of each other or retries until one is right
determinism            `measure_determinism`: whether the same prompt gets the same completion
days                   `compare_days`, `watch_days`: the scores of days of runs, and since when they fell
falls                  `find_falls`: an alarm about a series that falls, valid after every point
prediction_intervals   `repeats`: how far the mean of future runs may fall
resampling             `run_gap` and `convergence`: gap between runs, and widths at more generations
"""

from howsure.stats.repeats.days import *
from howsure.stats.repeats.determinism import *
from howsure.stats.repeats.falls import *
from howsure.stats.repeats.independence import *
from howsure.stats.repeats.prediction_intervals import *
from howsure.stats.repeats.resampling import *
from howsure.stats.repeats.runs import *
