"""What to ask: questions, prompt, answer extraction; one small file per benchmark."""
