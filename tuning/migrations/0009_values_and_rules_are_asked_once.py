"""The gate's first two stages are stored when a study is made, no longer at its preparation."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

PASSED = {
    "problems": [],
    "notes": [],
    "differences": [],
    "log_tail": "",
    "seconds": None,
    "reached": True,
    "outcome": "",
    "passed": True,
}


def fill_in(apps: Any, schema_editor: Any) -> None:
    """Candidates that still wait for their trial start have passed both, or were no candidates."""
    apps.get_model("tuning", "Candidate").objects.filter(
        study__state__in=("queued", "preparing"), checks=[], refusal=""
    ).update(checks=[{"stage": stage, **PASSED} for stage in ("values", "rules")])


class Migration(migrations.Migration):
    dependencies = [
        ("tuning", "0008_preparations_are_jobs"),
    ]

    operations = [
        migrations.AlterField(
            model_name="candidate",
            name="checks",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="the gate's stages: tuning.configs.gate.stages",
            ),
        ),
        migrations.RunPython(fill_in, migrations.RunPython.noop),
    ]
