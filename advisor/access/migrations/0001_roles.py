from django.conf import settings
from django.db import migrations


def give_roles(apps, schema_editor):
    """Who could do everything before goes on as operator, staff as administrator."""
    User = apps.get_model("auth", "User")
    Group = apps.get_model("auth", "Group")
    groups = {
        name: Group.objects.get_or_create(name=name)[0]
        for name in ("viewer", "operator", "administrator")
    }
    for user in User.objects.all():
        is_administrator = user.is_superuser or user.is_staff
        user.groups.add(groups["administrator" if is_administrator else "operator"])


class Migration(migrations.Migration):
    initial = True
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]
    operations = [migrations.RunPython(give_roles, migrations.RunPython.noop)]
