import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tuning", "0024_gates_choose_a_binary_log"),
    ]

    operations = [
        migrations.CreateModel(
            name="LearnedKnobs",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        help_text="of what it was worked out from: tuning.results.knob_importance",
                        max_length=64,
                    ),
                ),
                (
                    "found",
                    models.JSONField(help_text="tuning.strategy.search.importance.Importance"),
                ),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="learned_knobs",
                        to="tuning.study",
                    ),
                ),
            ],
            options={"verbose_name_plural": "learned knobs"},
        ),
    ]
