"""A study's preparation is a job like runs and probes; its first block is queued after it."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models


def take_back_early_blocks(apps: Any, schema_editor: Any) -> None:
    """Studies that were not prepared yet had block 1 queued for candidates yet to be refused."""
    slots = apps.get_model("tuning", "Slot").objects.filter(
        study__state__in=("queued", "preparing")
    )
    runs = list(slots.values_list("run_id", flat=True))
    slots.delete()
    apps.get_model("benchmarks", "Run").objects.filter(pk__in=runs).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("tuning", "0007_extended_block_by_block"),
        ("benchmarks", "0007_rows_that_are_jobs"),
    ]

    operations = [
        migrations.AlterField(
            model_name="study",
            name="claimed_by",
            field=models.CharField(
                blank=True,
                help_text="the process that does it, and may say how it ended",
                max_length=255,
            ),
        ),
        migrations.AlterField(
            model_name="study",
            name="stop_request",
            field=models.CharField(blank=True, help_text="why it should end early", max_length=32),
        ),
        migrations.RunPython(take_back_early_blocks, migrations.RunPython.noop),
    ]
