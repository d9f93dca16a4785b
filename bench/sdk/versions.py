"""The peers' versions: the newest that their registries had when their programs were written. Redis and PostgreSQL are
those of Debian, Node.js is that of bench/compare."""

PYTHON = {
    "celery": ["celery[redis]==5.7.0", "hiredis"],
    "arq": ["arq==0.28.0"],
}
NPM = {
    "bullmq": {"bullmq": "6.7.0", "ioredis": "5.11.1"},
}
GO = {
    "river": {
        "github.com/riverqueue/river": "v0.51.2",
        "github.com/riverqueue/river/riverdriver/riverpgxv5": "v0.51.2",
        "github.com/riverqueue/river/rivertype": "v0.51.2",
    },
    "asynq": {"github.com/hibiken/asynq": "v0.26.0"},
}
MAVEN = {
    "jobrunr": {
        "org.jobrunr:jobrunr": "8.7.0",
        "org.postgresql:postgresql": "42.7.14",
        "com.zaxxer:HikariCP": "6.3.3",
        "com.fasterxml.jackson.core:jackson-databind": "2.18.2",
        "com.fasterxml.jackson.datatype:jackson-datatype-jsr310": "2.18.2",
        "org.slf4j:slf4j-nop": "2.0.16",
    },
}
