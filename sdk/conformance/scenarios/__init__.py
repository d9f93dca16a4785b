"""The scenarios, by subject."""

# The order of the documentation, and each subject's heading in it.
SUBJECTS = {
    "ids": "Ids",
    "client": "The client",
    "errors": "Errors",
    "tries": "Tries",
    "outcomes": "Outcomes",
    "told": "Told",
    "leases": "Leases",
    "stop": "Stop",
    "lost_answers": "Lost answers",
    "server_away": "The server is away",
    "logs_progress": "Logs and progress",
    "queues": "Queues and slots",
    "schedules": "Schedules",
    "workflows": "Workflows",
    "operating": "Limits and operating",
    "fake": "The fake",
    "fake_workflows": "Workflows of the fake",
    "history": "Whole lives",
}
