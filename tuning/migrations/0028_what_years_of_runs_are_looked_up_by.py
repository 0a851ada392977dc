import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmarks", "0024_runs_are_counted_by_an_index"),
        ("tuning", "0027_slowdowns_are_stored"),
    ]

    operations = [
        migrations.AlterField(
            model_name="candidate",
            name="config",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="candidates",
                to="benchmarks.config",
            ),
        ),
        migrations.AddIndex(
            model_name="candidate",
            index=models.Index(fields=["config", "name", "durability"], name="names_of_configs"),
        ),
        migrations.AddIndex(
            model_name="slot",
            index=models.Index(
                condition=models.Q(("purpose", "block"), _negated=True),
                fields=["purpose", "workload", "run"],
                name="slots_of_other_purposes",
            ),
        ),
    ]
