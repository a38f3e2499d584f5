"""Tries a model with the product's own prompts and checks: `livemem try-model`, `python -m local.try_model`.

The cases are recorded: files in `cases/` say what the model is given, and what a good answer holds. Nothing is written
to a service. Questions are asked in an empty store of their own, which ends with the trial.
"""
