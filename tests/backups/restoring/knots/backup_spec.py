BACKUP = (
    {"model": "knots.Place", "tenant": "tenant_id"},
    {"model": "knots.Inn", "tenant": "tenant_id"},
    {"model": "knots.Hotel", "tenant": "place_ptr__tenant_id"},
    {"model": "knots.Cook", "tenant": "inn__tenant_id"},
    {"model": "knots.Account", "tenant": "owner__tenant_id"},
    {"model": "knots.Owner", "tenant": "tenant_id"},
    {"model": "knots.Seal", "tenant": "account__owner__tenant_id"},
    {"model": "knots.Egg", "tenant": "laid_by__tenant_id"},
    {"model": "knots.Hen", "tenant": "tenant_id"},
    {"model": "knots.Link", "tenant": "tenant_id"},
    {"model": "knots.Grade", "shared": True},
)
