"""Find results at paths and in frames, and read them as cells, cubes, runs, answers and texts."""
