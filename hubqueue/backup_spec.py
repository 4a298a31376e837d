"""What is backed up of the queue, as plain data: what people did, not what is still to be done."""

BACKUP = ({"model": "hubqueue.Operation"},)

LEFT_OUT = {
    "hubqueue.Job": "A job belongs to the installation it was enqueued in; run elsewhere or later, it does harm.",
    "hubqueue.Failure": "It belongs to a job.",
    "hubqueue.Worker": "A process of this installation.",
    "hubqueue.Leader": "A process of this installation.",
    "hubqueue.Duty": "When this installation last did something.",
    "hubqueue.PeriodicTick": "When this installation last did something.",
    "hubqueue.Pause": "Set for the moment, because of something here.",
}
