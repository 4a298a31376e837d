"""What can go wrong with a background function beside what it raises itself. No message quotes a value."""

from hubqueue.errors import HubqueueError, PayloadRefused


class ArgumentRefused(PayloadRefused, TypeError):
    """An argument that is not JSON, or arguments that do not fit the function. A TypeError, as Django has it."""


class ResultRefused(PayloadRefused, TypeError):
    """The function answered something that cannot be stored: the attempt failed."""

    code = "result_refused"


class UnknownFunction(HubqueueError):
    """The path of a job leads to no function declared with ``@task`` in this process."""

    code = "unknown_function"


class WorkerDied(HubqueueError):
    """The process died while it ran this job alone."""

    code = "worker_died"


class Cancelled(HubqueueError):
    """An officer cancelled or dismissed the job."""

    code = "cancelled"


class Abandoned(HubqueueError):
    """The job was given up, and what its attempts raised is not kept any more."""

    code = "abandoned"


class FunctionFailed(HubqueueError):
    """What receivers of ``task_finished`` find as the current exception: places, class and code, no message."""

    code = "function_failed"
