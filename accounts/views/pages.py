"""What the pages share."""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

View = Callable[[HttpRequest], HttpResponse]


def link_page(view: View) -> View:
    """A page that is given a token: kept in no cache, and its address told to nobody.

    A browser that tells no referrer gives no origin either, so Django's check of it would refuse the form. It
    would add nothing: no cookie is read here, and whoever could forge the form would have to know the token.
    """

    @csrf_exempt
    @never_cache
    @wraps(view)
    def page(request: HttpRequest) -> HttpResponse:
        answer = view(request)
        answer.headers["Referrer-Policy"] = "no-referrer"
        return answer

    return page
