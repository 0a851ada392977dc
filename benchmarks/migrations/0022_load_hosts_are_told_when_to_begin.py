from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmarks", "0021_workloads_have_no_single_load_host"),
    ]

    operations = [
        migrations.AddField(
            model_name="loadjob",
            name="begin_at",
            field=models.FloatField(
                blank=True,
                help_text="the measured host's time of day, seconds since 1970, at which several begin",
                null=True,
            ),
        ),
    ]
