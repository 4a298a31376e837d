BACKUP = (
    {"model": "gallery.Album", "tenant": "tenant_id"},
    {
        "model": "gallery.Picture",
        "tenant": "album__tenant_id",
        "redact": {"signed": ""},
        "files_left_out": {"preview": "It is made again from the file."},
    },
)
