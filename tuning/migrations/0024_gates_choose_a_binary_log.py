from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tuning", "0023_studies_may_have_an_end"),
    ]

    operations = [
        migrations.AddField(
            model_name="study",
            name="binary_log",
            field=models.CharField(
                choices=[
                    ("default", "as each server does by default"),
                    ("on", "on"),
                    ("off", "off"),
                ],
                default="default",
                help_text="whether all of its servers write one; only a gate chooses",
                max_length=8,
            ),
        ),
    ]
