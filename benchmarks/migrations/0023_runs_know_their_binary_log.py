from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmarks", "0022_load_hosts_are_told_when_to_begin"),
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
