from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmarks", "0023_runs_know_their_binary_log"),
    ]

    operations = [
        migrations.AlterField(
            model_name="run",
            name="comparability_key",
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=[
                    "comparability_key",
                    "host",
                    "device",
                    "server",
                    "workload",
                    "config",
                    "logs_with_data",
                    "state",
                    "tpmP",
                    "id",
                ],
                name="runs_alike",
            ),
        ),
    ]
