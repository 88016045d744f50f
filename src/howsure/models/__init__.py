"""Models behind one protocol: endpoints, providers, and local, simulated and recorded models."""
