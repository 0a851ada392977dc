"""Study templates: ready-made studies, each a readable YAML file in this folder."""
