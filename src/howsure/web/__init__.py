"""The local web application: the review of questions and the live page of a run."""
