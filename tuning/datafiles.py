"""Reads the project's own data files (YAML), each checked against a JSON schema beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from tuning.errors import InvalidDataFile


def read_data_file(path: Path, schema_path: Path) -> Any:
    """The content of a YAML file; raises InvalidDataFile naming the file and the place in it."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidDataFile(f"{path.name}: {error}") from error
    schema = json.loads(schema_path.read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    breach = jsonschema.exceptions.best_match(validator.iter_errors(content))
    if breach is not None:
        place = "/".join(str(part) for part in breach.absolute_path) or "the whole file"
        raise InvalidDataFile(f"{path.name}: {place}: {breach.message}")
    return content
