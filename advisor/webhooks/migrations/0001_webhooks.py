import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("tuning", "0022_what_somebody_did_to_a_study"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Webhook",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("url", models.CharField(max_length=500)),
                ("events", models.JSONField(help_text="values of Event")),
                (
                    "of_everybody",
                    models.BooleanField(
                        default=False, help_text="as long as its owner is an administrator"
                    ),
                ),
                ("sealed_secret", models.TextField(help_text="sealed with ADVISOR_SECRET_KEY")),
                (
                    "site",
                    models.CharField(
                        help_text="how its owner reaches the pages, for the links", max_length=300
                    ),
                ),
                ("is_active", models.BooleanField(default=True)),
                (
                    "last_at",
                    models.DateTimeField(blank=True, help_text="of the last attempt", null=True),
                ),
                (
                    "last_status",
                    models.PositiveSmallIntegerField(
                        blank=True, help_text="of HTTP; null: there was no answer", null=True
                    ),
                ),
                (
                    "last_problem",
                    models.CharField(blank=True, help_text="empty: delivered", max_length=200),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "listens_since",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        help_text="what ended before is not told: it was not there, or off",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={"ordering": ["-id"]},
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("event", models.CharField(max_length=32)),
                ("message_id", models.CharField(max_length=64, unique=True)),
                (
                    "ended_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="the end that it is about: a study may go on and end again",
                        null=True,
                    ),
                ),
                (
                    "body",
                    models.TextField(
                        blank=True, help_text="made before the first attempt, then the same"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("delivered", "Delivered"),
                            ("given_up", "Given up"),
                        ],
                        default="waiting",
                        max_length=16,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                (
                    "next_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("last_at", models.DateTimeField(blank=True, null=True)),
                ("status", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("problem", models.CharField(blank=True, max_length=200)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "study",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="tuning.study",
                    ),
                ),
                (
                    "webhook",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="webhooks.webhook",
                    ),
                ),
            ],
            options={"verbose_name_plural": "deliveries", "ordering": ["-id"]},
        ),
        migrations.AddConstraint(
            model_name="webhook",
            constraint=models.UniqueConstraint(
                fields=("created_by", "url"), name="one_webhook_for_a_url_of_an_account"
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("state", "waiting")),
                fields=["next_at"],
                name="deliveries_to_be_sent",
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(
                fields=("webhook", "study", "ended_at"), name="a_webhook_hears_of_an_end_once"
            ),
        ),
    ]
