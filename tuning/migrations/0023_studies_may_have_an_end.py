from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tuning", "0022_what_somebody_did_to_a_study"),
    ]

    operations = [
        migrations.RenameField(model_name="study", old_name="apart_minutes", new_name="minutes"),
        migrations.AlterField(
            model_name="study",
            name="minutes",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="minutes of the whole study, after which no block and no second attempt begins and nothing is taken apart; empty: no limit",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="study",
            name="extended_after",
            field=models.PositiveIntegerField(
                default=0,
                help_text="the order of its last slot when it was last concluded and went on",
            ),
        ),
    ]
