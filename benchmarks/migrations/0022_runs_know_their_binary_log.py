from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmarks", "0021_workloads_have_no_single_load_host"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="binary_log",
            field=models.CharField(
                choices=[
                    ("default", "as each server does by default"),
                    ("on", "on"),
                    ("off", "off"),
                ],
                default="default",
                help_text="what was asked for",
                max_length=8,
            ),
        ),
    ]
