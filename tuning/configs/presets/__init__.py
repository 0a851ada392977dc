"""Published configs and templates' own variants, sized for the host."""
