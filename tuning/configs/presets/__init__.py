"""Named configs as they were published, and a template's own, sized to the host."""
