"""The tables of a new database at once: what the migrations that it replaces do one by one.

Those stay for databases of older versions, whose rows they change as well.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("tuning", "0001_initial"),
        ("tuning", "0002_durability_and_checks"),
        ("tuning", "0003_race_and_confirmation"),
        ("tuning", "0004_recommendation_has_a_workload"),
        ("tuning", "0005_logs_with_data"),
        ("tuning", "0006_where_the_gate_is"),
        ("tuning", "0007_extended_block_by_block"),
        ("tuning", "0008_preparations_are_jobs"),
        ("tuning", "0009_values_and_rules_are_asked_once"),
        ("tuning", "0010_studies_can_be_paused"),
        ("tuning", "0011_replicates_and_duplicates"),
        ("tuning", "0012_a_study_can_search"),
        ("tuning", "0013_studies_allow_costs"),
        ("tuning", "0014_plain_help_texts"),
        ("tuning", "0015_studies_can_be_concluded_early"),
        ("tuning", "0016_studies_can_be_scale_models"),
        ("tuning", "0017_recommendations_say_what_their_objective_gained"),
        ("tuning", "0018_crash_recovery"),
        ("tuning", "0019_winners_are_taken_apart"),
        ("tuning", "0020_studies_over_several_hosts"),
        ("tuning", "0021_gates"),
        ("tuning", "0022_what_somebody_did_to_a_study"),
        ("tuning", "0023_studies_may_have_an_end"),
        ("tuning", "0024_gates_choose_a_binary_log"),
        ("tuning", "0025_searches_keep_what_they_learn"),
    ]

    dependencies = [
        ("benchmarks", "0001_squashed_0023_runs_know_their_binary_log"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Study",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "claimed_by",
                    models.CharField(
                        blank=True,
                        help_text="the process that does it and may store its ending",
                        max_length=255,
                    ),
                ),
                ("heartbeat_at", models.DateTimeField(blank=True, null=True)),
                (
                    "stop_request",
                    models.CharField(
                        blank=True, help_text="why it should end early", max_length=32
                    ),
                ),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("name", models.CharField(max_length=200)),
                ("template", models.CharField(max_length=64)),
                ("blocks", models.PositiveIntegerField()),
                ("seed", models.BigIntegerField()),
                (
                    "budget_minutes",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="wall time of the blocks; empty: `blocks` decides",
                        null=True,
                    ),
                ),
                (
                    "races",
                    models.BooleanField(
                        default=True,
                        help_text="drops candidates that are measurably behind and stops when decided",
                    ),
                ),
                (
                    "confirms",
                    models.BooleanField(
                        default=True,
                        help_text="measures the winner again, in fresh pairs with the baseline",
                    ),
                ),
                (
                    "takes_apart",
                    models.BooleanField(
                        default=False,
                        help_text="measures a confirmed winner without some of its lines",
                    ),
                ),
                (
                    "minutes",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="minutes of the whole study, after which no block and no second attempt begins and nothing is taken apart; empty: no limit",
                        null=True,
                    ),
                ),
                (
                    "conclusions",
                    models.PositiveSmallIntegerField(
                        default=1, help_text="number of conclusions: one more with every extension"
                    ),
                ),
                ("paused_at", models.DateTimeField(blank=True, null=True)),
                ("paused_by", models.CharField(blank=True, max_length=150)),
                ("pause_reason", models.CharField(blank=True, max_length=200)),
                (
                    "resumed_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="when it was last resumed or extended; it continues after running studies",
                        null=True,
                    ),
                ),
                (
                    "extended_by",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="blocks of its last extension, for every device and workload",
                    ),
                ),
                (
                    "extended_after",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="the order of its last slot when it was last concluded and went on",
                    ),
                ),
                (
                    "concluded_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="when a user asked for an answer from what was there; null: never",
                        null=True,
                    ),
                ),
                (
                    "durability",
                    models.CharField(
                        choices=[
                            ("D0", "D0: loses nothing"),
                            ("D1", "D1: may lose the last commits"),
                            ("D2", "D2: may corrupt the database"),
                        ],
                        default="D0",
                        help_text="the least safe class that its candidates may have",
                        max_length=2,
                    ),
                ),
                (
                    "allowed_costs",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="kinds of cost that proposals may have: tuning.catalogue.costs.CostKind",
                    ),
                ),
                (
                    "keeps_duplicates",
                    models.BooleanField(
                        default=False,
                        help_text="measures identical configs separately, as A/A comparisons need",
                    ),
                ),
                (
                    "crash_tests",
                    models.BooleanField(
                        default=False,
                        help_text="kills the baseline and the winner under load and times their recovery",
                    ),
                ),
                (
                    "search",
                    models.JSONField(
                        blank=True,
                        help_text="objective and space of a search; else null",
                        null=True,
                    ),
                ),
                (
                    "gate",
                    models.JSONField(
                        blank=True,
                        help_text="of a gate: tuning.statistics.gate.GatePlan; else null",
                        null=True,
                    ),
                ),
                (
                    "binary_log",
                    models.CharField(
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
                (
                    "scale_model",
                    models.JSONField(
                        blank=True,
                        help_text="tuning.scale_model.model.ScaleModel; else null",
                        null=True,
                    ),
                ),
                (
                    "memory_bytes",
                    models.BigIntegerField(
                        blank=True,
                        help_text="memory that its host had for a server when the study was created",
                        null=True,
                    ),
                ),
                (
                    "runs_to_queue",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="a proposal's runs, queued as soon as its new candidates have been tried",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("preparing", "Loading the dataset"),
                            ("running", "Measuring"),
                            ("finished", "Finished"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=16,
                    ),
                ),
                ("reason_code", models.CharField(blank=True, max_length=64)),
                ("reason", models.TextField(blank=True)),
                ("log_tail", models.TextField(blank=True)),
                ("preparing_fraction", models.FloatField(default=0.0)),
                ("preparing_text", models.CharField(blank=True, max_length=200)),
                ("prepare_attempts", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "devices",
                    models.ManyToManyField(related_name="studies", to="benchmarks.device"),
                ),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="studies",
                        to="benchmarks.host",
                    ),
                ),
                (
                    "server",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="studies",
                        to="benchmarks.server",
                    ),
                ),
                (
                    "workloads",
                    models.ManyToManyField(related_name="studies", to="benchmarks.workload"),
                ),
            ],
            options={
                "verbose_name_plural": "studies",
                "ordering": ["-id"],
            },
        ),
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
            options={
                "verbose_name_plural": "learned knobs",
            },
        ),
        migrations.CreateModel(
            name="GateVerdict",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "verdict",
                    models.CharField(
                        choices=[("pass", "Pass"), ("fail", "Fail"), ("undecided", "Undecided")],
                        max_length=16,
                    ),
                ),
                ("reason", models.TextField(help_text="in plain sentences")),
                (
                    "result",
                    models.JSONField(default=dict, help_text="tuning.results.gates.GateOutcome"),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="gate_verdict",
                        to="tuning.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Candidate",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("is_baseline", models.BooleanField(default=False)),
                ("position", models.PositiveIntegerField()),
                ("source", models.TextField(blank=True, help_text="where its values come from")),
                (
                    "notes",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="what translation did: [{name, action, detail}]",
                    ),
                ),
                (
                    "durability",
                    models.CharField(
                        choices=[
                            ("D0", "D0: loses nothing"),
                            ("D1", "D1: may lose the last commits"),
                            ("D2", "D2: may corrupt the database"),
                        ],
                        default="D0",
                        max_length=2,
                    ),
                ),
                (
                    "lines",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="a file's import: [{line, name, given, action, became, detail}]",
                    ),
                ),
                (
                    "checks",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="the gate's stages: tuning.configs.gate.stages",
                    ),
                ),
                (
                    "refusal",
                    models.TextField(
                        blank=True, help_text="why it is refused; then it is not measured"
                    ),
                ),
                (
                    "signature",
                    models.CharField(
                        blank=True,
                        help_text="of its effective values at the trial start; empty before that",
                        max_length=64,
                    ),
                ),
                (
                    "found_by_search",
                    models.BooleanField(
                        default=False, help_text="made by the study's search after its start"
                    ),
                ),
                (
                    "without",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="the lines of `taken_from` that it lacks",
                    ),
                ),
                (
                    "logs_with_data",
                    models.BooleanField(
                        default=False,
                        help_text="keeps the redo log with the data although there is a log_dir",
                    ),
                ),
                (
                    "config",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="candidates",
                        to="benchmarks.config",
                    ),
                ),
                (
                    "merged_into",
                    models.ForeignKey(
                        blank=True,
                        help_text="the candidate with the same effective values, which is measured for both",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="duplicates",
                        to="tuning.candidate",
                    ),
                ),
                (
                    "server",
                    models.ForeignKey(
                        blank=True,
                        help_text="of a gate's candidate, if that is not the study's; else null",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="candidates",
                        to="benchmarks.server",
                    ),
                ),
                (
                    "taken_from",
                    models.ForeignKey(
                        blank=True,
                        help_text="the winner that this is, without some of its lines",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="variants",
                        to="tuning.candidate",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="candidates",
                        to="tuning.study",
                    ),
                ),
            ],
            options={
                "ordering": ["position"],
            },
        ),
        migrations.CreateModel(
            name="StudyAction",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("paused", "Paused"),
                            ("resumed", "Resumed"),
                            ("cancelled", "Cancelled"),
                            ("concluded", "Concluded early"),
                            ("extended", "Extended"),
                            ("taken_apart", "Winner taken apart"),
                        ],
                        max_length=16,
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("by", models.CharField(blank=True, help_text="empty: not known", max_length=150)),
                ("reason", models.CharField(blank=True, max_length=200)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="actions",
                        to="tuning.study",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="StudyGroup",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.AddField(
            model_name="study",
            name="group",
            field=models.ForeignKey(
                blank=True,
                help_text="the request for several hosts that it is part of; null: for one host",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="studies",
                to="tuning.studygroup",
            ),
        ),
        migrations.CreateModel(
            name="Slot",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "block",
                    models.PositiveIntegerField(
                        help_text="counted from 1 on each device and workload"
                    ),
                ),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("block", "Block"),
                            ("confirmation", "Confirmation"),
                            ("search", "Search"),
                            ("apart", "Taking apart"),
                            ("reduced", "Reduced config"),
                            ("gate", "Gate"),
                        ],
                        default="block",
                        max_length=16,
                    ),
                ),
                (
                    "replicate",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="1 for the baseline's second run in a block (A/A)"
                    ),
                ),
                (
                    "order",
                    models.PositiveIntegerField(help_text="place in the whole study, from 1"),
                ),
                (
                    "candidate",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slots",
                        to="tuning.candidate",
                    ),
                ),
                (
                    "device",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="benchmarks.device"
                    ),
                ),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="slot",
                        to="benchmarks.run",
                    ),
                ),
                (
                    "workload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="benchmarks.workload"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slots",
                        to="tuning.study",
                    ),
                ),
            ],
            options={
                "ordering": ["order"],
                "constraints": [
                    models.UniqueConstraint(fields=("study", "order"), name="one_slot_per_place")
                ],
            },
        ),
        migrations.CreateModel(
            name="Recommendation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "durability",
                    models.CharField(
                        choices=[
                            ("D0", "D0: loses nothing"),
                            ("D1", "D1: may lose the last commits"),
                            ("D2", "D2: may corrupt the database"),
                        ],
                        default="D0",
                        max_length=2,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        default="",
                        help_text="tuning.statistics.verdict.VerdictKind",
                        max_length=32,
                    ),
                ),
                ("ratio_to_baseline", models.FloatField()),
                ("low", models.FloatField(blank=True, null=True)),
                ("high", models.FloatField(blank=True, null=True)),
                ("selected_ratio", models.FloatField(blank=True, null=True)),
                (
                    "objective",
                    models.CharField(
                        default="tpmP",
                        help_text="what decided: tuning.statistics.data.Metric",
                        max_length=24,
                    ),
                ),
                (
                    "objective_ratio",
                    models.FloatField(
                        blank=True,
                        help_text="null where the objective is tpmP or the baseline is kept",
                        null=True,
                    ),
                ),
                ("objective_low", models.FloatField(blank=True, null=True)),
                ("objective_high", models.FloatField(blank=True, null=True)),
                (
                    "noise_floor",
                    models.FloatField(
                        blank=True, help_text="as a share of the baseline", null=True
                    ),
                ),
                (
                    "confirmation",
                    models.CharField(
                        blank=True,
                        help_text="tuning.statistics.confirmation.ConfirmationState; empty: there was none",
                        max_length=16,
                    ),
                ),
                ("verdict", models.TextField(help_text="in plain sentences")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "candidate",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="tuning.candidate"
                    ),
                ),
                (
                    "device",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="benchmarks.device"
                    ),
                ),
                (
                    "whole",
                    models.ForeignKey(
                        blank=True,
                        help_text="the winner with all its lines, if the candidate is that without some",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reduced_recommendations",
                        to="tuning.candidate",
                    ),
                ),
                (
                    "workload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="benchmarks.workload"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="recommendations",
                        to="tuning.study",
                    ),
                ),
            ],
            options={
                "ordering": ["device_id", "workload_id", "durability"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("study", "device", "workload", "durability"),
                        name="one_recommendation_per_board",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Elimination",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("after_block", models.PositiveIntegerField()),
                ("reason", models.TextField()),
                (
                    "candidate",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="eliminations",
                        to="tuning.candidate",
                    ),
                ),
                (
                    "device",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="benchmarks.device"
                    ),
                ),
                (
                    "workload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="benchmarks.workload"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="eliminations",
                        to="tuning.study",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("candidate", "device", "workload"), name="leaves_a_race_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CrashSlot",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "losses",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="tests before this one whose worker died"
                    ),
                ),
                (
                    "candidate",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="crash_slots",
                        to="tuning.candidate",
                    ),
                ),
                (
                    "device",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="benchmarks.device"
                    ),
                ),
                (
                    "test",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="slot",
                        to="benchmarks.crashtest",
                    ),
                ),
                (
                    "workload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="benchmarks.workload"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="crash_slots",
                        to="tuning.study",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("candidate", "device", "workload"), name="one_crash_slot_per_place"
                    )
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="candidate",
            constraint=models.UniqueConstraint(
                fields=("study", "name"), name="candidate_names_differ"
            ),
        ),
        migrations.AddConstraint(
            model_name="candidate",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_baseline", True)), fields=("study",), name="one_baseline"
            ),
        ),
    ]
