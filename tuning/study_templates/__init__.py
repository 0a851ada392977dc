"""Study templates: ready-made studies, each a YAML file in this folder."""
