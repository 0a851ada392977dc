from django.db import migrations, models


class Migration(migrations.Migration):
    """Apart from the one before: PostgreSQL changes no table with rows that were just written."""

    dependencies = [
        ("benchmarks", "0020_several_load_hosts_can_drive"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="workload",
            name="one_row_per_workload",
        ),
        migrations.RemoveConstraint(
            model_name="workload",
            name="one_row_per_driven_workload",
        ),
        migrations.RemoveField(
            model_name="workload",
            name="load_host",
        ),
        migrations.AddConstraint(
            model_name="workload",
            constraint=models.UniqueConstraint(
                fields=(
                    "driver",
                    "warehouses",
                    "connections",
                    "warmup_s",
                    "measure_s",
                    "load_key",
                ),
                name="one_row_per_workload",
            ),
        ),
    ]
