"""A workload can have several load hosts; those that have one keep it."""

from typing import Any

from django.db import migrations, models


def keep_the_one_that_drives(apps: Any, schema_editor: Any) -> None:
    workloads = apps.get_model("benchmarks", "Workload").objects
    for row in workloads.exclude(load_host=None):
        row.load_hosts.add(row.load_host)
        row.load_key = str(row.load_host_id)
        row.save(update_fields=["load_key"])


class Migration(migrations.Migration):
    dependencies = [
        ("benchmarks", "0019_hosts_note_their_datasets"),
    ]

    operations = [
        migrations.AddField(
            model_name="workload",
            name="load_key",
            field=models.CharField(
                blank=True,
                help_text=(
                    'the ids of the load hosts in ascending order, as "3+7"; empty without any'
                ),
                max_length=255,
            ),
        ),
        # Both have the same related name until the older one is gone.
        migrations.AlterField(
            model_name="workload",
            name="load_host",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=models.PROTECT,
                related_name="+",
                to="benchmarks.host",
            ),
        ),
        migrations.AddField(
            model_name="workload",
            name="load_hosts",
            field=models.ManyToManyField(
                blank=True,
                help_text="where the driver runs; none: beside the server",
                related_name="driven_workloads",
                to="benchmarks.host",
            ),
        ),
        migrations.RunPython(keep_the_one_that_drives, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="run",
            name="load_side",
            field=models.JSONField(
                blank=True,
                help_text=(
                    "a list of benchmarks.drivers.protocol.LoadSide, one for each load host; null: "
                    "driven beside the server. Before there could be several: just that of the one"
                ),
                null=True,
            ),
        ),
    ]
