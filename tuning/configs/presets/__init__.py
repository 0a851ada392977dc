"""Named configs and a template's own, sized to the host: the candidates of a study."""
