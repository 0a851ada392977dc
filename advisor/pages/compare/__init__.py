"""Compare: runs, candidates, configs and studies side by side, and devices over all studies."""
