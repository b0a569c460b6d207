#if Tools
import ArgumentParser

struct Queue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Lists and manages the requests that wait to be sent.",
        discussion: """
            The queue is the file replay.sqlite in the store. Without --store and DIAMOND_STORE it is in the \
            platform's data directory, not in the cache directory. Running programs may use it at the same time. They \
            notice changes within a second. To copy a queue in use, run export, because replay.sqlite may lack the \
            newest jobs until the last program closes it.

            --queue, or the variable DIAMOND_QUEUE, names a queue on a server instead: the URL of a PostgreSQL \
            database. A password is read where libpq reads it: ~/.pgpass, a service file, PGPASSWORD. The URL in \
            DIAMOND_QUEUE may have one. --store or --app count more than DIAMOND_QUEUE.

            retry, hold, release, discard and redrive take ids, or options that jobs must match. Then they count the \
            jobs and ask first; --yes answers.

            EXAMPLE
              cachectl queue list --state dead

            STATES
              ready        can be sent after earlier jobs of its ordering key, unless the
                           queue is held
              waiting      waits for its time: it has a delay, or failed and is retried
              running      being sent
              held         held itself, or with its ordering key, identity or lane
              done         sent, or discarded
              dead         failed or expired, and not sent again unless redriven
              needsReview  may have been processed, and could do harm if sent again; or is
                           damaged
            """,
        subcommands: [
            QueueList.self, QueueShow.self, QueueAdd.self, QueueRetry.self, QueueHold.self, QueueRelease.self,
            QueueDiscard.self, QueueRedrive.self, QueueResend.self, QueueEdit.self, QueueDiff.self, QueueHistory.self,
            QueueKeys.self, QueueWatch.self, QueueExport.self, QueueImport.self, QueueMove.self, QueueReplay.self,
        ]
    )
}
#endif
