"""From event registrations to CRM leads: rules match, groups form, a sink makes leads of them."""
