"""What answers: endpoints, providers, local, simulated and recorded models, behind one protocol."""
