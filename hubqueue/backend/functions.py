"""From a function declared with ``@task`` to the path that is stored, and back."""

from django.utils.module_loading import import_string

from hubqueue.backend.compat import AnyTask, InvalidTask, Task
from hubqueue.backend.errors import UnknownFunction


def find(path: str) -> AnyTask:
    """What stands at ``path``, as it was declared. Raises ``UnknownFunction``."""
    try:
        found = import_string(path)
    except ImportError as missing:
        raise UnknownFunction(
            f"{path} cannot be imported here: deploy the code that has it, then redrive the job"
        ) from missing
    if not isinstance(found, Task):
        raise UnknownFunction(
            f"{path} is not declared with @task: declare it so, then redrive the job"
        )
    return found


def check_path(task: AnyTask) -> None:
    """Raise ``InvalidTask`` when a worker would not find the function under its own name."""
    path = task.module_path
    if task.func.__module__ == "__main__":
        raise InvalidTask(
            f"{path}: a worker has another __main__; declare the function in a module it can import."
        )
    try:
        same = find(path).func is task.func
    except UnknownFunction:
        same = False
    if not same:
        raise InvalidTask(
            f"{path} must lead to the function as @task declared it, and leads to something else:"
            " put @task outermost, at module level, under the function's own name."
        )
