import hashlib

from django.db import migrations

OLD = "authtoken_token"


def hash_tokens(apps, schema_editor):
    """The tokens of before, of which each user had one, go on working; only digests are kept."""
    connection = schema_editor.connection
    if OLD not in connection.introspection.table_names():
        return
    User = apps.get_model("auth", "User")
    ApiToken = apps.get_model("access", "ApiToken")
    with connection.cursor() as cursor:
        cursor.execute("SELECT key, user_id FROM authtoken_token")
        rows = cursor.fetchall()
    for key, user in rows:
        owner = User.objects.get(pk=user)
        is_administrator = owner.is_superuser or owner.is_staff
        ApiToken.objects.create(
            digest=hashlib.sha512(key.encode()).hexdigest(),
            token_key=key[:8],
            user_id=user,
            name="from before tokens had names",
            scope="admin" if is_administrator else "run",
        )


def drop_plain_tokens(apps, schema_editor):
    if OLD in schema_editor.connection.introspection.table_names():
        schema_editor.execute("DROP TABLE authtoken_token")
        schema_editor.execute("DELETE FROM django_migrations WHERE app = 'authtoken'")


class Migration(migrations.Migration):
    dependencies = [("access", "0002_tokens_are_hashed")]
    operations = [
        migrations.RunPython(hash_tokens, migrations.RunPython.noop),
        migrations.RunPython(drop_plain_tokens, migrations.RunPython.noop),
    ]
