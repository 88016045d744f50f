"""Sample responses: send each question under each prompt variant to each model, and store scored rows."""
