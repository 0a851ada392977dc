import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmarks", "0023_runs_know_their_binary_log"),
        ("tuning", "0026_studies_count_added_blocks"),
    ]

    operations = [
        migrations.CreateModel(
            name="Slowdown",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "line",
                    models.CharField(
                        help_text="its baseline and load: tuning.results.baseline_runs.line_token",
                        max_length=80,
                    ),
                ),
                ("since", models.DateTimeField(db_index=True)),
                ("ratio", models.FloatField()),
                ("low", models.FloatField(blank=True, null=True)),
                ("high", models.FloatField(blank=True, null=True)),
                (
                    "device",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slowdowns",
                        to="benchmarks.device",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("device", "line"), name="one_slowdown_per_line"
                    )
                ],
            },
        ),
    ]
