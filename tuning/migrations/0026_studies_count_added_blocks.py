from django.db import migrations, models
from django.db.models import F


def count_the_last_extension(apps, schema_editor):
    """Of earlier ones only the last is known."""
    apps.get_model("tuning", "Study").objects.update(added_blocks=F("extended_by"))


class Migration(migrations.Migration):
    dependencies = [
        ("tuning", "0025_searches_keep_what_they_learn"),
    ]

    operations = [
        migrations.AddField(
            model_name="study",
            name="added_blocks",
            field=models.PositiveIntegerField(
                default=0, help_text="blocks of all its extensions, part of `blocks`"
            ),
        ),
        migrations.RunPython(count_the_last_extension, migrations.RunPython.noop),
    ]
