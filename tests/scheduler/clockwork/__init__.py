"""An application whose jobs are the ticks of a clock. Also its own, empty, URL configuration."""

urlpatterns: list[object] = []
