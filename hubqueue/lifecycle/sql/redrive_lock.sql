SELECT id FROM hubqueue_job WHERE id = ANY (%(ids)s::uuid[]) ORDER BY kind, dedupe_key, id FOR NO KEY UPDATE
